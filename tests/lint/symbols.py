"""Looks at built plugins: what they export, what they need, and which files their sources really read.

usage: python3 symbols.py BUILD ROOT [PLUGIN.so...]      without plugins: those in BUILD/lib/shunt/plugins

A plugin exports its entry and nothing else, needs the C and C++ run time and nothing else, and is compiled from its own
folder, the SDK and the standard library. Prints "file: what was found; what would be right". Exit: 0, 1 problems, 2 usage.
"""

import glob
import json
import os
import re
import shlex
import subprocess
import sys

ENTRY = "shunt_plugin_entry_v1"
RUN_TIME = re.compile(r"^(libstdc\+\+|libm|libgcc_s|libc|ld-linux-[\w-]+|lib(a|t|ub)san)\.so\.\d+$")
# Sections of glibc's and the compiler's headers; a library that a user might lack has a folder of its own.
SYSTEM = re.compile(r"^/usr/(include/(c\+\+/|x86_64-linux-gnu/|aarch64-linux-gnu/|[a-z0-9_-]+\.h$|bits/|asm-generic/|linux/)|lib/(gcc|llvm-\d+)/)")


def run(*argv, cwd=None):
    done = subprocess.run(argv, capture_output=True, text=True, cwd=cwd)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv[:3])} ...: {done.stderr.strip()}")
    return done.stdout


def exports(file):
    names = [line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", file).splitlines()]
    for name in sorted(set(names) - {ENTRY}):
        yield f"{file}: exports '{name}'; a plugin exports {ENTRY} and nothing else"
    if ENTRY not in names:
        yield f"{file}: does not export {ENTRY}"


def needs(file):
    for name in re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "--dynamic", "--wide", file)):
        if not RUN_TIME.match(name):
            yield f"{file}: needs {name}; a plugin needs the C and C++ run time and nothing else"
    for line in run("nm", "-D", "--undefined-only", file).splitlines():
        kind, name = line.split()[-2:]
        if kind == "U" and "@" not in name and not name.startswith(("__asan", "__ubsan", "__tsan", "__sanitizer")):
            yield f"{file}: leaves '{name}' to be found at load time; a plugin needs the C and C++ run time and nothing else"


def sources(build, root):
    """Asks the compiler itself, with the plugin's own command, which files it reads."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        commands = json.load(f)
    plugins = os.path.realpath(os.path.join(root, "plugins")) + os.sep
    sdk = os.path.realpath(os.path.join(root, "sdk", "include")) + os.sep
    seen = 0
    for entry in commands:
        source = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
        if not source.startswith(plugins):
            continue
        seen += 1
        own = os.path.dirname(source) + os.sep
        words = shlex.split(entry["command"])
        if os.path.basename(words[0]) == "ccache":
            words = words[1:]
        for option in ("-o", "-MF", "-MT"):
            if option in words:
                at = words.index(option)
                del words[at:at + 2]
        words = [w for w in words if w not in ("-c", "-MD")]
        rule = run(*words, "-M", cwd=entry["directory"])
        for read in shlex.split(rule.replace("\\\n", " "))[1:]:
            real = os.path.realpath(os.path.join(entry["directory"], read))
            if not real.startswith((own, sdk)) and not SYSTEM.match(real):
                yield f"{source}: reads {real}; a plugin sees its own folder, the SDK and the standard library"
    if seen == 0:
        yield f"{build}/compile_commands.json: names no source below {plugins}"


def main(arguments):
    if len(arguments) < 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    build, root = arguments[:2]
    named = arguments[2:]
    built = named or sorted(glob.glob(os.path.join(build, "lib/shunt/plugins/*.so")))
    problems = [] if built else [f"{build}/lib/shunt/plugins: holds no plugin"]
    for file in built:
        problems += exports(file)
        problems += needs(file)
    if not named:
        problems += sources(build, root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
