"""shunt plugin check: its options, what it prints, how it exits."""

import json
import os
import re
import shutil

from support import BUILD, Case, PLUGINS, lines_of_json, main, shunt

GALLERY = os.path.join(BUILD, "tests", "gallery")
CHECKED = {"file": str, "strategies": [{"name": str, "kind": str}],
           "checks": [{"name": str, "strategy": str, "result": str, "reason": str, "detail": str, "seconds": float}],
           "passed": int, "warned": int, "failed": int, "skipped": int, "crashed": int, "seed": int}
LISTED = {"name": str, "of": str, "preflight": bool, "reason": str, "explanation": str}


def gallery(name):
    return os.path.join(GALLERY, name + ".so")


class PluginCheck(Case):
    cluster_arguments = None

    def checked(self, *arguments, status=0):
        """plugin check --json, ended with this status."""
        ended = shunt("plugin", "check", "--json", *arguments)
        self.assertEqual(ended.returncode, status, ended.stderr + ended.stdout)
        told = json.loads(ended.stdout)
        self.assertShape(told, CHECKED)
        counts = {kind: sum(c["result"] == kind for c in told["checks"]) for kind in ("passed", "warned", "failed", "skipped", "crashed")}
        self.assertEqual(counts, {kind: told[kind] for kind in counts})
        return told

    def test_a_bundled_plugin_passes(self):
        told = self.checked(os.path.join(PLUGINS, "libbest_queue.so"))
        self.assertEqual((told["failed"], told["crashed"]), (0, 0))
        self.assertGreater(told["passed"], 50)
        self.assertEqual(told["strategies"], [{"name": "best-queue", "kind": "selector"}])

    def test_what_is_wrong_is_named_with_its_rule(self):
        ended = shunt("plugin", "check", "--only", "elf-file,select-range", gallery("out_of_range"))
        self.assertEqual(ended.returncode, 1)
        self.assertIn("failed   out-of-range: select-range\n", ended.stdout)
        self.assertIn("found: picked queue index 4000000000 of 1 queues", ended.stdout)
        self.assertIn("rule:  it picks queues that are there", ended.stdout)
        self.assertRegex(ended.stdout, r"(?m)^/.*out_of_range\.so: 1 passed, 0 warned, 1 failed, 0 crashed, 0 skipped; ")

    def test_passed_and_skipped_ones_are_told_on_demand(self):
        said = self.ok("plugin", "check", "--all", "--only", "elf-file,fault-fresh", gallery("bad_nothing"))
        self.assertIn("passed   elf-file\n", said)
        self.assertIn("skipped  fault-fresh: no fault strategy in the file\n", said)

    def test_a_plugin_that_kills_its_process_is_told_and_the_run_goes_on(self):
        told = self.checked("--only", "create-plain,select-range,silent", gallery("aborts_in_select"), status=1)
        results = {c["name"]: c["result"] for c in told["checks"]}
        self.assertEqual(results, {"create-plain": "passed", "select-range": "crashed", "silent": "crashed"})
        self.assertIn("killed by signal 6 (Aborted), in select", told["checks"][1]["detail"])

    def test_one_that_hangs_is_ended(self):
        told = self.checked("--only", "select-range", "--timeout", "1s", gallery("hangs_in_select"), status=1)
        self.assertIn("did not come back within 1000 ms, in select", told["checks"][0]["detail"])

    def test_only_one_kind_is_looked_at(self):
        told = self.checked("--kind", "fault", gallery("bad_nothing"))
        self.assertEqual({c["result"] for c in told["checks"] if c["name"].startswith("fault-")}, {"skipped"})
        self.assertFalse([c for c in told["checks"] if c["name"].startswith("select-")])

    def test_the_same_seed_finds_the_same(self):
        def details(seed):
            told = self.checked("--only", "select-route-changes", "--seed", seed, gallery("bad_select_route_changes"), status=1)
            return told["seed"], told["checks"][0]["detail"]

        self.assertEqual(details(7), details(7))
        self.assertEqual(details(8)[0], 8)

    def test_settings_can_be_given(self):
        machine_room = os.path.join(PLUGINS, "libmachine_room.so")
        told = self.checked("--only", "create-plain", "--set", 'rooms=["hz", "hz"]', machine_room, status=1)
        self.assertIn("stands twice", told["checks"][0]["detail"])
        self.checked("--only", "create-plain", "--set", 'rooms=["hz", "sh"]', machine_room)
        told = self.checked("--only", "create-plain", "--set", "room=1", machine_room, status=1)
        self.assertIn("--set: room is an unknown setting", told["checks"][0]["detail"])
        self.refused("plugin", "check", "--set", "rooms", machine_room, status=2, saying="it must be NAME=VALUE")

    def test_in_process_runs_without_the_helper(self):
        told = self.checked("--in-process", "--only", "select-range,create-repeat,silent", os.path.join(PLUGINS, "libhash.so"))
        self.assertEqual([c["result"] for c in told["checks"]], ["skipped", "passed", "skipped"])

    def test_a_page_is_written(self):
        page = self.file("report.html")
        shunt("plugin", "check", "--report", page, "--only", "elf-file,select-range", gallery("out_of_range"))
        with open(page, encoding="utf-8") as file:
            text = file.read()
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL).group(1))
        self.assertShape(data, CHECKED)
        self.assertEqual([c["result"] for c in data["checks"]], ["passed", "failed"])
        self.assertNotRegex(text, r'(?:src|href)="(?!data:)')
        self.refused("plugin", "check", "--report", self.file("none/report.html"), gallery("good"), status=2, saying="it must be a file that can be written")

    def test_all_checks_are_listed_and_explained(self):
        listed = lines_of_json(self.ok("plugin", "check", "--list", "--json"))
        self.assertShape(listed, [LISTED])
        self.assertGreaterEqual(len(listed), 45)
        table = self.ok("plugin", "check", "--list")
        for check in listed:
            self.assertIn(check["name"], table)
        said = self.ok("plugin", "check", "--explain", "select-avoids-tried")
        self.assertTrue(said.startswith("select-avoids-tried (of each selector): a retry goes to no broker"), said)
        self.assertShape(json.loads(self.ok("plugin", "check", "--explain", "unload", "--json")), LISTED)

    def test_an_unknown_check_is_told_with_the_one_that_was_meant(self):
        self.refused("plugin", "check", "--explain", "select-rang", status=2, saying="did you mean 'select-range'?")
        self.refused("plugin", "check", "--only", "select-range,nothing", gallery("good"), status=2, saying="there is no check 'nothing'")

    def test_wrong_usage(self):
        self.refused("plugin", "check", status=2, saying="FILE is missing")
        self.refused("plugin", "check", "--kind", "codec", gallery("good"), status=2, saying="it must be 'selector' or 'fault'")
        self.refused("plugin", "check", "--timeout", "soon", gallery("good"), status=2, saying="--timeout is 'soon'")

    def test_files_that_cannot_be_read(self):
        self.refused("plugin", "check", self.file("nothing.so"), status=2, saying="No such file")
        self.refused("plugin", "check", self.folder, status=2, saying="it is a folder")

    def test_files_that_are_no_plugins_fail(self):
        for name, text, words in (("empty.so", "", "the file is empty"), ("text.so", "text", "it is text")):
            told = self.checked(self.file(name, text), status=1)
            self.assertEqual(told["failed"], 1)
            self.assertIn(words, told["checks"][0]["detail"])
            self.assertEqual(told["strategies"], [])

    def test_a_file_others_may_write_fails(self):
        copy = self.file("copy.so")
        shutil.copy(gallery("bad_nothing"), copy)
        os.chmod(copy, 0o666)
        told = self.checked("--only", "permissions", copy, status=1)
        self.assertIn("can be written by everyone", told["checks"][0]["detail"])


if __name__ == "__main__":
    main()
