"""What scenarios write is the same bytes, whoever built it: this build, GCC for release, and Clang.

usage: same_bytes_test.py SOURCE BUILD

Builds only what runs scenarios (core's parts for it and the plugins), below BUILD.
"""

import os
import pathlib
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1])
BUILD = pathlib.Path(sys.argv[2])
FOLDER = BUILD / "same_bytes"
# With each policy there is: an isolation by slowness, failures of many brokers, keys and a change of route.
WITH_EACH = {"one-slow.toml", "flapping.toml", "scale-out.toml"}
CLANG = ["-DCMAKE_C_COMPILER=clang-14", "-DCMAKE_CXX_COMPILER=clang++-14", "-DCMAKE_CXX_FLAGS=", "-DCMAKE_C_FLAGS="]


def run(*command):
    done = subprocess.run([str(c) for c in command], cwd=SOURCE, text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=1100,
                          env=dict(os.environ, CCACHE_BASEDIR=str(SOURCE), CCACHE_NOHASHDIR="1"))
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def built(name, *options):
    """The program of a build of its own, with the flags of the release preset."""
    folder = FOLDER / name
    run("cmake", "--preset", "release", "-B", folder, *options)
    run("cmake", "--build", folder, "--target", "scenario_lines")
    return folder


def written_by(build, name):
    files = []
    for file in sorted((SOURCE / "tests" / "data" / "scenarios").glob("*.toml")) + sorted((SOURCE / "config" / "scenarios").glob("*.toml")):
        files.append(("+" if file.name in WITH_EACH else "") + str(file))
    out = FOLDER / (name + ".txt")
    with open(out, "wb") as lines:
        subprocess.run([build / "bin" / "scenario_lines", build / "lib" / "shunt" / "plugins", *files], check=True, stdin=subprocess.DEVNULL,
                       stdout=lines, timeout=600)
    return out.read_bytes()


def first_difference(one, other):
    for number, (a, b) in enumerate(zip(one.split(b"\n"), other.split(b"\n")), 1):
        if a != b:
            return f"line {number}:\n  {a!r}\n  {b!r}"
    return "one is longer"


class SameBytes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        FOLDER.mkdir(exist_ok=True)
        run("cmake", "--build", BUILD, "--target", "scenario_lines")
        cls.here = written_by(BUILD, "here")

    def test_there_is_something_to_compare(self):
        self.assertGreater(self.here.count(b"\n"), 100_000)
        self.assertGreater(self.here.count(b"== "), 3 * 30 + 20)
        self.assertIn(b"bad-file.toml:", self.here)
        for why in (b"rotation", b"key", b"weight", b"load", b"random", b"room", b"spill", b"avoid-tried", b"reachable-only"):
            self.assertIn(b'"why":"' + why + b'"', self.here)

    def assertSame(self, other, who):
        if other != self.here:
            self.fail(f"{who}: {first_difference(self.here, other)}")

    def test_gcc_for_release_writes_the_same(self):
        self.assertSame(written_by(built("release"), "release"), "g++ -O2 -DNDEBUG")

    def test_clang_writes_the_same(self):
        self.assertSame(written_by(built("clang", *CLANG), "clang"), "clang++-14 -O2 -DNDEBUG")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
