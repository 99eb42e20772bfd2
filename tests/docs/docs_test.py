"""The documentation, held to its word: links lead somewhere, TOML is accepted, commands do what they say, and changing one
line of shunt.toml changes the placement as plugins/README.md tells.

usage: docs_test.py SOURCE BUILD
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SOURCE = pathlib.Path(sys.argv[1])
BUILD = pathlib.Path(sys.argv[2])
SHUNT = BUILD / "bin" / "shunt"
MIGRATION = SOURCE / "config" / "migration"
PAGES = [p for p in SOURCE.rglob("README.md") if "build" not in p.relative_to(SOURCE).parts[:1]] + sorted(MIGRATION.glob("[a-z]*.md"))


def blocks(page, language):
    return re.findall(r"^```" + language + r"\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def shunt(*arguments, **more):
    return subprocess.run([SHUNT, *map(str, arguments)], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60, **more)


class Cluster:
    """`shunt cluster` with three brokers, ready when entered."""

    def __enter__(self):
        self.process = subprocess.Popen([SHUNT, "cluster", "--brokers", "3"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        self.address = line.split()[-1]
        assert line.startswith("name server "), line
        return self

    def __exit__(self, *_):
        self.process.communicate("quit\n", timeout=30)


class Documentation(unittest.TestCase):
    def test_links_lead_to_files(self):
        for page in PAGES:
            text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
            for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
                self.assertTrue((page.parent / target).exists(), f"{page}: {target}")

    def test_toml_of_the_pages_is_accepted(self):
        checked = 0
        for page in [SOURCE / "README.md", SOURCE / "config" / "README.md", SOURCE / "plugins" / "README.md"]:
            for text in blocks(page, "toml"):
                if "[producer]" not in text:
                    text = '[producer]\nname_servers = ["127.0.0.1:9876"]\n' + text
                with tempfile.TemporaryDirectory() as folder:
                    file = pathlib.Path(folder) / "shunt.toml"
                    file.write_text(text, encoding="utf-8")
                    done = shunt("config", "check", file)
                    self.assertEqual(done.returncode, 0, f"{page}:\n{text}\n{done.stdout}{done.stderr}")
                    checked += 1
        self.assertGreater(checked, 0)

    def test_each_rule_of_the_contract_names_its_checks_and_each_check_has_its_rule(self):
        contract = (SOURCE / "sdk" / "README.md").read_text(encoding="utf-8").split("\n## The contract\n")[1].split("\n## ")[0]
        rows = re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", contract, re.M)
        self.assertEqual([int(number) for number, _ in rows], list(range(1, len(rows) + 1)))
        named = []
        for number, cell in rows:
            checks = re.findall(r"`([a-z0-9-]+)`", cell)
            self.assertTrue(checks, f"rule {number} names no check")
            named += checks
        known = [json.loads(line)["name"] for line in shunt("plugin", "check", "--list", "--json").stdout.splitlines()]
        self.assertEqual(sorted(named), sorted(known))

    def test_the_readmes_commands_by_hand_do_what_they_say(self):
        by_hand = next(b for b in blocks(SOURCE / "README.md", "sh") if "shunt cluster" in b)
        with Cluster() as cluster, tempfile.TemporaryDirectory() as folder:
            shutil.copytree(SOURCE / "config", pathlib.Path(folder) / "config")
            minimal = pathlib.Path(folder) / "config" / "minimal.toml"
            text = minimal.read_text(encoding="utf-8")
            self.assertIn("127.0.0.1:9876", text)
            minimal.write_text(text.replace("127.0.0.1:9876", cluster.address), encoding="utf-8")
            # The cluster is there already, on a port of its own.
            commands = "".join(line + "\n" for line in by_hand.splitlines() if not line.startswith("shunt cluster"))
            done = subprocess.run(["sh", "-e", "-c", commands], cwd=folder, text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                                  env=dict(os.environ, PATH=f"{SHUNT.parent}:{os.environ['PATH']}"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("first message", done.stdout)
            self.assertIn("order 99", done.stdout)


class Kinds(unittest.TestCase):
    """The kinds of messages in core/README.md: its pieces are those of the example, and its commands run."""

    def test_the_pieces_are_those_of_the_example(self):
        squeezed = lambda text: re.sub(r"\s+", " ", text).strip()
        example = squeezed((SOURCE / "examples" / "kinds.cpp").read_text(encoding="utf-8"))
        pieces = blocks(SOURCE / "core" / "README.md", "cpp")
        self.assertGreater(len(pieces), 4)
        for piece in pieces:
            for part in re.split(r"\n(?=const shunt::reply_receipt)", piece):
                self.assertIn(squeezed(part), example)

    def test_the_commands_do_what_they_say(self):
        commands = next(b for b in blocks(SOURCE / "core" / "README.md", "sh") if "shunt send" in b)
        with Cluster() as cluster, tempfile.TemporaryDirectory() as folder:
            shutil.copytree(SOURCE / "config", pathlib.Path(folder) / "config")
            minimal = pathlib.Path(folder) / "config" / "minimal.toml"
            minimal.write_text(minimal.read_text(encoding="utf-8").replace("127.0.0.1:9876", cluster.address), encoding="utf-8")
            done = subprocess.run(["sh", "-e", "-c", commands], cwd=folder, text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                                  env=dict(os.environ, PATH=f"{SHUNT.parent}:{os.environ['PATH']}"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("item 7", done.stdout)


class Features(unittest.TestCase):
    """The table of features in core/README.md: each names tests that are there, of both kinds."""

    def test_each_has_its_tests(self):
        tests = SOURCE / "tests"
        cases = set(re.findall(r'^ *\{"([a-z_0-9]+)", also::', "".join((tests / "interop" / "cases" / f).read_text(encoding="utf-8")
                                                                    for f in ("cases.cpp", "kinds.cpp")), re.M))
        self.assertGreater(len(cases), 30)
        table = (SOURCE / "core" / "README.md").read_text(encoding="utf-8").split("| feature | without brokers, embedded cluster | real brokers |\n|---|---|---|\n")[1]
        rows = table.split("\n\n")[0].splitlines()
        self.assertGreater(len(rows), 15)
        for row in rows:
            _, here, real = row.strip("|").split(" | ")
            for cell, real_brokers in ((here, False), (real, True)):
                names = re.findall(r"`([^`]+)`", cell)
                self.assertTrue(names, row)
                for name in names:
                    if name in cases:
                        self.assertTrue(real_brokers, row)
                        continue
                    self.assertEqual(name.startswith("interop/"), real_brokers, f"{name}: {row}")
                    self.assertTrue((tests / (name if name.endswith(".py") else name + ".cpp")).exists(), f"{name}: {row}")


class Migration(unittest.TestCase):
    """config/migration: each call of ours that is named there is in a header. (Settings: unit/config/other_clients_test.cpp.)"""

    def test_every_call_named_is_one_of_ours(self):
        headers = "\n".join(re.sub(r"//.*", "", p.read_text(encoding="utf-8"))
                            for p in sorted((SOURCE / "core" / "include" / "shunt").glob("*.hpp")))
        known = set(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", headers))
        rows = 0
        for page in sorted(MIGRATION.glob("[a-z]*.md")):
            for table in re.findall(r"^\| theirs \| here \| \|\n\|---\|---\|---\|\n((?:\|.*\n)+)", page.read_text(encoding="utf-8"), re.M):
                for row in table.splitlines():
                    rows += 1
                    cells = [cell.strip() for cell in row.strip("|").split(" | ")]
                    self.assertEqual(len(cells), 3, row)
                    for code in re.findall(r"`([^`]+)`", cells[1]):
                        for name in re.findall(r"[A-Za-z_][A-Za-z_0-9]*", re.sub(r'"[^"]*"', "", code)):
                            if len(name) > 1 and name not in ("topics", "list"):
                                self.assertIn(name, known, f"{page.name}: {row}")
        self.assertGreater(rows, 60)

    def test_the_hint_is_the_one_that_is_shown(self):
        shown = next(b for b in blocks(MIGRATION / "README.md", "console"))
        command, _, words = shown.partition("\n")
        self.assertEqual(command, "$ shunt config check shunt.toml")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "shunt.toml"
            file.write_text('[producer]\ngroup = "orders"\nname_servers = ["127.0.0.1:9876"]\nsendMsgTimeout = 3000\n', encoding="utf-8")
            done = shunt("config", "check", "shunt.toml", cwd=folder)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words.strip(), done.stdout + done.stderr)


class Operating(unittest.TestCase):
    """The operator's page in config/README.md: every command of it, in its order, against a producer at work."""

    def run_in(self, folder, commands):
        done = subprocess.run(["sh", "-e", "-c", commands], cwd=folder, text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                              env=dict(os.environ, PATH=f"{SHUNT.parent}:{os.environ['PATH']}"))
        self.assertEqual(done.returncode, 0, commands + done.stdout + done.stderr)
        return done.stdout

    def test_its_commands_do_what_they_say(self):
        page = SOURCE / "config" / "README.md"
        by_program, asking, verbs = (b for b in blocks(page, "sh"))
        admin = next(b for b in blocks(page, "toml") if "[admin]" in b)
        with Cluster() as cluster, tempfile.TemporaryDirectory() as folder:
            producer = f'[producer]\nname_servers = ["{cluster.address}"]\n'
            (pathlib.Path(folder) / "running.toml").write_text(producer + admin, encoding="utf-8")
            (pathlib.Path(folder) / "new.toml").write_text(producer + admin + '[policies.default]\nselector = { use = "random" }\n', encoding="utf-8")
            receipts = pathlib.Path(folder) / "receipts"
            sending = subprocess.Popen([SHUNT, "send", "-c", "running.toml", "-t", "T", "--body", "x", "--count", "100000000", "--rate", "200/s",
                                        "--receipts", receipts], cwd=folder, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            try:
                deadline = time.monotonic() + 60
                while not (receipts.exists() and receipts.stat().st_size > 0):
                    self.assertLess(time.monotonic(), deadline)
                    threading.Event().wait(0.02)
                said = self.run_in(folder, by_program)
                for expected in ("policies.default.selector.use", "\n1\n", "swap 1: shadow", "swap 1 shadow", "swap 1: canary", "swap 1: probation",
                                 "swap 1: rolled_back"):
                    self.assertIn(expected, said)
                self.assertEqual(len(asking.splitlines()), 11)
                for line in asking.splitlines():
                    said = self.run_in(folder, line)
                    if "/metrics" in line:
                        self.assertIn("\nshunt_sends_total{", said)
                    else:
                        self.assertNotIn("error", json.loads(said), line)
                states = [json.loads(self.run_in(folder, line)).get("state") for line in verbs.splitlines()]
                self.assertEqual(states, [None, "created", "shadow", "canary", "probation", "rolled_back", None])
            finally:
                sending.send_signal(signal.SIGINT)
                sending.wait(60)


class Security(unittest.TestCase):
    """Credentials and TLS as core/README.md shows them: the commands run, with the file beside them."""

    def test_the_commands_do_what_they_say(self):
        page = SOURCE / "core" / "README.md"
        commands = next(b for b in blocks(page, "sh") if "--tls-key" in b)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        with tempfile.TemporaryDirectory() as folder:
            text = next(b for b in blocks(page, "toml") if "[tls]" in b)
            (pathlib.Path(folder) / "secured.toml").write_text(text.replace("9876", port), encoding="utf-8")
            told, cluster = "", None
            try:
                for line in commands.replace("9876", port).splitlines():
                    more = dict(cwd=folder, text=True, env=dict(os.environ, PATH=f"{SHUNT.parent}:{os.environ['PATH']}"))
                    if line.startswith("shunt cluster"):
                        cluster = subprocess.Popen(["sh", "-c", "exec " + line.rstrip(" &")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
                        self.assertIn("name server", cluster.stdout.readline())
                        continue
                    done = subprocess.run(["sh", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, **more)
                    self.assertEqual(done.returncode, 0, line + "\n" + done.stdout + done.stderr)
                    told += done.stdout + done.stderr
            finally:
                if cluster is not None:
                    cluster.communicate("quit\n", timeout=30)
            self.assertIn("signed and sealed", told)
            self.assertNotIn("not-shown", told)


class Strategies(unittest.TestCase):
    """One line of config/shunt.toml is changed, nothing is rebuilt, and messages go where plugins/README.md says."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__()

    def placement(self, selector, *arguments, count=240, brokers=""):
        """Receipts of `count` messages sent with this selector in the place of best-queue."""
        with tempfile.TemporaryDirectory() as folder:
            text = (SOURCE / "config" / "shunt.toml").read_text(encoding="utf-8")
            text = text.replace("embedded = true", f'name_servers = ["{self.cluster.address}"]')
            text = re.sub(r"^embedded_.*$", "", text, flags=re.M)
            line = 'selector = { use = "best-queue" }'
            self.assertEqual(text.count(line), 1)
            file = pathlib.Path(folder) / "shunt.toml"
            file.write_text(text.replace(line, f"selector = {selector}") + brokers, encoding="utf-8")
            receipts = pathlib.Path(folder) / "receipts"
            topic = "T-" + re.sub(r"[^a-z]", "", selector)[:40] + str(len(os.listdir(folder)))
            done = shunt("send", "-c", file, "-t", topic, "--body", "m", "--count", count, "--receipts", receipts, "--json", *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            return [json.loads(r) for r in receipts.read_text(encoding="utf-8").splitlines()]

    @staticmethod
    def counts(receipts, *fields):
        out = {}
        for r in receipts:
            key = tuple(r[f] for f in fields)
            out[key] = out.get(key, 0) + 1
        return out

    def test_rotations_give_each_queue_the_same(self):
        for name in ("best-queue", "round-robin", "weighted-round-robin"):
            with self.subTest(name):
                per_queue = self.counts(self.placement(f'{{ use = "{name}" }}'), "broker", "queue")
                self.assertEqual(set(per_queue.values()), {20}, per_queue)
                self.assertEqual(len(per_queue), 12)

    def test_random_ones_reach_every_broker(self):
        # power-of-two prefers the faster ones: a broker that answered its first message late gets little for a moment.
        for name, least in (("random", 40), ("weighted-random", 40), ("least-inflight", 40), ("power-of-two", 0)):
            with self.subTest(name):
                per_broker = self.counts(self.placement(f'{{ use = "{name}" }}'), "broker")
                self.assertEqual(len(per_broker), 3)
                self.assertGreater(min(per_broker.values()), least, per_broker)

    def test_keyed_ones_keep_a_key_where_it_is(self):
        for name in ("hash", "consistent-hash"):
            with self.subTest(name):
                one = self.counts(self.placement(f'{{ use = "{name}" }}', "--order-key", "the-key"), "broker", "queue")
                self.assertEqual(len(one), 1, one)
                many = self.counts(self.placement(f'{{ use = "{name}" }}', "--order-key", "order-{i}"), "broker", "queue")
                self.assertGreater(len(many), 8, many)

    def test_hash_agrees_with_javas_string_hash(self):
        receipts = self.placement('{ use = "hash" }', "--order-key", "order-1", count=1)
        # String.hashCode("order-1") is -1207111310; abs(that % 12) is 2: the third queue of twelve.
        self.assertEqual((receipts[0]["broker"], receipts[0]["queue"]), ("broker-a", 2))

    def test_machine_room_stays_in_its_room(self):
        rooms = '[[brokers]]\nname = "broker-b"\nroom = "north"\n'
        per_broker = self.counts(self.placement('{ use = "machine-room", rooms = ["north"] }', brokers=rooms), "broker")
        self.assertEqual(per_broker, {("broker-b",): 240})

    def test_weights_make_shares(self):
        weights = '[[brokers]]\nname = "broker-a"\nweight = 4\n'
        per_broker = self.counts(self.placement('{ use = "weighted-round-robin" }', brokers=weights), "broker")
        self.assertEqual(per_broker, {("broker-a",): 160, ("broker-b",): 40, ("broker-c",): 40})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
