"""shunt plugin check: its options, what it prints, how it exits."""

import html
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

from support import BUILD, Case, DEADLINE, PLUGINS, SHUNT, lines_of_json, main, shunt

GALLERY = os.path.join(BUILD, "tests", "gallery")
CHECKED = {"file": str, "strategies": [{"name": str, "kind": str}],
           "checks": [{"name": str, "strategy": str, "result": str, "reason": str, "detail": str, "seconds": float}],
           "passed": int, "warned": int, "failed": int, "skipped": int, "crashed": int, "seed": int, "interrupted": bool}
LISTED = {"name": str, "of": str, "preflight": bool, "only_warned": bool, "reason": str, "explanation": str}


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

    def test_skipped_ones_of_one_reason_are_told_together(self):
        ended = shunt("plugin", "check", "--all", self.file("text.so", "text"))
        told = [line for line in ended.stdout.splitlines() if line.startswith("skipped")]
        self.assertRegex(ended.stdout, r"(?m)^skipped  \d\d checks: .*\n         loads ")
        self.assertLess(len(told), 12, ended.stdout)
        self.assertLess(max(map(len, ended.stdout.splitlines()[:-1])), 200)

    def test_only_one_kind_is_looked_at(self):
        told = self.checked("--kind", "fault", gallery("bad_nothing"))
        self.assertEqual({c["result"] for c in told["checks"] if c["name"].startswith("fault-")}, {"skipped"})
        self.assertFalse([c for c in told["checks"] if c["name"].startswith("select-")])

    def test_a_file_with_both_kinds(self):
        file, only = gallery("sdk/libtwo_kinds"), ("--only", "elf-file,create-plain,select-range,fault-fresh")
        both = [("elf-file", ""), ("create-plain", "rotation"), ("select-range", "rotation"), ("create-plain", "optimist"), ("fault-fresh", "optimist")]
        for arguments, right in (((), both), (("--kind", "selector"), both[:3]), (("--kind", "fault"), both[:1] + both[3:])):
            told = self.checked(*only, *arguments, file)
            self.assertEqual([(c["name"], c["strategy"]) for c in told["checks"]], right)
            self.assertEqual({c["result"] for c in told["checks"]}, {"passed"})

    def test_the_same_seed_finds_the_same(self):
        def detail(seed):
            told = self.checked("--only", "select-route-changes", "--seed", seed, gallery("bad_select_route_changes"), status=1)
            self.assertEqual(told["seed"], seed)
            return told["checks"][0]["detail"]

        found = [detail(seed) for seed in range(1, 7)]
        self.assertEqual(found, [detail(seed) for seed in range(1, 7)])
        self.assertGreater(len(set(found)), 1, "another seed makes other checks")

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

    def test_the_page_fits_a_phone(self):
        page = self.file("report.html")
        shunt("plugin", "check", "--report", page, "--only", "elf-file,one-export,select-allocates", gallery("bad_select_allocates"))
        look = """<script>
          const tops = [...document.querySelectorAll("tr")].map(tr => [...tr.children].map(td => Math.round(td.getBoundingClientRect().top)));
          const seen = { tops, scroll: document.documentElement.scrollWidth, width: innerWidth, text: document.body.innerText };
          document.body.replaceChildren();
          document.title = JSON.stringify(seen);
        </script></body>"""
        with open(page, encoding="utf-8") as file:
            text = file.read().replace("</body>", look)
        with open(page, "w", encoding="utf-8") as file:
            file.write(text)

        def seen(width):
            command = ["chromium-headless-shell", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.file('browser')}",
                       f"--window-size={width},900", "--dump-dom", "file://" + page]
            shown = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True).stdout
            found = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", shown, re.DOTALL).group(1)))
            self.assertEqual(found["width"], width)
            self.assertLessEqual(found["scroll"], width)
            self.assertEqual(len(found["tops"]), 3)
            return found

        for result, name, why, took in seen(1000)["tops"]:
            self.assertEqual({result, name, why, took}, {result}, "side by side")
        narrow = seen(390)
        for result, name, why, took in narrow["tops"]:
            self.assertEqual((name, took), (result, result))
            self.assertGreater(why, result, "below")
        self.assertIn("it allocates nothing on a known route\n", narrow["text"])
        self.assertNotIn("(warned)", narrow["text"])

    def copies_in(self):
        """An empty folder for private copies; for the environment, and to look at."""
        folder = self.file("copies")
        os.mkdir(folder, 0o700)
        return folder, {**os.environ, "XDG_RUNTIME_DIR": folder}

    def children_of(self, pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            return file.read().split()

    def test_an_interrupt_ends_it_cleanly(self):
        folder, environment = self.copies_in()
        page = self.file("report.html")
        command = [SHUNT, "plugin", "check", "--only", "elf-file,select-range", "--timeout", "1h", "--report", page, gallery("hangs_in_select")]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as checking:
            self.addCleanup(checking.kill)
            pause, end = threading.Event(), time.monotonic() + DEADLINE
            while not any("select-range" in self.said_of(child) for child in self.children_of(checking.pid)):
                self.assertLess(time.monotonic(), end)
                pause.wait(0.01)
            (child,) = self.children_of(checking.pid)
            checking.send_signal(signal.SIGINT)
            out, err = checking.communicate(timeout=DEADLINE)
        self.assertEqual(checking.returncode, 1)
        self.assertRegex(out, r"1 passed, 0 warned, 0 failed, 0 crashed, 0 skipped; interrupted before the rest\n$")
        self.assertEqual(err, "shunt plugin check: interrupted; the checks that are not told were not run\n")
        self.assertFalse(os.path.exists(f"/proc/{child}"))
        self.assertEqual(os.listdir(folder), [])
        with open(page, encoding="utf-8") as file:
            self.assertIn('"interrupted":true', file.read())

    def said_of(self, pid):
        """The command line of a process."""
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def test_a_reader_that_goes_away_ends_it_quietly(self):
        folder, environment = self.copies_in()
        page = self.file("report.html")
        command = [SHUNT, "plugin", "check", "--all", "--report", page, gallery("bad_nothing")]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as checking:
            self.assertEqual(checking.stdout.readline(), "passed   elf-file\n")
            checking.stdout.close()
            self.assertEqual(checking.stderr.read(), "")
            self.assertEqual(checking.wait(timeout=DEADLINE), -signal.SIGPIPE)
        self.assertEqual(os.listdir(folder), [])
        self.assertFalse(os.path.exists(page), "an empty page")

    def test_no_signal_of_a_plugin_reaches_this_program(self):
        ended = shunt("plugin", "check", "--only", "create-plain,loads", gallery("stops_parent"))
        if ended.returncode == 0:  # of a build for a sanitizer, which starts processes itself: there the signal just fails
            self.assertIn("2 passed", ended.stdout)
        else:
            self.assertEqual(ended.returncode, 1, ended.stderr)
            self.assertIn("killed as it would have started another process, or sent it a signal, in create", ended.stdout)

    def test_a_machine_without_a_place_to_load_from(self):
        environment = {name: value for name, value in os.environ.items() if name not in ("TMPDIR", "XDG_RUNTIME_DIR")}
        closed = 'mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && exec "$0" "$@"'
        namespace = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", closed]
        command = [*namespace, SHUNT, "plugin", "check", gallery("bad_nothing")]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(ended.returncode, 2, ended.stdout)
        self.assertEqual(ended.stdout, "")
        self.assertIn('no folder takes a private copy: tried "/tmp" (Read-only file system); set TMPDIR to a folder', ended.stderr)
        command[-1:] = ["--only", "elf-file,note", gallery("bad_nothing")]  # these load nothing
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_two_at_once(self):
        command = [SHUNT, "plugin", "check", "--json", "--only", "loads,select-range,no-files,unload"]
        both = [subprocess.Popen([*command, gallery(name)], stdout=subprocess.PIPE, text=True) for name in ("bad_nothing", "aborts_in_select")]
        found = [json.loads(checking.communicate(timeout=DEADLINE)[0]) for checking in both]
        self.assertEqual([(f["passed"], f["crashed"]) for f in found], [(4, 0), (1, 3)])

    def test_all_checks_are_listed_and_explained(self):
        listed = lines_of_json(self.ok("plugin", "check", "--list", "--json"))
        self.assertShape(listed, [LISTED])
        self.assertGreaterEqual(len(listed), 45)
        self.assertIn("select-time", [c["name"] for c in listed if c["only_warned"]])
        self.assertIn("only_warned", json.loads(self.ok("plugin", "check", "--explain", "quick", "--json")))
        self.assertIn("100 ms (warned)\n", self.ok("plugin", "check", "--explain", "quick"))
        table = self.ok("plugin", "check", "--list")
        self.assertIn("an instance is made in less than 100 ms (warned)\n", table)
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
