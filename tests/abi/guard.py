"""Whether abi.h still keeps what an earlier version of it promised to plugins and hosts that are built already.

usage: python3 guard.py FROZEN CURRENT     include folders: tests/abi/1.0 and sdk/include

Prints one line a broken promise: what was found; what would be right. Exit: 0 none, 1 some, 2 wrong usage.

  layout     each member lies where it lay and is of the same type; what has a size of its own may grow at the end
  constants  each one has its old value
  version    what differs has a later SHUNT_ABI_MINOR
  types      fixed widths, no padding, in C and C++ of GCC and Clang, packed or not, with 32-bit pointers too
"""

import os
import re
import subprocess
import sys
import tempfile

HEADER = "shunt/sdk/abi.h"
WITH_STRIDE = {"shunt_broker", "shunt_param"}  # may grow without a size of their own
PLAIN = {"uint8_t", "uint16_t", "uint32_t", "uint64_t", "int32_t", "int64_t", "double", "shunt_status"}
COMPILERS = [("gcc", "c", ["c99", "c11", "c17"]), ("clang-14", "c", ["c99", "c17"]),
             ("g++", "c++", ["c++11", "c++20"]), ("clang++-14", "c++", ["c++11", "c++20"])]


def run(*argv, text=None):
    return subprocess.run(argv, input=text, capture_output=True, text=True)


def source(include):
    with open(os.path.join(include, HEADER), encoding="utf-8") as f:
        return re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.DOTALL)


def structs(include):
    """{name: [declaration of members...]}"""
    found = re.findall(r"typedef struct (shunt_\w+) \{(.*?)\} \1;", source(include), re.DOTALL)
    return {name: [" ".join(d.split()) for d in body.split(";") if d.strip()] for name, body in found}


def members(declarations):
    """(type, name) of each member; a function pointer's type is "*"."""
    for declaration in declarations:
        function = re.search(r"\(\*(\w+)\)\(", declaration)
        if function:
            yield "*", function.group(1)
            continue
        first, *others = declaration.split(",")
        base, name = re.match(r"(.*?)(\**\s*\w+)$", first.strip()).groups()
        for one in [name] + others:
            pointer = "*" in base or "*" in one
            yield "*" if pointer else base.strip(), one.replace("*", " ").strip()


def growing(all_structs):
    return {n for n, d in all_structs.items() if any(name == "struct_size" for _, name in members(d))} | WITH_STRIDE


# ---- the promises ----

def layout(frozen, current, folder):
    """The compiler itself compares each old struct, under another name, with the one of today."""
    old = structs(frozen)
    grows = growing(old)
    text = f"#include <{HEADER}>\n"
    for name, declarations in old.items():
        text += f"struct old_{name} {{ {'; '.join(declarations)}; }};\n"
        for _, member in members(declarations):
            was, now = f"((struct old_{name} *)0)->{member}", f"(({name} *)0)->{member}"
            text += (f'_Static_assert(offsetof(struct old_{name}, {member}) == offsetof({name}, {member}), '
                     f'"{name}.{member} lies elsewhere; new members come at the end");\n'
                     f'_Static_assert(__builtin_types_compatible_p(__typeof__({was}), __typeof__({now})), '
                     f'"{name}.{member} is of another type; it must stay");\n')
        compare, may = (">=", "shrank") if name in grows else ("==", "has another size; nobody could tell how long one is")
        text += f'_Static_assert(sizeof({name}) {compare} sizeof(struct old_{name}), "{name} {may}");\n'
    for name, what in re.findall(r"typedef ([^;{}]*?\(\*shunt_\w+\)\([^;]*\)|int32_t shunt_status);()", source(frozen)):
        alias = re.search(r"shunt_entry_fn|shunt_status", name).group(0)
        text += f"typedef {name.replace(alias, 'old_' + alias)};\n"
        text += f'_Static_assert(__builtin_types_compatible_p({alias}, old_{alias}), "{alias} is another type; it must stay");\n'
    made = run("gcc", "-x", "c", "-std=c11", "-fmax-errors=0", "-fsyntax-only", "-I", current, "-", text=text)
    told = re.findall(r'error: (?:static assertion failed: "(.*)"|(.*))', made.stderr)
    return [promise or f"{what}; nothing may go" for promise, what in told]


