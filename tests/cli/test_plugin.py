"""shunt plugin: which strategies are there, and what each takes."""

import hashlib
import json
import os
import shutil

from support import Case, PLUGINS, SOURCE, lines_of_json, main, shunt

LISTED = {"name": str, "kind": str, "version": str, "file": str, "sha256": str, "abi": str, "origin": str}
DESCRIBED = {**LISTED, "summary": str, "flags": [str],
             "parameters": [{"name": str, "type": str, "unit": str, "default": str, "range": {...: str}, "choices": [str], "help": str}]}


class Plugin(Case):
    cluster_arguments = None

    def test_the_bundled_ones_are_listed_in_the_promised_shape(self):
        listed = lines_of_json(self.ok("plugin", "list", "--json"))

        self.assertShape(listed, [LISTED])
        folders = {name for name in os.listdir(os.path.join(SOURCE, "plugins")) if os.path.isdir(os.path.join(SOURCE, "plugins", name))}
        self.assertEqual({s["name"] for s in listed}, folders)
        self.assertEqual({s["origin"] for s in listed}, {"bundled"})
        kinds = {s["name"]: s["kind"] for s in listed}
        self.assertEqual((kinds["best-queue"], kinds["latency-fault"]), ("selector", "fault"))
        for s in listed:
            with open(s["file"], "rb") as file:
                self.assertEqual(s["sha256"], hashlib.sha256(file.read()).hexdigest())

    def test_for_people_it_is_a_table(self):
        self.assertRegex(self.ok("plugin", "list"), r"(?m)^hash +selector +\S+ +1\.\d+ +bundled +/.*libhash\.so$")

    def plugins(self, *names):
        folder = self.file("plugins")
        os.mkdir(folder)
        for name in names:
            shutil.copy(os.path.join(PLUGINS, name), folder)
        return folder

    def test_another_folder_is_looked_into_instead(self):
        folder = self.plugins("libhash.so", "libnone.so")
        listed = lines_of_json(self.ok("plugin", "list", "--path", folder, "--json"))
        self.assertEqual([(s["name"], s["origin"], os.path.dirname(s["file"])) for s in listed],
                         [("hash", "file", folder), ("none", "file", folder)])

    def test_a_configuration_says_where_to_look(self):
        folder = self.plugins("libhash.so")
        os.mkdir(self.file("more"))
        shutil.copy(os.path.join(PLUGINS, "libnone.so"), self.file("more/other-name.so"))
        config = self.file("shunt.toml", '[producer]\nname_servers = ["a:1"]\n[plugins]\npath = ["plugins"]\n'
                           '[plugins.load.none]\nfile = "more/other-name.so"\n')
        listed = lines_of_json(self.ok("plugin", "list", "-c", config, "--json"))
        self.assertEqual({(s["name"], s["file"]) for s in listed}, {("hash", os.path.join(folder, "libhash.so")), ("none", self.file("more/other-name.so"))})

    def test_a_file_that_is_no_plugin_is_told_and_passed_over(self):
        folder = self.plugins("libhash.so")
        self.file("plugins/libbroken.so", "not a shared object")
        ended = shunt("plugin", "list", "--path", folder, "--json")
        self.assertEqual([s["name"] for s in lines_of_json(ended.stdout)], ["hash"])
        self.assertIn("libbroken.so", ended.stderr)

    def test_describe_tells_all_of_a_strategy(self):
        told = json.loads(self.ok("plugin", "describe", "latency-fault", "--json"))

        self.assertShape(told, DESCRIBED)
        parameters = {p["name"]: p for p in told["parameters"]}
        self.assertEqual((parameters["profile"]["type"], parameters["profile"]["choices"]), ("text", ["5.x", "classic"]))
        self.assertEqual((parameters["probe"]["type"], parameters["probe"]["default"]), ("duration", '"0ms"'))
        self.assertEqual(parameters["probe"]["range"], {"min": "0ms", "max": "24h"})
        self.assertEqual(parameters["latency_max"]["type"], "array of duration")
        self.assertTrue(all(p["help"] for p in told["parameters"]))

    def test_describe_for_people(self):
        said = self.ok("plugin", "describe", "hash")
        self.assertRegex(said, r"^hash \(selector, version \S+, abi 1\.\d+\): ")
        self.assertIn('function: text, one of java | murmur2 | fnv1a | xxh3; "java" unless said', said)
        self.assertIn("wants-java-hash", said)

    def test_describe_takes_a_file(self):
        path = os.path.join(PLUGINS, "libmachine_room.so")
        told = json.loads(self.ok("plugin", "describe", path, "--json"))
        self.assertEqual((told["name"], told["kind"], told["origin"]), ("machine-room", "selector", "file"))
        self.assertIn("filter", told["flags"])

    def test_an_unknown_name_is_told_with_those_there_are(self):
        self.refused("plugin", "describe", "haash", status=1, saying=["there is no strategy 'haash'", "did you mean 'hash'?", "best-queue, "])

    def test_a_file_that_cannot_be_loaded_is_told(self):
        self.refused("plugin", "describe", self.file("none.so"), status=1, saying="none.so")
        self.refused("plugin", "describe", self.file("text.so", "text"), status=1, saying=["text.so", "ELF"])

    def test_every_bundled_strategy_can_be_described(self):
        for s in lines_of_json(self.ok("plugin", "list", "--json")):
            with self.subTest(name=s["name"]):
                self.assertShape(json.loads(self.ok("plugin", "describe", s["name"], "--json")), DESCRIBED)


if __name__ == "__main__":
    main()
