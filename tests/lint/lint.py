"""Rules about the source text that no compiler checks.

usage: python3 lint.py ROOT RULE...        RULE: the name of a function below, with - for _; without any: all of them

Each rule returns its problems as "file:line: what was found; what would be right". Exit: 0 none, 1 some, 2 wrong usage.
lint_test.py shows each rule a sample that it must refuse.
"""

import os
import re
import sys

FOLDERS = ["core", "plugins", "sdk", "config", "tests", "examples"]
TOP_LEVEL = FOLDERS + ["CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md"]
CODE = (".hpp", ".cpp", ".h", ".c")
PURE = ["wire", "route", "strategy", "send", "record", "swap"]

# (rule, file, what was found, why it is right there). One that no longer holds is a problem itself.
EXCEPTED = [
    ("include-direction", "sdk/include/shunt/sdk/testing/plugin.hpp", "<dlfcn.h>",
     "how a test loads the built file it is about; no plugin includes the test kit"),
    ("pure-parts", "core/src/strategy/host.hpp", "<mutex>",
     "what plugins count with: they may call it from any thread, though never on the way of a send"),
    ("detached-threads", "core/src/client/core.cpp", "detach",
     "a producer whose last owner is a handler on its own I/O thread: that thread ends right after, and nobody is left to join it"),
    ("detached-threads", "core/src/client/callbacks.cpp", "detach",
     "the same for a handler on the callback thread"),
    ("detached-threads", "core/src/client/helper_threads.cpp", "detach",
     "a thread in a call of a plugin that does not come back: nobody can end it, and close() waits for it no longer than it says"),
]
STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits clocale
cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib
cstring ctime cuchar cwchar cwctype deque exception execution filesystem format forward_list fstream functional future
initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex new
numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location
span sstream stack stdexcept stop_token streambuf string string_view strstream syncstream system_error thread tuple type_traits
typeindex typeinfo unordered_map unordered_set utility valarray variant vector version
assert.h errno.h float.h inttypes.h limits.h math.h stdalign.h stdbool.h stddef.h stdint.h stdlib.h string.h
""".split())


# ---- reading -----------------------------------------------------------------------------------------------------------

def files(root, folders, endings=None):
    """Paths below the folders (or the files themselves), relative to root, sorted; build trees and hidden things left out."""
    for folder in folders:
        top = os.path.join(root, folder)
        if os.path.isfile(top):
            yield folder
        for path, names, found in os.walk(top):
            names[:] = sorted(n for n in names if n not in ("build", "__pycache__") and not n.startswith("."))
            for name in sorted(found):
                if endings is None or name.endswith(endings):
                    yield os.path.relpath(os.path.join(path, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^( )\\]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'',
    re.DOTALL)


def code_of(text):
    """The text with comments and the insides of literals blanked out; lines stay where they were."""
    def blank(match):
        found = match.group(0)
        lines = "\n" * found.count("\n")
        return '""' + lines if found[0] in "R\"'" else " " + lines
    return NOT_CODE.sub(blank, text)


def includes(root, path):
    """(line number, "<" or '"', name) of each #include."""
    for number, line in enumerate(read(root, path).splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if found:
            yield number, found.group(1), found.group(2)


def search(root, paths, pattern, right):
    """A problem for each line of code that the pattern matches."""
    problems = []
    wanted = re.compile(pattern)
    for path in paths:
        for number, line in enumerate(code_of(read(root, path)).splitlines(), 1):
            found = wanted.search(line)
            if found:
                problems.append(f"{path}:{number}: '{found.group(0).strip()}'; {right}")
    return problems


# ---- includes ----------------------------------------------------------------------------------------------------------

def parts_of(root):
    """part -> the parts it may include, taken from `shunt_part(name ... USES ...)`."""
    uses = {}
    for path in files(root, ["core"], ("CMakeLists.txt",)):
        text = re.sub(r"#[^\n]*", "", read(root, path))
        for body in re.findall(r"\bshunt_part\(([^)]*)\)", text):
            words = body.split()
            listed, inside = [], False
            for word in words[1:]:
                if word in ("SOURCES", "USES", "LIBS"):
                    inside = word == "USES"
                elif inside:
                    listed.append(word)
            uses[words[0]] = listed
    closed = {}
    for part in uses:
        seen, todo = set(), [part]
        while todo:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                todo += uses.get(one, [])
        closed[part] = seen
    return closed


def include_direction(root):
    """A part includes itself and what it names in USES; public headers and the SDK see no part at all."""
    problems = []
    may = parts_of(root)
    sources = os.path.join(root, "core", "src")
    all_parts = set(may) | (set(os.listdir(sources)) if os.path.isdir(sources) else set())
    for path in files(root, ["core/src"], CODE):
        part = path.split("/")[2]
        allowed = may.get(part, {part})
        for number, kind, name in includes(root, path):
            first = name.split("/")[0]
            if kind == '"':
                problems.append(f"{path}:{number}: \"{name}\" in quotes; parts are named: <{part}/{os.path.basename(name)}>")
            elif first in all_parts and first not in allowed:
                problems.append(f"{path}:{number}: {part} includes <{name}>; it may include {', '.join(sorted(allowed))} "
                                f"(USES in core/src/{part}/CMakeLists.txt)")
    for folder, what in (("core/include", "a public header"), ("sdk/include", "the SDK")):
        for path in files(root, [folder], CODE):
            for number, kind, name in includes(root, path):
                if name.split("/")[0] in all_parts and not name.startswith("shunt/"):
                    problems.append(f"{path}:{number}: {what} includes <{name}>; users do not have the parts of core/src")
    for path in files(root, ["sdk/include"], CODE):
        for number, kind, name in includes(root, path):
            if not name.startswith("shunt/sdk/") and name not in STANDARD:
                problems.append(f"{path}:{number}: the SDK includes <{name}>; it has itself and the standard library")
    for path in files(root, ["core/cli", "examples"], CODE):
        for number, kind, name in includes(root, path):
            if name.startswith("client/"):
                problems.append(f"{path}:{number}: <{name}>; nobody includes client, programs include <shunt/...>")
    return problems


def third_party(root):
    """Each library has one user, so that it can be replaced in one place."""
    users = [
        ("boost/dll", ["core/src/plugin"]),
        ("toml++", ["core/src/config"]),
        ("spdlog", ["core/src/observe"]),
        ("prometheus", ["core/src/observe"]),
        ("boost/beast", ["core/src/observe", "core/src/net"]),
        ("openssl", ["core/src/tls", "core/src/wire", "core/src/plugin"]),
        ("boost/asio", ["core/src/net", "core/src/client", "core/src/cluster", "core/src/observe", "core/include/shunt"]),
    ]
    problems = []
    for path in files(root, ["core/src", "core/include", "sdk", "plugins"], CODE):
        for number, kind, name in includes(root, path):
            for library, folders in users:
                if (name == library or name.startswith((library + "/", library + "."))) and \
                        not any(path.startswith(f + "/") for f in folders):
                    problems.append(f"{path}:{number}: <{name}>; only {', '.join(folders)} may use {library}")
    return problems


def plugin_includes(root):
    """A plugin sees the SDK and the standard library, and does no I/O, starts no thread."""
    outside = {"cstdio", "iostream", "fstream", "filesystem", "thread", "mutex", "shared_mutex", "condition_variable", "future",
               "csignal", "iomanip", "syncstream"}
    problems = []
    for path in files(root, ["plugins"], CODE):
        folder = os.path.join(root, os.path.dirname(path))
        for number, kind, name in includes(root, path):
            if kind == '"' and "/" not in name and os.path.isfile(os.path.join(folder, name)):
                continue
            if name in outside:
                problems.append(f"{path}:{number}: <{name}>; plugins do no I/O, start no threads and take no locks")
            elif not name.startswith("shunt/sdk/") and name not in STANDARD:
                problems.append(f"{path}:{number}: <{name}>; a plugin includes <shunt/sdk/...> and the standard library")
    return problems


# ---- code --------------------------------------------------------------------------------------------------------------

def pure_parts(root):
    """wire, route, strategy, send and record take time, randomness and bytes as parameters."""
    impure = {"mutex", "shared_mutex", "thread", "condition_variable", "future", "semaphore", "latch", "barrier", "fstream",
              "iostream", "sys/socket.h", "unistd.h"}
    problems = []
    for path in files(root, ["core/src/" + part for part in PURE], CODE):
        for number, kind, name in includes(root, path):
            if name in impure or name.startswith("boost/asio"):
                problems.append(f"{path}:{number}: <{name}>; this part is pure: no sockets, locks, threads or files")
    return problems


def clocks(root):
    """Nothing below net reads a clock: the time comes in as a parameter."""
    allowed = ("core/src/net/", "core/src/client/", "core/src/cluster/", "core/src/observe/")
    paths = [p for p in files(root, ["core/src", "core/include", "sdk", "plugins"], CODE) if not p.startswith(allowed)]
    return search(root, paths,
                  r"\b(?:system|steady|high_resolution|utc|file)_clock\s*::\s*now\b|\bclock_gettime\b|\bgettimeofday\b|"
                  r"\btime\s*\(\s*(?:nullptr|NULL|0)\s*\)|\bclock::now\b",
                  "the time is a parameter below net")


def randomness(root):
    """The pure parts and the plugins roll no dice of their own."""
    paths = files(root, ["core/src/" + part for part in PURE] + ["plugins", "sdk/include"], CODE)
    return search(root, paths, r"\brandom_device\b|\bs?rand\s*\(|\bgetrandom\b|\barc4random\w*", "random numbers come from the host")


def sleeps(root):
    """Who waits, waits for an event with a deadline."""
    return search(root, files(root, ["core", "plugins", "sdk", "tests", "examples"], CODE),
                  r"\bsleep_(?:for|until)\b|\bu?sleep\s*\(|\bnanosleep\b", "wait for what is to happen, with a deadline")


def detached_threads(root):
    """A thread is joined by who started it."""
    return search(root, files(root, ["core", "plugins", "sdk", "tests", "examples"], CODE),
                  r"(?:\.|->)detach\s*\(\s*\)|\bpthread_detach\b", "a thread is joined by who started it")


def printing(root):
    """The library is silent unless told: it logs through observe."""
    return search(root, files(root, ["core/src", "core/include"], CODE),
                  r"\b(?:std::)?(?:v|f|d)?printf\s*\(|\b(?:std::)?f?puts\s*\(|\bputchar\s*\(|\bperror\s*\(|\bstd::(?:cout|cerr|clog)\b|"
                  r"\bfmt::print\b",
                  "a library logs through observe/ or returns an error")


def skipped_tests(root):
    """A test runs, or is seen not to: run.sh counts GTEST_SKIP as a failure, but never hears of a disabled test."""
    return search(root, files(root, ["tests"], CODE), r"\bDISABLED_\w+", "a test that cannot run fails")


# ---- text and folders --------------------------------------------------------------------------------------------------

def words(root):
    """The project speaks of itself alone: no path of a machine it was written on, no host it was fetched from."""
    # Put together here, so that this file does not find itself.
    paths = "/(?:wo" + "rk|fa" + "rm)/|/ro" + "ot/[.]"
    hosts = "|".join(re.escape(h) for h in ["deb." + "debian.org", "repo." + "maven.apache.org", "repo1." + "maven.org",
                                            "snapshot." + "debian.org"])
    wanted = re.compile(f"{paths}|{hosts}")
    problems = []
    for path in files(root, FOLDERS + [".ci", "CMakeLists.txt", "CMakePresets.json", "README.md", ".gitignore"]):
        for number, line in enumerate(read(root, path).splitlines(), 1):
            found = wanted.search(line)
            if found:
                problems.append(f"{path}:{number}: '{found.group(0)}'; no paths and hosts of one machine")
    return problems


def folders(root):
    """The top level is fixed, and each folder of it says what it is for."""
    problems = []
    for name in sorted(os.listdir(root)):
        if name not in TOP_LEVEL and name != "build" and not name.startswith("."):
            problems.append(f"{name}: not part of the top level; it holds {', '.join(TOP_LEVEL)}")
    for folder in FOLDERS:
        if not os.path.isfile(os.path.join(root, folder, "README.md")):
            problems.append(f"{folder}: has no README.md; each folder tells what lives there and how to change it")
    return problems


RULES = [include_direction, third_party, plugin_includes, pure_parts, clocks, randomness, sleeps, detached_threads, printing,
         skipped_tests, words, folders]


def without_excepted(name, problems, excepted):
    """The rule's problems that no exception covers, and the exceptions that cover none."""
    left = list(problems)
    for rule, path, what, _ in excepted:
        if rule == name:
            covered = [p for p in left if p.startswith(path + ":") and what in p]
            left = [p for p in left if p not in covered]
            if not covered:
                left.append(f"tests/lint/lint.py: EXCEPTED names {path} with {what}, which is not there; take it out")
    return left


def main(arguments):
    rules = {rule.__name__.replace("_", "-"): rule for rule in RULES}
    if not arguments or any(name not in rules for name in arguments[1:]):
        print(f"usage: lint.py ROOT [RULE...]    rules: {' '.join(rules)}", file=sys.stderr)
        return 2
    problems = [p for name in arguments[1:] or rules for p in without_excepted(name, rules[name](arguments[0]), EXCEPTED)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