def constants_of(include):
    lines = run("gcc", "-x", "c", "-dM", "-E", "-I", include, "-", text=f"#include <{HEADER}>\n").stdout.splitlines()
    found = dict(re.match(r"#define (SHUNT_\w+)\s*(.*)", line).groups() for line in lines if line.startswith("#define SHUNT_"))
    return {k: v for k, v in found.items() if k not in ("SHUNT_SDK_ABI_H", "SHUNT_ABI_ASSERT")}


def constants(frozen, current, _):
    old, new = constants_of(frozen), constants_of(current)
    problems = []
    for name, value in old.items():
        if name == "SHUNT_ABI_MINOR":
            if int(new.get(name, -1)) < int(value):
                problems.append(f"{name} is {new.get(name)}; it never goes back, and was {value}")
        elif name not in new:
            problems.append(f"{name} is gone; it must stay {value}")
        elif new[name] != value:
            problems.append(f"{name} is {new[name]}; it must stay {value}")
    return problems


def version(frozen, current, _):
    def tokens(include):
        text = run("gcc", "-x", "c", "-std=c11", "-E", "-P", "-I", include, "-", text=f"#include <{HEADER}>\n").stdout
        text = re.sub(r"_Static_assert\([^;]*;", "", text)
        return " ".join(text.split()), {k: v for k, v in constants_of(include).items() if k != "SHUNT_ABI_MINOR"}
    minors = [constants_of(i).get("SHUNT_ABI_MINOR") for i in (frozen, current)]
    if tokens(frozen) != tokens(current) and minors[0] == minors[1]:
        return [f"{HEADER} differs from {os.path.basename(frozen)} and calls itself that too; what is new needs a later SHUNT_ABI_MINOR"]
    return []


def types(_, current, folder):
    problems = []
    all_structs = structs(current)
    for name, declarations in all_structs.items():
        for kind, member in members(declarations):
            if kind != "*" and kind not in PLAIN and kind not in all_structs:
                problems.append(f"{name}.{member} is of type {kind}; members are pointers or of a fixed width")
    text = f"#include <{HEADER}>\n"
    strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-I", current]
    for compiler, language, standards in COMPILERS:
        for standard in standards:
            for more in (["-Wpadded"], ["-fpack-struct=1"]):
                made = run(compiler, "-x", language, f"-std={standard}", *strict, *more, "-", text=text)
                if made.returncode != 0:
                    said = re.findall(r"(?:error|warning): (.*)", made.stderr) or [made.stderr]
                    problems.append(f"{compiler} -std={standard} {more[0]}: {said[0]}; the header holds no padding and is the same everywhere")
    # Where pointers have 32 bits, all that is no pointer is as it was. Clang needs no library of that machine for this.
    def pointers(declarations):
        return any(k == "*" or (k in all_structs and pointers(all_structs[k])) for k, _ in members(declarations))
    plain = {n: sum_of(all_structs, n) for n, d in all_structs.items() if not pointers(d)}
    text += "".join(f'_Static_assert(sizeof({n}) == {size}, "{n}");\n' for n, size in plain.items())
    if not plain:
        problems.append(f"{HEADER}: no struct without pointers was found")
    made = run("clang-14", "--target=i386-linux-gnu", "-ffreestanding", "-x", "c", "-std=c11", *strict, "-", text=text)
    if made.returncode != 0:
        problems.append(f"with 32-bit pointers: {(re.findall('error: (.*)', made.stderr) or [made.stderr])[0]}")
    return problems


def sum_of(all_structs, name):
    width = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "int32_t": 4, "shunt_status": 4, "uint64_t": 8, "int64_t": 8, "double": 8}
    return sum(width[k] if k in width else sum_of(all_structs, k) for k, _ in members(all_structs[name]))


def broken(frozen, current):
    with tempfile.TemporaryDirectory() as folder:
        problems = []
        for promise in (layout, constants, version, types):
            try:
                problems += promise(frozen, current, folder)
            except FileNotFoundError as missing:
                problems.append(f"{missing.filename} is not installed; run tests/support/install.sh tests")
        return problems


def main(arguments):
    if len(arguments) != 2 or not all(os.path.isfile(os.path.join(a, HEADER)) for a in arguments):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    problems = broken(*arguments)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
