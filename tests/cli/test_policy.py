"""shunt policy: a running producer is looked at, and its policies are changed and taken back."""

import json
import os
import re
import signal
import socket
import subprocess

from support import SHUNT, SOURCE, Case, main, shunt, wait_for_lines

SWAP = '[swap]\nprobation = "0ms"\npreflight = "off"\n'


class Policy(Case):
    def serve(self, more="", policy="", *arguments):
        """A producer at work that can be asked."""
        self.path = self.file("receipts")
        self.running_toml = self.config(rest=self.rest(policy) + more)
        self.sending = self.running("send", "-c", self.running_toml, "-t", self.topic, "--json", "--receipts", self.path, "--body", "{i}",
                                    "--order-key", "k{i}", "--count", 100_000_000, "--rate", "500/s", "--mode", "async", *arguments)
        self.more()

    def rest(self, policy="", swap=SWAP):
        return '[admin]\nlisten = "unix:s"\n' + swap + (f"[policies.default]\n{policy}\n" if policy else "")

    def new(self, policy, swap=SWAP):
        text = open(self.running_toml, encoding="utf-8").read().split("[admin]")[0]
        return self.file("new.toml", text + self.rest(policy, swap))

    def more(self, n=50):
        """So many more messages are sent."""
        have = sum(1 for _ in open(self.path, encoding="utf-8")) if os.path.exists(self.path) else 0
        wait_for_lines(self.path, have + n)

    def why(self):
        """Why the latest message went where it went."""
        self.more()
        with open(self.path, encoding="utf-8") as file:
            return json.loads(file.read().rstrip("\n").split("\n")[-2])["attempts"][0]["why"]

    def policy(self, *arguments, **more):
        return self.ok("policy", arguments[0], "-c", self.running_toml, *arguments[1:], **more)

    def policies(self):
        return json.loads(self.policy("list", "--json"))

    def test_changes_the_live_policy_and_takes_it_back(self):
        self.serve()
        self.assertEqual(self.why(), "rotation")
        new = self.new('selector = { use = "hash" }')
        self.assertEqual(self.policy("diff", new), 'policies.default.selector.use: "best-queue" -> "hash"\n')
        self.assertEqual(self.policy("stage", new), "1\n")
        self.assertEqual(self.why(), "key")
        said = self.policy("list")
        self.assertRegex(said, r"(?m)^default +hash +- +latency-fault +")
        self.assertRegex(said, r"(?m)^ +1 +in_force +2 ")
        self.assertRegex(said, r"(?m)^ +0 +replaced +1 ")
        swap = self.policies()["swaps"][1]
        self.assertEqual((swap["what"], swap["state"]), (new, "in_force"))
        self.assertTrue(swap["who"])
        self.assertEqual(self.policy("rollback", "--reason", "not that"), "swap 1: rolled_back\n")
        self.assertEqual(self.policies()["swaps"][1]["reason"], "not that")
        self.refused("policy", "rollback", "-c", self.running_toml, status=1, saying="swap 1 was taken back already")
        self.assertEqual(self.why(), "rotation")
        self.assertEqual(self.policy("promote", 1), "swap 1: in_force\n")
        self.assertEqual(self.why(), "key")
        # Without a file: its own again.
        self.assertEqual(self.policy("stage"), "2\n")
        self.assertEqual(self.why(), "rotation")

    def test_leads_a_candidate_up_the_ladder(self):
        self.serve()
        new = self.new('selector = { use = "random" }')
        self.assertEqual(self.policy("stage", new, "--hold"), "1\n")
        self.assertEqual(self.policy("shadow", "--share", "100%"), "swap 1: shadow\n")
        self.more()
        watched = self.policy("watch", "--count", 2, "--interval", "200ms").splitlines()
        self.assertEqual(len(watched), 2)
        for line in watched:
            self.assertRegex(line, r"^\d\d:\d\d:\d\d generation 1, \d+/s \| broker-a [\d.]+ %.* \| broker-b .* \| broker-c .* \| swap 1 shadow$")
        self.assertGreater(self.policies()["swaps"][1]["shadow"]["differ"], 0)
        self.assertEqual(json.loads(self.policy("canary", 1, "--share", "0.5", "--json"))["state"], "canary")
        self.more(200)
        look = json.loads(self.policy("watch", "--count", 1, "--interval", "200ms", "--json"))
        self.assertShape(look, {"at_ms": int, "generation": int, "rate": float, "swap": {"id": int, "state": str, "verdict": str},
                                "brokers": [{"broker": str, "attempts": int, "failed": int, "share": float, "p99_us": int, "available": bool}]})
        self.assertEqual(look["swap"]["state"], "canary")
        self.assertAlmostEqual(sum(b["share"] for b in look["brokers"]), 1, delta=0.01)
        self.assertIn("undecided", look["swap"]["verdict"])
        self.assertEqual(self.policy("promote"), "swap 1: in_force\n")
        self.assertEqual(self.why(), "random")
        self.assertIn("nothing of it is under way", self.policy("barrier"))

    def test_what_is_wrong_is_refused_and_changes_nothing(self):
        self.serve()
        at = ["-c", self.running_toml]
        broken = self.new('selector = { use = "hush" }')
        self.refused("policy", "stage", *at, broken, status=1, saying=["swap 1: refused: ", "'hush'", "did you mean 'hash'?"])
        self.refused("policy", "stage", *at, self.file("missing.toml"), status=1, saying="cannot be read: No such file")
        self.refused("policy", "promote", *at, status=1, saying="there is no candidate")
        self.refused("policy", "promote", *at, 17, status=1, saying="there is no swap 17")
        self.refused("policy", "rollback", *at, status=1, saying="there is nothing to go back to")
        self.refused("policy", "canary", *at, "--share", "2", status=2, saying="--share is '2'; it must be a share")
        self.refused("policy", "canary", *at, status=2, saying="--share is required")
        text = open(self.running_toml, encoding="utf-8").read()
        other = self.file("other.toml", text.replace("[producer]", '[producer]\ngroup = "other"'))
        ended = shunt("policy", "diff", *at, other)
        self.assertEqual(ended.returncode, 1)
        self.assertEqual(ended.stdout, 'producer.group: "shunt" -> "other"  (needs a restart)\n')
        self.assertEqual(self.policies()["generation"], 1)
        self.assertEqual(self.why(), "rotation")

    def test_what_the_command_line_says_stands_whatever_is_staged(self):
        record = self.file("run.toml")
        watched = 'send_timeout = "60s"\nwatch = true'
        self.path = self.file("receipts")
        self.running_toml = self.config(producer=watched, rest=self.rest())
        self.sending = self.running("send", "-c", self.running_toml, "-t", self.topic, "--receipts", self.path, "--body", "{i}", "--order-key", "k{i}",
                                    "--count", 100_000_000, "--rate", "500/s", "--record", record, "--trace", "--compress", "zstd")
        self.more()
        new = self.new('selector = { use = "hash" }')
        self.assertEqual(self.policy("diff", new), 'policies.default.selector.use: "best-queue" -> "hash"\n')
        self.assertEqual(self.policy("stage", new), "1\n")
        self.assertEqual(self.policy("stage"), "2\n")
        self.sending.interrupt(signal.SIGHUP)
        self.assertIn("SIGHUP: swap 3: in_force", self.sending.err.until("SIGHUP"))
        self.config(producer=watched, rest=self.rest('selector = { use = "random" }'))
        self.wait_for(lambda: self.policies()["generation"] == 5)
        self.assertEqual(self.why(), "random")
        self.config(producer=watched, rest=self.rest('selector = { use = "random" }\n# only a remark'))
        self.config(producer=watched, rest=self.rest('selector = { use = "round-robin" }'))
        self.wait_for(lambda: self.policies()["generation"] == 6)
        self.assertEqual([s["state"] for s in self.policies()["swaps"][-2:]], ["replaced", "in_force"])
        self.assertEqual(self.policies()["swaps"][-1]["changes"], [{"key": "policies.default.selector.use", "from": '"random"', "to": '"round-robin"', "live": True}])
        self.assertEqual(len(self.policies()["swaps"]), 6, "nothing was refused")
        self.sending.interrupt(signal.SIGINT)
        self.sending.wait()
        self.assertIn('use = "round-robin"', open(record, encoding="utf-8").read())

    def test_a_file_saved_wrong_again_and_again_is_told_of_and_no_more(self):
        watched = 'send_timeout = "60s"\nwatch = true'
        self.path = self.file("receipts")
        self.running_toml = self.config(producer=watched, rest=self.rest())
        self.sending = self.running("send", "-c", self.running_toml, "-t", self.topic, "--receipts", self.path, "--body", "{i}", "--count", 100_000_000,
                                    "--rate", "500/s", "--mode", "async")
        self.more()
        process = f"/proc/{self.sending.process.pid}/"

        def held():
            """What must not grow: files, threads, mapped files."""
            return (len(os.listdir(process + "fd")), len(os.listdir(process + "task")), open(process + "maps", encoding="utf-8").read().count(".so"))

        def save(text):
            self.file("shunt.toml", text)

        good = open(self.running_toml, encoding="utf-8").read()
        before = held()
        for i in range(50):
            save(good.replace("[swap]", f'[swap]\nquiet = "{i} parsecs"'))
            self.wait_for(lambda i=i: f"'{i} parsecs'" in self.policies()["swaps"][-1]["reason"])
            if i % 10 == 0:
                for _ in range(5):
                    save(good.replace("[swap]", f'[swap]\nquiet = "{i} parsecs"'))  # the same again is no news
        ended = shunt("policy", "list", "-c", self.running_toml)
        self.assertEqual((ended.returncode, ended.stderr), (0, f"shunt policy list: {self.running_toml} has 1 problem, see `shunt config check`; its [admin] is well\n"))
        self.refused("policy", "list", "-c", self.file("spoiled.toml", good.replace('"unix:s"', "3").replace("[swap]", "[swap]\nquiet = 3")), status=2,
                     saying=["admin.listen is 3", "swap.quiet is 3"])
        self.assertEqual(len(self.policies()["swaps"]), 51)
        self.assertEqual(self.policies()["generation"], 1)
        self.wait_for(lambda: held() <= before)
        save(good + '[policies.default]\nselector = { use = "random" }\n')
        self.wait_for(lambda: self.policies()["generation"] == 2)
        self.assertEqual(self.why(), "random")

    def test_says_where_nobody_answers(self):
        self.refused("policy", "list", "-c", self.config(rest=""), status=2, saying="admin.listen is not set")
        self.refused("policy", "list", "-c", self.config(rest=self.rest()), status=1, saying="no producer answers at unix:")
        self.refused("policy", "list", "-c", self.file("nowhere.toml"), status=2, saying="nowhere.toml")

    def test_two_producers_do_not_share_a_socket(self):
        self.serve()
        send = ["send", "-c", self.running_toml, "-t", self.topic, "--body", "x"]
        self.refused(*send, status=2, saying="a running process answers there")
        self.ok(*send, "--no-admin")
        self.assertEqual(self.policies()["generation"], 1)
        self.sending.interrupt(signal.SIGKILL)
        self.sending.wait()
        self.ok(*send)  # the socket that it left is taken over

    def test_a_port_with_a_token(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        admin = f'[admin]\nlisten = "127.0.0.1:{port}"\ntoken = "not a secret at all"\n'
        config = self.config(rest=admin)
        ended = shunt("config", "check", config)
        self.assertNotEqual(ended.returncode, 0)
        self.assertNotIn("not a secret at all", ended.stdout + ended.stderr)
        self.assertIn("admin.token is a text of 19 bytes; it must be 16 to 256 printable ASCII characters", ended.stdout + ended.stderr)
        config = self.config(rest=admin.replace("not a secret at all", "") + SWAP)
        ended = shunt("config", "check", config)
        self.assertIn("admin.token is empty; it must be set where policies may be changed by a port", ended.stdout + ended.stderr)
        self.running_toml = self.config(rest=admin.replace(" ", "-").replace("-=-", " = ") + SWAP)
        self.path = self.file("receipts")
        self.running("send", "-c", self.running_toml, "-t", self.topic, "--receipts", self.path, "--body", "x", "--count", 100_000_000, "--rate", "500/s")
        self.more()
        self.assertEqual(self.policies()["generation"], 1)
        self.assertNotIn("not-a-secret-at-all", self.ok("config", "show", self.running_toml))
        with_token = open(self.running_toml, encoding="utf-8").read()
        other = self.file("other.toml", with_token.replace("not-a-secret-at-all", "something-else-here"))
        self.refused("policy", "list", "-c", other, status=1, saying="the token is wrong")
        for wrong in "0.0.0.0:9180", "10.0.0.7:9180", "example.com:80", "[::]:9180", "localhost:9180", "unix:", "/run/s", "unix:" + 108 * "x":
            ended = shunt("config", "check", self.file("wrong.toml", with_token.replace(f"127.0.0.1:{port}", wrong)))
            self.assertIn("admin.listen is", ended.stdout + ended.stderr, wrong)

    def test_is_drawn_anew_on_a_terminal(self):
        self.serve()
        new = self.new('selector = { use = "random" }')
        self.policy("stage", new, "--canary", "50%")
        self.more(200)
        ours, theirs = os.openpty()
        watching = subprocess.Popen([SHUNT, "policy", "watch", "-c", self.running_toml, "--interval", "200ms", "--count", "2"],
                                    stdout=theirs, stdin=subprocess.DEVNULL)
        os.close(theirs)
        said = b""
        try:
            while chunk := os.read(ours, 65536):
                said += chunk
        except OSError:  # the terminal's other side is closed
            pass
        self.assertEqual(watching.wait(60), 0)
        os.close(ours)
        text = said.decode().replace("\r\n", "\n")
        self.assertEqual(text.count("\x1b[H\x1b[2J"), 2)
        self.assertRegex(text, r"(?m)^broker-a +\d+ +[\d.]+ % +0 +[\d.]+ (us|ms) +available$")
        self.assertRegex(text, r"(?m)^swap 1: canary  by ")
        self.assertRegex(text, r"(?m)^candidate +\d+ +0 +0 +.*broker-a [\d.]+ %")

    def test_every_metric_of_the_alerts_and_the_pages_is_there(self):
        self.serve()
        scraped = subprocess.run(["curl", "-sf", "--unix-socket", self.file("s"), "http://localhost/metrics"], text=True, capture_output=True,
                                 timeout=60, check=True).stdout
        types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", scraped, re.M))
        helps = dict(re.findall(r"^# HELP (\S+) (.+)$", scraped, re.M))
        self.assertEqual(set(types), set(helps))
        names = set(re.findall(r"^([a-z_]+)(?:\{.*\})? \S+$", scraped, re.M))
        for name, kind in types.items():  # Prometheus' conventions
            self.assertRegex(name, r"^shunt_[a-z_]+$")
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            if kind == "histogram":
                self.assertTrue(name.endswith("_seconds"), name)
        alerts = open(os.path.join(SOURCE, "config", "alerts.yml"), encoding="utf-8").read()
        used = set(re.findall(r"\bshunt_[a-z_]+", re.sub(r"#.*", "", alerts)))
        self.assertGreater(len(used), 10)
        self.assertEqual(used - names, set())
        for expression in re.findall(r"expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)", alerts):
            text = "".join(expression)
            self.assertEqual(text.count("("), text.count(")"), text)
        page = open(os.path.join(SOURCE, "core", "README.md"), encoding="utf-8").read()
        section = page.split("### Metrics and alerts\n")[1].split("\n## ")[0]
        told = set(re.findall(r"`(shunt_[a-z_]+)", section)) | {"shunt_in_flight_messages_limit", "shunt_in_flight_bytes_limit"}
        self.assertEqual(told, set(types))
        self.assertEqual(set(re.findall(r"`(Shunt[A-Za-z]+)`", section)), set(re.findall(r"alert: (\w+)", alerts)))


if __name__ == "__main__":
    main()
