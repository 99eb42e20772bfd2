"""shunt plugin new: what it writes, and what it refuses. That all of it builds and works is shown in tests/package."""

import os
import re
import resource
import shutil
import subprocess

from support import Case, SHUNT, SOURCE, lines_of_json, main, shunt

COMMON = {".gitignore", "CMakeLists.txt", "README.md", "ci.sh", "shunt.toml", "tests/CMakeLists.txt", "tests/my_thing_test.cpp"}
SOURCES = {"c++": {"my_thing.cpp"}, "c": {"my_thing.c"}, "rust": {"Cargo.toml", "src/lib.rs", "src/abi.rs", "src/plugin.rs"}}


def files_below(folder):
    return {os.path.relpath(os.path.join(path, name), folder) for path, _, names in os.walk(folder) for name in names}


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


class New(Case):
    cluster_arguments = None

    def new(self, *arguments, **more):
        return shunt("plugin", "new", *arguments, cwd=self.folder, **more)

    def refuses(self, *arguments, saying, **more):
        """Wrong usage: told, and nothing is written."""
        before = files_below(self.folder)
        ended = self.refused("plugin", "new", *arguments, status=2, saying=saying, cwd=self.folder, **more)
        self.assertEqual(files_below(self.folder), before)
        return ended

    def test_every_kind_and_language_has_its_files_with_nothing_left_to_fill_in(self):
        for kind in "selector", "fault":
            for language, sources in SOURCES.items():
                with self.subTest(kind=kind, language=language):
                    folder = f"{kind}-{language}"
                    ended = self.new("my-thing", "--kind", kind, "--lang", language, folder)
                    self.assertEqual((ended.returncode, [w for w in ended.stderr.splitlines() if "installed shunt" not in w]), (0, []))
                    written = files_below(self.file(folder))
                    self.assertEqual(written, COMMON | sources)
                    for name in written:
                        self.assertIn(os.path.join(folder, name), ended.stdout)
                        self.assertIsNone(re.search(r"@[a-z]+@", read(self.folder, folder, name)), name)
                    self.assertIn("my-thing", read(self.folder, folder, "shunt.toml"))

    def test_cpp_and_a_folder_of_the_strategys_name_are_what_is_taken_when_nothing_is_said(self):
        self.assertEqual(self.new("my-thing", "--kind", "fault").returncode, 0)
        self.assertIn("class my_thing_fault", read(self.folder, "my-thing", "my_thing.cpp"))

    def test_a_class_is_called_after_its_kind_once(self):
        self.assertEqual(self.new("near-selector", "--kind", "selector").returncode, 0)
        self.assertIn("class near_selector {", read(self.folder, "near-selector", "near_selector.cpp"))

    def test_the_commands_shown_are_those_of_the_readme(self):
        shown = self.new("my-thing", "--kind", "selector").stdout.split("\nnext:\n")[1].splitlines()
        of_readme = re.search(r"^```sh\n(.*?)^```", read(self.folder, "my-thing", "README.md"), re.M | re.S).group(1).splitlines()

        self.assertEqual(shown[0], f"  export PATH={os.path.dirname(SHUNT)}:$PATH")  # this shunt is not on the path
        self.assertEqual(shown[1], "  cd my-thing")
        self.assertEqual([line.removeprefix("  ") for line in shown[2:]], of_readme)
        for command in "cmake -B build", "cmake --build build", "ctest", "shunt plugin check", "shunt plugin describe", "shunt send":
            self.assertIn(command, "\n".join(of_readme))

    def test_a_shunt_that_is_on_the_path_need_not_be_put_there(self):
        ended = self.new("my-thing", "--kind", "selector", env={**os.environ, "PATH": os.path.dirname(SHUNT) + ":" + os.environ["PATH"]})
        self.assertNotIn("export", ended.stdout)

    def test_names_that_are_none(self):
        right = "it must be a strategy's name: a-z, 0-9 and '-', a letter first"
        for name, more in (("My Selector", "did you mean 'my-selector'?"), ("my_selector", "did you mean 'my-selector'?"),
                           ("MySelector", "did you mean 'myselector'?"), ("", right), (" ", right), ("naïve", right), ("選択", right),
                           ("1st", right), ("9", right), ("sticky-", "did you mean 'sticky'?"), ("a--b", "did you mean 'a-b'?"),
                           ("a/b", right), ("../a", right), ("a.so", "did you mean 'a-so'?"), ("a" * 65, right), ("a\nb", right),
                           ("$(touch x)", right)):
            with self.subTest(name=name):
                self.refuses(name, "--kind", "selector", saying=["NAME is ", right, more])
        self.refuses("--kind", "selector", "--", "-sticky", saying=["NAME is '-sticky'", right])
        self.assertEqual(self.new("a" * 64, "--kind", "selector").returncode, 0)

    def test_words_that_are_taken(self):
        for name, by in (("class", "a keyword of C++"), ("static-cast", "a keyword of C++"), ("new", "a keyword of C++"),
                         ("restrict", "a keyword of C"), ("fn", "a keyword of Rust"), ("match", "a keyword of Rust"),
                         ("std", "a crate of Rust's own"), ("test", "a target of CMake's own"), ("all", "a target of CMake's own")):
            with self.subTest(name=name):
                self.refuses(name, "--kind", "selector", saying=[f"NAME is '{name}'; it must be another word", f"it is {by}"])

    def test_every_bundled_strategys_name_is_taken(self):
        for s in lines_of_json(self.ok("plugin", "list", "--json")):
            with self.subTest(name=s["name"]):
                said = self.refuses(s["name"], "--kind", "selector", saying=f"NAME is '{s['name']}'; it must be another").stderr
                self.assertTrue("comes with shunt" in said or "keyword" in said, said)

    def test_what_is_missing_or_wrong_is_told(self):
        self.refuses(saying=["NAME is missing", "as in sticky-run"])
        self.refuses("my-thing", saying=["--kind is missing", "'selector' (which queue a message goes to)", "'fault' (which brokers are avoided)"])
        self.refuses("my-thing", "--kind", "filter", saying="--kind is 'filter'; it must be 'selector' or 'fault'")
        self.refuses("my-thing", "--kind", "selecter", saying="did you mean 'selector'?")
        self.refuses("my-thing", "--kind", "selector", "--lang", "java", saying="--lang is 'java'; it must be 'c++', 'c' or 'rust'")
        self.refuses("my-thing", "--kind", "selector", "here", "and-there", saying="and-there")

    def test_a_folder_with_something_in_it_is_left_alone(self):
        os.mkdir(self.file("mine"))
        self.file("mine/README.md", "mine")
        self.refuses("my-thing", "--kind", "selector", "mine",
                     saying=["DIR is 'mine'; it must be a folder that is empty or not there yet", "'README.md'", "nothing was changed"])
        self.assertEqual(read(self.folder, "mine", "README.md"), "mine")

        self.assertEqual(self.new("my-thing", "--kind", "selector").returncode, 0)
        self.refuses("my-thing", "--kind", "selector", saying="DIR is 'my-thing'")  # twice

    def test_hidden_files_are_something_too(self):
        os.mkdir(self.file("mine"))
        self.file("mine/.hidden", "")
        self.refuses("my-thing", "--kind", "selector", "mine", saying="'.hidden'")

    def test_a_folder_that_is_empty_or_the_current_one_or_far_down_is_fine(self):
        os.mkdir(self.file("empty"))
        for folder, told in (("empty", "  cd empty"), ("not/there/yet", "  cd not/there/yet"), ("with blank/and'quote", "  cd 'with blank/and'\\''quote'"),
                             ("ends/in/slash/", "  cd ends/in/slash/")):
            with self.subTest(folder=folder):
                ended = self.new("my-thing", "--kind", "selector", folder)
                self.assertEqual(ended.returncode, 0, ended.stderr)
                self.assertEqual(files_below(self.file(folder)), COMMON | SOURCES["c++"])
                self.assertIn("\n" + told + "\n", ended.stdout)
        os.mkdir(self.file("here"))
        ended = shunt("plugin", "new", "my-thing", "--kind", "selector", ".", cwd=self.file("here"))
        self.assertEqual((ended.returncode, files_below(self.file("here"))), (0, COMMON | SOURCES["c++"]))
        self.assertNotIn("  cd", ended.stdout)

    def test_a_file_is_no_folder(self):
        self.file("a-file", "mine")
        self.refuses("my-thing", "--kind", "selector", "a-file", saying=["DIR is 'a-file'", "it is a file"])
        self.refuses("my-thing", "--kind", "selector", "a-file/below", saying=["DIR is 'a-file/below'", "Not a directory"])
        self.refuses("my-thing", "--kind", "selector", "", saying="DIR is ''")
        self.assertEqual(read(self.folder, "a-file"), "mine")

    def test_a_folder_that_cannot_be_written_is_told(self):
        os.mkdir(self.file("locked"), mode=0o555)
        # Root may write anywhere, unless it lays that power down.
        humble = ["setpriv", "--bounding-set=-all"] if os.getuid() == 0 else []
        for folder in "locked", "locked/below":
            with self.subTest(folder=folder):
                ended = subprocess.run([*humble, SHUNT, "plugin", "new", "my-thing", "--kind", "selector", folder], cwd=self.folder, text=True,
                                       capture_output=True, timeout=60)
                self.assertEqual((ended.returncode, ended.stdout), (2, ""), ended.stderr)
                self.assertIn("Permission denied", ended.stderr)
                self.assertIn("DIR must be a folder that can be written", ended.stderr)
                self.assertEqual(os.listdir(self.file("locked")), [])

    def test_when_writing_fails_midway_nothing_is_left(self):
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        os.mkdir(self.file("mine"))
        for folder in "mine", "new/and/deep":
            with self.subTest(folder=folder):
                # The signal for too large a file is ignored by Python, and so by what it starts: write() fails instead.
                ended = self.new("my-thing", "--kind", "fault", "--lang", "rust", folder, preexec_fn=small_files, restore_signals=False)
                self.assertEqual((ended.returncode, ended.stdout), (1, ""), ended.stderr)
                self.assertIn("File too large", ended.stderr)
                self.assertIn("what was begun is taken away again", ended.stderr)
                self.assertEqual(sorted(os.listdir(self.folder)), ["mine"])
                self.assertEqual(os.listdir(self.file("mine")), [])

    def test_results_that_cannot_be_written_are_a_failure(self):
        with open("/dev/full", "w") as full:
            ended = subprocess.run([SHUNT, "plugin", "new", "my-thing", "--kind", "selector"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE,
                                   text=True, timeout=60)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("writing to stdout failed", ended.stderr)

    def test_help(self):
        said = self.ok("plugin", "new", "--help")
        for text in "Usage: shunt plugin new", "--kind KIND", "--lang LANG", "c++ unless said", "NAME", "DIR":
            self.assertIn(text, said)


class Border(Case):
    """src/abi.rs of a Rust plugin says what abi.h says: the same structs with the same members in the same order, the same numbers."""

    cluster_arguments = None

    @classmethod
    def setUpClass(cls):
        cls.header = re.sub(r"/\*.*?\*/", "", read(SOURCE, "sdk/include/shunt/sdk/abi.h"), flags=re.S)
        cls.rust = re.sub(r"//[^\n]*", "", read(SOURCE, "core/cli/templates/rust/src/abi.rs"))

    @staticmethod
    def members_in_c(body):
        names = []
        for declaration in body.split(";"):
            if function := re.search(r"\(\*(\w+)\)\s*\(", declaration):
                names.append(function.group(1))
            elif declaration.strip():
                names += [re.search(r"(\w+)\s*$", part).group(1) for part in declaration.split(",")]
        return names

    def test_structs(self):
        in_c = {"".join(w.capitalize() for w in name.removeprefix("shunt_").split("_")): self.members_in_c(body)
                for name, body in re.findall(r"typedef struct (shunt_\w+) \{(.*?)\} \1;", self.header, re.S)}
        in_rust = {name: [m.rstrip("_") for m in re.findall(r"^    pub (\w+):", body, re.M)]
                   for name, body in re.findall(r"#\[repr\(C\)\]\n(?:#\[derive.*?\]\n)?pub struct (\w+) \{(.*?)^\}", self.rust, re.S | re.M)}
        self.assertGreater(len(in_c), 18)
        self.assertEqual(in_rust, in_c)

    def test_sizes(self):
        in_c = {"".join(w.capitalize() for w in name.split("_")): int(size)
                for name, size in re.findall(r"ASSERT\(sizeof\(shunt_(\w+)\) == (\d+)", self.header)}
        in_rust = {name: int(size) for name, size in re.findall(r"assert!\(size_of::<(\w+)>\(\) == (\d+)\)", self.rust)}
        self.assertGreater(len(in_c), 15)
        self.assertEqual(in_rust, in_c)

    def test_numbers(self):
        in_c = {name: int(number) for name, number in re.findall(r"#define SHUNT_(\w+)\s+\(?(-?\d+)u?\)?\s*$", self.header, re.M)}
        in_rust = {name: int(number) for name, number in re.findall(r"pub const (\w+): \w+ = (-?\d+);", self.rust)}
        self.assertGreater(len(in_c), 40)
        self.assertEqual(in_rust, in_c)


if __name__ == "__main__":
    main()
