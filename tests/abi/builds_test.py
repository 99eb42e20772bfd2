"""One strategy, built by every compiler and against every version of abi.h, in every host: all answer alike.

usage: python3 builds_test.py BUILD        a finished build: its program `shunt` is one host, host.cpp the others

What the answers must be is reckoned here, not taken from one of the builds. Builds lie in BUILD/abi.
"""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import guard

BUILD = os.path.abspath(sys.argv.pop()) if len(sys.argv) == 2 else sys.exit(__doc__.split("\n\n")[1])
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SHUNT = os.path.join(BUILD, "bin", "shunt")
OUT = os.path.join(BUILD, "abi")
SDK = os.path.join(ROOT, "sdk", "include")
FROZEN = os.path.join(HERE, "1.0")
TOMORROW = os.path.join(OUT, "tomorrow")  # today's, grown
CCACHE = [shutil.which("ccache")] if shutil.which("ccache") else []

# As shunt_add_plugin() does it. The last line of the table has none of it but what any shared object needs.
LINK = [f"-Wl,--version-script={ROOT}/sdk/cmake/shunt_plugin.map", "-Wl,-z,now,-z,relro,-z,noexecstack"]
CXX = ["-std=c++20", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"]
C = ["-std=c11", "-fPIC", "-fvisibility=hidden"]


def cxx(compiler, *flags, include=SDK, link=()):
    return [[*CCACHE, compiler, *CXX, *flags, "-I", include, "-c", f"{HERE}/step.cpp", "-o", "step.o"],
            [compiler, *flags, "-shared", "step.o", "-o", "libstep.so", *LINK, *link]]


def c(compiler, *flags, include=SDK):
    return [[*CCACHE, compiler, *C, *flags, "-I", include, "-c", f"{HERE}/step.c", "-o", "step.o"],
            [compiler, "-shared", "step.o", "-o", "libstep.so", *LINK]]


def rust(*flags):
    return [["rustc", "--edition", "2021", "--crate-type", "cdylib", "--crate-name", "step", *flags, f"{HERE}/step.rs", "-o", "libstep.so"]]


COMPILERS = {
    "g++ -O0": cxx("g++", "-O0"),
    "g++ -O3": cxx("g++", "-O3"),
    "g++ lto": cxx("g++", "-O2", "-flto"),
    "g++ no exceptions": cxx("g++", "-O2", "-fno-exceptions"),
    "g++ no rtti": cxx("g++", "-O2", "-fno-rtti"),
    "g++ static libstdc++": cxx("g++", "-O2", link=["-static-libstdc++", "-static-libgcc"]),
    "g++ asan": cxx("g++", "-O1", "-fsanitize=address"),
    "clang++ -O0": cxx("clang++-14", "-O0"),
    "clang++ -O3": cxx("clang++-14", "-O3"),
    "clang++ no exceptions, no rtti": cxx("clang++-14", "-O2", "-fno-exceptions", "-fno-rtti"),
    "clang++ libc++": cxx("clang++-14", "-O2", "-stdlib=libc++"),
    "gcc c11": c("gcc", "-O2"),
    "clang c11": c("clang-14", "-O2"),
    "rust": rust(),
    "rust -O": rust("-O", "-C", "lto=fat"),
    "g++, its own defaults": [["g++", "-std=c++20", "-shared", "-fPIC", "-I", SDK, f"{HERE}/step.cpp", "-o", "libstep.so"]],
}
VERSIONS = {
    "C of 1.0": c("gcc", "-O1", include=FROZEN),
    "C of today": c("gcc", "-O1"),
    "C of tomorrow": c("gcc", "-O1", include=TOMORROW),
    "C++ of tomorrow": cxx("g++", "-O1", include=TOMORROW),
    "C of tomorrow that needs tomorrow": c("gcc", "-O1", "-DMIN_HOST_MINOR=1", include=TOMORROW),
}
HOSTS = {"1.0": [FROZEN, SDK], "today": [SDK], "tomorrow": [TOMORROW, SDK]}


def folder_of(name):
    return os.path.join(OUT, re.sub(r"[^a-z0-9.]+", "_", name.lower()).strip("_"))


def make(name, commands):
    folder = folder_of(name)
    os.makedirs(folder, mode=0o755, exist_ok=True)
    os.chmod(folder, 0o755)
    for command in commands:
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        except FileNotFoundError:
            return f"{name}: {command[0]} is not installed; run tests/support/install.sh tests"
        if done.returncode != 0:
            return f"{name}: {' '.join(command)}\n{done.stderr}"
    if os.path.exists(os.path.join(folder, "libstep.so")):
        os.chmod(os.path.join(folder, "libstep.so"), 0o755)
    return None


def write_tomorrow():
    """Today's SDK, whose structs have one member more wherever they may."""
    shutil.rmtree(TOMORROW, ignore_errors=True)
    shutil.copytree(SDK, TOMORROW)
    header = os.path.join(TOMORROW, guard.HEADER)
    with open(header, encoding="utf-8") as f:
        text = re.sub(r"\nSHUNT_ABI_ASSERT\([^\n]*", "", f.read())
    for name in guard.growing(guard.structs(SDK)):
        text, count = re.subn(rf"\n}} {name};", rf"\n    uint64_t tomorrow;\n}} {name};", text)
        assert count == 1, name
    minor = int(guard.constants_of(SDK)["SHUNT_ABI_MINOR"])
    text = re.sub(r"(#define SHUNT_ABI_MINOR) \d+", rf"\1 {minor + 1}", text)
    with open(header, "w", encoding="utf-8") as f:
        f.write(text)


# ---- what must come ----

def right_answers(throws=True):
    brokers = "aaaabbbbccccc"
    lines, state = [], {"next": 2147483647}

    def ask(what, fits, key=b""):
        first = (state["next"] + sum(key)) % 2**32 % len(brokers)
        state["next"] = (state["next"] + 5) % 2**32
        for i in range(len(brokers)):
            q = (first + i) % len(brokers)
            if fits(q):
                lines.append(f"{what}: 0 {q} {1 if i == 0 else 3}")
                return
        lines.append(f"{what}: 2 0 0")

    for _ in range(20):
        ask("all well", lambda q: True)
    for _ in range(20):
        ask("b isolated, a tried", lambda q: brokers[q] == "c")
    for key in ("", "order-17", "订单", "order-18"):
        ask("key", lambda q: True, key.encode())
    lines.append("poison: " + ("error: the key is 'poison'; no queue is right for it" if throws else "no queue"))
    for _ in range(10):
        ask("candidates b-1 and c-3", lambda q: q in (5, 11))
    ask("all tried", lambda q: False)
    lines.append("refused: -4 step is 14; it must be no multiple of 7")
    return lines


def environment(name):
    if name != "g++ asan":
        return None
    run_time = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    return {**os.environ, "LD_PRELOAD": run_time, "ASAN_OPTIONS": "detect_leaks=0"}


def shunt(*arguments, env=None):
    return subprocess.run([SHUNT, *arguments], capture_output=True, text=True, timeout=60, env=env)


def configuration(folder, name, step):
    file = os.path.join(folder, "shunt.toml")
    with open(file, "w", encoding="utf-8") as f:
        f.write(f"""[producer]
embedded = true
[log]
level = "warn"
[plugins.load.step]
file = "{folder_of(name)}/libstep.so"
[policies.default]
selector = {{ use = "step", step = {step} }}
fault = {{ use = "none" }}
""")
    return file


class Builds(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        os.makedirs(OUT, mode=0o755, exist_ok=True)
        write_tomorrow()
        jobs = [*COMPILERS.items(), *VERSIONS.items()]
        for name, include in HOSTS.items():
            flags = ["g++", "-std=c++20", "-O0"] + [word for i in include for word in ("-I", i)] + ["-I", os.path.join(ROOT, "tests")]
            jobs.append((f"host of {name}", [[*CCACHE, *flags, "-c", f"{HERE}/host.cpp", "-o", "host.o"], ["g++", "host.o", "-o", "host"]]))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            cls.failed = [f for f in pool.map(lambda job: make(*job), jobs) if f]

    def setUp(self):
        self.assertEqual(self.failed, [])

    def answers(self, host, plugin, env=None):
        done = subprocess.run([os.path.join(folder_of(f"host of {host}"), "host"), folder_of(plugin)], capture_output=True, text=True,
                              timeout=60, env=env)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def test_all_compilers_answer_alike_through_the_table(self):
        for name in COMPILERS:
            with self.subTest(name):
                self.assertEqual(self.answers("today", name, environment(name)), right_answers(throws="no exceptions" not in name))

    def test_all_compilers_answer_alike_in_a_producer(self):
        for name in COMPILERS:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                env = environment(name)
                file = configuration(folder, name, 5)
                sent = shunt("send", "-c", file, "-t", "T", "--body", "x", "--count", "24", "--json", env=env)
                self.assertEqual(sent.returncode, 0, sent.stderr)
                self.assertEqual(json.loads(sent.stdout)["counters"]["plugin_errors"], 0, sent.stderr)
                self.assertEqual(json.loads(sent.stdout)["by_queue"],  # 5 and 12 queues have no common divisor
                                 {f"broker-{b}/{q}": 2 for b in "abc" for q in range(4)})
                if "no exceptions" not in name:
                    receipts = os.path.join(folder, "receipts")
                    sent = shunt("send", "-c", file, "-t", "T", "--body", "x", "--order-key", "poison", "--receipts", receipts, env=env)
                    self.assertEqual(sent.returncode, 0, sent.stderr)
                    self.assertIn("the key is 'poison'; no queue is right for it", sent.stderr)
                    with open(receipts, encoding="utf-8") as f:
                        self.assertEqual(json.loads(f.readline())["attempts"][0]["why"], "fallback")
                refused = shunt("send", "-c", configuration(folder, name, 14), "-t", "T", "--body", "x", env=env)
                self.assertEqual((refused.returncode, refused.stdout), (2, ""))
                self.assertIn("step is 14; it must be no multiple of 7", refused.stderr)

    def test_a_sanitized_plugin_is_refused_by_a_program_that_is_not(self):
        refused = shunt("plugin", "describe", os.path.join(folder_of("g++ asan"), "libstep.so"))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("built with AddressSanitizer, this process is not; build both the same way", refused.stderr)

    def test_all_versions_of_hosts_and_plugins_understand_each_other(self):
        for host in HOSTS:
            for name in VERSIONS:
                with self.subTest(host=host, plugin=name):
                    self.assertEqual(self.answers(host, name), right_answers())

    def test_a_producer_takes_plugins_of_all_versions_or_says_why_not(self):
        today = ".".join(guard.constants_of(SDK)[n] for n in ("SHUNT_ABI_MAJOR", "SHUNT_ABI_MINOR"))
        for name in VERSIONS:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                sent = shunt("send", "-c", configuration(folder, name, 5), "-t", "T", "--body", "x", "--count", "24", "--json")
                if name.endswith("needs tomorrow"):
                    self.assertEqual(sent.returncode, 2)
                    self.assertRegex(sent.stderr, rf"libstep\.so.*1\.1.*this shunt speaks {re.escape(today)}")
                else:
                    self.assertEqual(sent.returncode, 0, sent.stderr)
                    self.assertEqual(json.loads(sent.stdout)["counters"]["plugin_errors"], 0, sent.stderr)
                    self.assertEqual(set(json.loads(sent.stdout)["by_queue"].values()), {2})


if __name__ == "__main__":
    unittest.main()
