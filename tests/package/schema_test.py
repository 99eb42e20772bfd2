"""config/schema.json, as editors use it: takes every file that is shipped, and marks what `shunt config check` refuses.

usage: python3 schema_test.py BUILD ROOT
"""

import copy
import glob
import json
import os
import subprocess
import sys
import tempfile
import tomllib
import unittest

import jsonschema

if len(sys.argv) != 3:
    sys.exit(__doc__.split("\n\n")[1])
ROOT, BUILD = (os.path.abspath(sys.argv.pop()) for _ in range(2))
with open(os.path.join(ROOT, "config/schema.json"), encoding="utf-8") as schema_file:
    SCHEMA = json.load(schema_file)
CHECKER = jsonschema.Draft202012Validator(SCHEMA)

GOOD = """
[producer]
name_servers = ["127.0.0.1:9876"]
[policies.default]
selector = { use = "best-queue" }
fault = { use = "none" }
"""
# What stands behind GOOD, and where it is wrong.
WRONG = [
    ("[producer2]\n", []),
    ("[log]\nlevel = 3\n", ["log", "level"]),
    ('[log]\nlevel = "loud"\n', ["log", "level"]),
    ("[plugins]\nmax_images = 0\n", ["plugins", "max_images"]),
    ('[plugins.load.mine]\nfile = "mine.so"\nsha256 = "00"\n', ["plugins", "load", "mine", "sha256"]),
    ('[[bindings]]\ntopic = "a b"\npolicy = "default"\n', ["bindings", 0, "topic"]),
    ('[[bindings]]\ntopic = "a"\n', ["bindings", 0]),
    ('[[brokers]]\nname = "a"\nweight = -1\n', ["brokers", 0, "weight"]),
    ('[policies.other]\nselector = { run = 3 }\n', ["policies", "other", "selector"]),
    ('[policies.other]\nwhen_no_queue = "give up"\n', ["policies", "other", "when_no_queue"]),
]


class Schema(unittest.TestCase):
    def test_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_takes_every_file_that_is_shipped(self):
        files = glob.glob(os.path.join(ROOT, "config/*.toml"))
        self.assertGreater(len(files), 4)
        for file in files:
            with open(file, "rb") as f:
                self.assertEqual([e.message for e in CHECKER.iter_errors(tomllib.load(f))], [], file)

    def test_marks_what_the_program_refuses_at_the_same_place(self):
        for text, place in [("", None), *WRONG]:
            with self.subTest(text), tempfile.NamedTemporaryFile("w", suffix=".toml") as f:
                f.write(GOOD + text)
                f.flush()
                said = subprocess.run([os.path.join(BUILD, "bin/shunt"), "config", "check", f.name], capture_output=True, text=True, timeout=60)
                places = [list(e.absolute_path) for e in CHECKER.iter_errors(tomllib.loads(GOOD + text))]
                self.assertEqual(said.returncode, 0 if place is None else 2, said.stdout)
                self.assertEqual(places, [] if place is None else [place] * len(places))
                self.assertEqual(bool(places), place is not None)

    def test_a_producers_keys_are_held_to_their_types(self):
        good = tomllib.loads(GOOD)
        for key, rule in SCHEMA["properties"]["producer"]["properties"].items():
            wrong = copy.deepcopy(good)
            wrong["producer"][key] = ["no", {"value": "at all"}]
            self.assertTrue(list(CHECKER.iter_errors(wrong)), f"{key}: {rule}")


if __name__ == "__main__":
    unittest.main()
