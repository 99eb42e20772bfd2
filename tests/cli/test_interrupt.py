"""An interrupt ends a command cleanly: nothing that was accepted is missing from counts and receipts."""

import json
import os
import signal
import subprocess

from support import Case, main, place, wait_for_lines


class Interrupt(Case):
    def interrupted(self, *arguments, number=signal.SIGINT):
        """A send that is interrupted once a few hundred messages have ended: its summary, its receipts."""
        path = self.file("receipts")
        sending = self.running("send", "-c", self.config(), "-t", self.topic, "--json", "--receipts", path, *arguments)
        wait_for_lines(path, 300)
        sending.interrupt(number)
        self.assertEqual(sending.wait(), 1)
        (line,) = sending.out.rest()
        self.assertIn("interrupted; ", sending.err.until("interrupted"))
        return json.loads(line), self.receipts(path)

    def check_accounts(self, summary, receipts):
        self.assertTrue(summary["interrupted"])
        self.assertLess(summary["sent"], 100_000_000)
        self.assertEqual([r["i"] for r in receipts], list(range(summary["sent"])))
        for outcome in "stored", "not_sent", "unknown", "rejected":
            self.assertEqual(summary[outcome], sum(r["outcome"] == outcome for r in receipts), outcome)
        self.assertEqual(summary["sent"], sum(summary[o] for o in ("stored", "not_sent", "unknown", "rejected")))
        self.assertEqual(summary["counters"]["sends"], summary["sent"])
        self.assertEqual(summary["counters"]["in_flight_messages"], 0)
        self.assertEqual(sorted(place(r) for r in receipts if r["outcome"] == "stored"), sorted(map(place, self.cluster.ledger(self.topic))))

    def test_of_async_sends(self):
        self.check_accounts(*self.interrupted("--body", "{i}", "--count", 100_000_000, "--mode", "async", "--in-flight", 500))

    def test_of_sync_sends_by_many_threads(self):
        self.check_accounts(*self.interrupted("--body", "{i}", "--count", 100_000_000, "--threads", 4))

    def test_by_sigterm(self):
        self.check_accounts(*self.interrupted("--body", "{i}", "--count", 100_000_000, "--mode", "async", number=signal.SIGTERM))

    def test_of_sends_held_back_by_their_rate(self):
        self.check_accounts(*self.interrupted("--body", "{i}", "--count", 100_000_000, "--mode", "async", "--rate", "5000/s"))

    def test_while_waiting_for_the_next_line(self):
        path = self.file("receipts")
        sending = self.running("send", "-c", self.config(), "-t", self.topic, "--json", "--receipts", path)
        sending.process.stdin.write("one\ntwo\n")
        wait_for_lines(path, 1)
        sending.interrupt()
        self.assertEqual(sending.wait(), 1)
        self.check_accounts(json.loads(sending.out.next()), self.receipts(path))

    def test_with_a_broker_that_hangs(self):
        cluster, self.cluster = self.cluster, self.new_cluster()
        try:
            self.send("--body", "x")
            self.cluster.tell("broker-b hang")
            self.topic += "-2"
            # Those under way to broker-b end elsewhere, after their share of the time.
            summary, receipts = self.interrupted("--body", "{i}", "--count", 100_000_000, "--mode", "async", "--in-flight", 900, "--rate", "2000",
                                                  "--timeout", "6s")
            self.check_accounts(summary, receipts)
            self.assertEqual(summary["stored"], summary["sent"])
            self.assertTrue(any(len(r["attempts"]) > 1 for r in receipts))
        finally:
            self.cluster = cluster

    def test_a_second_one_aborts(self):
        cluster, self.cluster = self.cluster, self.new_cluster()
        try:
            self.send("--body", "x")
            for broker in "abc":
                self.cluster.tell(f"broker-{broker} latency 30m")  # stored at once, answered after this test
            sending = self.running("send", "-c", self.config(), "-t", self.topic, "--body", "x", "--timeout", "1h", "--mode", "async",
                                   "--count", 100)
            self.wait_for(lambda: len(self.cluster.ledger(self.topic)) > 1)
            self.wait_for_signal_handler(sending)
            sending.interrupt()
            self.wait_for_default_handler(sending)
            sending.interrupt()
            self.assertEqual(sending.wait(), -signal.SIGINT)
        finally:
            self.cluster = cluster

    def caught(self, running):
        with open(f"/proc/{running.process.pid}/status", encoding="utf-8") as status:
            mask = next(line.split()[1] for line in status if line.startswith("SigCgt"))
        return int(mask, 16) >> (signal.SIGINT - 1) & 1

    def wait_until(self, running, caught):
        for _ in range(60 * 100):
            if self.caught(running) == caught:
                return
            try:
                running.process.wait(timeout=0.01)
            except subprocess.TimeoutExpired:
                continue
            self.fail("it ended: " + "\n".join(running.err.rest()))
        self.fail("the handler of SIGINT did not change")

    def wait_for_signal_handler(self, running):
        self.wait_until(running, 1)

    def wait_for_default_handler(self, running):
        self.wait_until(running, 0)

    def test_of_a_bench(self):
        benching = self.running("bench", "--name-server", self.cluster.address, "-t", self.topic, "--count", 100_000_000, "--json")
        follow = self.ok("tail", "-c", self.config(), "-t", self.topic, "--follow", "--count", 1000)
        self.assertEqual(len(follow.splitlines()), 1000)
        benching.interrupt()
        self.assertEqual(benching.wait(), 1)
        result = json.loads(benching.out.next())
        self.assertEqual(result["stored"], result["sent"])
        self.assertEqual(result["stored"], len(self.cluster.ledger(self.topic)))


if __name__ == "__main__":
    main()
