"""shunt send --record: a live run as a scenario, which simulated gives the shares that were seen, and can be judged by another policy."""

import json
import os
import shutil
import stat

from support import Case, Running, main, shunt, wait_for_lines

COUNT = 900
POINTS = 5.0  # a share in simulation may differ by so many


def shares(counts):
    whole = sum(counts.values())
    return {broker: 100.0 * n / whole for broker, n in counts.items()}


class Record(Case):
    def policy(self, selector, fault='{ use = "none" }', more="", brokers=""):
        return self.config(rest=f"[policies.default]\nselector = {selector}\nfault = {fault}\n{more}{brokers}")

    def run_live(self, config, *arguments, fault=None, rate="600/s", count=COUNT, mode="async"):
        """Sends, with `fault` at a broker from a third of the run on; the scenario, and attempts by broker."""
        record, receipts = self.file("run.toml"), self.file("receipts")
        sending = Running("send", "-c", config, "-t", self.topic, "--body", "x", "--count", count, "--rate", rate, "--mode", mode,
                          "--record", record, "--receipts", receipts, "--json", *arguments)
        try:
            if fault:
                wait_for_lines(receipts, count // 3)
                self.cluster.tell(fault)
            sending.wait()
        finally:
            sending.end()
            if fault:
                self.cluster.tell(fault.split()[0] + " ok")
        return record, self.attempts(receipts)

    def attempts(self, receipts):
        """By broker."""
        counts = {}
        for receipt in self.receipts(receipts):
            for a in receipt["attempts"]:
                counts[a["broker"]] = counts.get(a["broker"], 0) + 1
        return counts

    def simulate(self, record, *arguments):
        return json.loads(self.ok("simulate", record, "--json", *arguments))

    def assertSameShares(self, record, attempts):
        summary = self.simulate(record)
        seen, simulated = shares(attempts), shares({b["broker"]: b["attempts"] for b in summary["brokers"]})
        for broker in seen.keys() | simulated.keys():
            self.assertAlmostEqual(seen.get(broker, 0), simulated.get(broker, 0), delta=POINTS,
                                   msg=f"live {seen}, simulated {simulated}; {record}")
        return summary

    def test_the_shares_are_those_of_the_live_run(self):
        isolating = '{ use = "latency-fault", latency_max = ["100ms"], not_available = ["600ms"] }'
        weights = '[[brokers]]\nname = "broker-a"\nweight = 4\n[[brokers]]\nname = "broker-b"\nweight = 2\n'
        cases = {
            "rotation, one slow": (dict(selector='{ use = "round-robin" }'), [], "broker-b latency 300ms"),
            "slow ones isolated": (dict(selector='{ use = "best-queue" }', fault=isolating), [], "broker-b latency 300ms"),
            "the default, one refusing": (dict(selector='{ use = "best-queue" }', fault='{ use = "latency-fault" }'), [], "broker-b refuse"),
            "the default, one hanging": (dict(selector='{ use = "best-queue" }', fault='{ use = "latency-fault" }'), ["--timeout", "600ms"], "broker-b hang"),
            "the default, one dropping": (dict(selector='{ use = "best-queue" }', fault='{ use = "latency-fault" }'), [], "broker-b drop"),
            "a breaker under best-queue": (dict(selector='{ use = "best-queue" }', fault='{ use = "circuit-breaker" }'), [], "broker-b code 2"),
            "weights": (dict(selector='{ use = "weighted-round-robin" }', brokers=weights), [], "broker-b latency 300ms"),
            "few keys": (dict(selector='{ use = "hash" }'), ["--order-key", "k"], "broker-b latency 300ms"),
            "many keys": (dict(selector='{ use = "hash" }'), ["--order-key", "order-{i}"], "broker-b latency 300ms"),
            "four threads": (dict(selector='{ use = "best-queue" }', fault=isolating), ["--threads", "4"], "broker-b latency 300ms"),
        }
        for name, (policy, arguments, fault) in cases.items():
            with self.subTest(name):
                record, attempts = self.run_live(self.policy(**policy), *arguments, fault=fault)
                summary = self.assertSameShares(record, attempts)
                self.assertEqual(summary["sends"], COUNT)

    def test_shares_by_load_are_those_of_the_live_run(self):
        # Brokers that take some milliseconds: with less nothing is in flight, and chance decides, there and here.
        for selector in "least-inflight", "power-of-two":
            with self.subTest(selector):
                for broker in "broker-a", "broker-b", "broker-c":
                    self.cluster.tell(f"{broker} latency 20ms")
                try:
                    record, attempts = self.run_live(self.policy(f'{{ use = "{selector}" }}'), fault="broker-b latency 300ms", rate="1200/s", count=2400)
                finally:
                    for broker in "broker-a", "broker-b", "broker-c":
                        self.cluster.tell(f"{broker} ok")
                self.assertLess(attempts["broker-b"], 2400 * 0.25, "the slow one gets less")
                self.assertSameShares(record, attempts)

    def test_retries_of_one_thread_move_its_rotation_on(self):
        # Where a broker that fails is not avoided. (Those of async sends are decided by the I/O thread, which has a rotation of its own.)
        for fault in "broker-b refuse", "broker-b code 2", "broker-b drop":
            with self.subTest(fault):
                record, attempts = self.run_live(self.policy('{ use = "round-robin" }'), fault=fault, mode="sync")
                self.assertSameShares(record, attempts)

    def test_one_after_another_gives_the_same_shares_too(self):
        # Each send waits for the one before: what begins when is made by the brokers themselves.
        self.cluster.tell("broker-b latency 60ms")
        try:
            for selector in "round-robin", "best-queue":
                with self.subTest(selector):
                    record, receipts = self.file("sync.toml"), self.file("receipts")
                    self.ok("send", "-c", self.policy(f'{{ use = "{selector}" }}'), "-t", self.topic, "--body", "x", "--count", 120, "--record", record,
                            "--receipts", receipts)
                    self.assertSameShares(record, self.attempts(receipts))
        finally:
            self.cluster.tell("broker-b ok")

    def test_another_policy_is_judged_by_what_was_recorded(self):
        record, _ = self.run_live(self.policy('{ use = "round-robin" }'), fault="broker-b latency 300ms")

        runs = json.loads(self.ok("simulate", record, "--against", '{ selector = { use = "least-inflight" }, fault = { use = "none" } }', "--json"))["runs"]
        b = [next(x["attempts"] for x in r["summary"]["brokers"] if x["broker"] == "broker-b") for r in runs]
        self.assertGreater(b[0], COUNT * 0.3)
        self.assertLess(b[1], COUNT * 0.2, "the slow one gets less")
        self.assertGreater(runs[0]["summary"]["latency_ms"]["p90"], 250)

    def test_changes_of_the_route_are_in_it(self):
        config = self.file("fast.toml", f'[producer]\nname_servers = ["{self.cluster.address}"]\nroute_refresh = "20ms"\n'
                                        '[policies.default]\nselector = { use = "round-robin" }\nfault = { use = "none" }\n')
        self.ok("send", "-c", config, "-t", self.topic, "--body", "first")
        record, attempts = self.run_live(config, fault=f"broker-b perm 4 {self.topic}")

        with open(record, encoding="utf-8") as file:
            self.assertIn("route = { set = [{ name = \"broker-b\"", file.read())
        self.assertSameShares(record, attempts)
        self.assertLess(attempts["broker-b"], COUNT * 0.3)

    def test_the_configuration_can_ask_for_it_and_the_option_goes_before(self):
        folder = os.path.dirname(self.file("x"))
        config = self.file("asks.toml", f'[producer]\nname_servers = ["{self.cluster.address}"]\nrecord = "of-{{topic}}.toml"\n')
        self.ok("send", "-c", config, "-t", self.topic, "--body", "x")
        written = os.path.join(folder, f"of-{self.topic}.toml")
        self.assertTrue(os.path.exists(written), "it is named by the file's folder and the topic")
        os.unlink(written)

        other = self.file("other.toml")
        self.ok("send", "-c", config, "-t", self.topic, "--body", "x", "--record", other)
        self.assertTrue(os.path.exists(other))
        self.assertFalse(os.path.exists(written))

    def test_a_file_that_cannot_be_written_is_told_before_anything_is_sent(self):
        for path, why in ((self.file("none") + "/run.toml", "No such file or directory"), (os.path.dirname(self.file("x")), "Is a directory")):
            with self.subTest(path):
                self.refused("send", "-c", self.config(), "-t", self.topic, "--body", "x", "--record", path, status=2,
                             saying=[f"record is '{path}'; it must be a file that can be written", why])
        self.assertEqual(self.cluster.ledger(self.topic), [])

    def test_what_is_no_file_is_not_replaced_and_a_link_leads_to_the_file(self):
        pipe, link, record = self.file("pipe"), self.file("link"), self.file("run.toml", "old\n")
        os.mkfifo(pipe)
        self.refused("send", "-c", self.config(), "-t", self.topic, "--body", "x", "--record", pipe, status=2,
                     saying=f"record is '{pipe}'; it must be a file that can be written: it is a device, a pipe or a socket")
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
        os.symlink(record, link)
        self.ok("send", "-c", self.config(), "-t", self.topic, "--body", "x", "--record", link)
        self.assertTrue(os.path.islink(link))
        with open(record, encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("# A live run, recorded: 1 sends"))

    def test_a_file_that_cannot_be_written_at_the_end_is_told(self):
        folder = self.file("folder")
        os.mkdir(folder)
        record, receipts = os.path.join(folder, "run.toml"), self.file("receipts")
        sending = Running("send", "-c", self.config(), "-t", self.topic, "--record", record, "--receipts", receipts)
        try:
            sending.process.stdin.write("a message\n")
            sending.process.stdin.flush()
            wait_for_lines(receipts, 1)
            shutil.rmtree(folder)
            sending.process.stdin.close()
            self.assertEqual(sending.wait(), 1)
            self.assertIn(f"the run cannot be written to '{record}': No such file or directory", sending.err.until("cannot be written"))
        finally:
            sending.end()

    def test_a_file_that_was_there_is_replaced_and_no_draft_stays(self):
        record = self.file("run.toml", "old\n")
        self.ok("send", "-c", self.config(), "-t", self.topic, "--body", "x", "--record", record)

        with open(record, encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("# A live run, recorded: 1 sends"))
        self.assertEqual([n for n in os.listdir(os.path.dirname(record)) if ".part" in n], [])

    def test_where_nothing_was_sent_nothing_is_written(self):
        record = self.file("run.toml", "old\n")
        ended = shunt("send", "-c", self.config(), "-t", self.topic, "--record", record, input="")

        self.assertEqual(ended.returncode, 1)
        self.assertIn(f"nothing was written to '{record}': no send got as far as a broker", ended.stderr)
        with open(record, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old\n")


if __name__ == "__main__":
    main()
