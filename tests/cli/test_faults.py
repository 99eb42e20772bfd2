"""Sending while brokers are in trouble: nothing is lost, nothing is told wrong, and the trouble is named."""

import json
import os

from support import BUILD, Case, main, place, shunt


class Faults(Case):
    cluster_arguments = None  # one for each test: faults concern all topics

    def setUp(self):
        super().setUp()
        self.cluster = self.new_cluster()

    def sent(self, *arguments, config=None):
        path = self.file("receipts")
        ended = shunt("send", "-c", config or self.config(), "-t", self.topic, "--json", "--body", "{i}", "--receipts", path, *arguments)
        return ended, json.loads(ended.stdout), self.receipts(path)

    def test_a_strategy_that_fails_loses_nothing_and_is_told(self):
        for name, file, said in (("throws-in-select", "sdk/libthrows", "select"), ("out-of-range", "out_of_range", "4000000000")):
            with self.subTest(name):
                self.topic += "-x"
                gallery = os.path.join(BUILD, "tests", "gallery", file + ".so")
                config = self.config(rest=f'[plugins.load.{name}]\nfile = "{gallery}"\n[policies.default]\n'
                                          f'selector = {{ use = "{name}" }}\nfault = {{ use = "none" }}\n[log]\nlevel = "warn"\n')
                ended, summary, receipts = self.sent("--count", 12, config=config)

                self.assertEqual((ended.returncode, summary["stored"]), (0, 12), ended.stderr)
                self.assertEqual(summary["counters"]["plugin_errors"], 12)
                self.assertIn(name, summary["counters"]["last_plugin_error"])
                self.assertEqual({r["attempts"][0]["why"] for r in receipts}, {"fallback"})
                self.assertIn(said, ended.stderr)
                self.assertIn("best-queue's rule", ended.stderr)
                self.assertEqual(ended.stderr.count(f'strategy "{name}"'), 2, "one line of the log for all of them, and the summary: " + ended.stderr)

    def test_a_broker_that_hangs_costs_nothing_but_time(self):
        self.send("--body", "warm")
        self.cluster.tell("broker-b hang")
        self.topic += "-2"
        ended, summary, receipts = self.sent("--count", 600, "--mode", "async", "--in-flight", 100, "--timeout", "6s")

        self.assertEqual((ended.returncode, summary["stored"]), (0, 600), ended.stderr)
        self.assertNotIn("broker-b", summary["by_broker"])
        self.assertEqual(sorted(map(place, receipts)), sorted(map(place, self.cluster.ledger(self.topic))))
        again = [r for r in receipts if len(r["attempts"]) > 1]
        self.assertTrue(again)
        for r in again:
            self.assertEqual((r["attempts"][0]["broker"], r["attempts"][0]["outcome"], r["attempts"][0]["code"]), ("broker-b", "unknown", -1))
            self.assertIn("no answer from 127.0.0.1:", r["attempts"][0]["text"])

    def test_stored_but_never_answered_is_unknown_and_told(self):
        self.send("--body", "warm")
        for broker in "abc":
            self.cluster.tell(f"broker-{broker} hang stored")
        self.topic += "-2"
        ended, summary, receipts = self.sent("--count", 2, "--mode", "async", "--timeout", "600ms")

        self.assertEqual((ended.returncode, summary["unknown"], summary["stored"]), (1, 2, 0))
        self.assertIn("2 unknown; message 0: no answer in time; it may be stored", ended.stderr)
        ids = {m["msg_id"] for m in self.cluster.ledger(self.topic)}
        self.assertEqual({r["msg_id"] for r in receipts}, ids)

    def test_a_refusal_is_told_with_the_brokers_own_words(self):
        for broker in "abc":
            self.cluster.tell(f"broker-{broker} code 13 too much of it")
        ended, summary, receipts = self.sent("--count", 3)

        self.assertEqual((ended.returncode, summary["rejected"]), (1, 3))
        self.assertIn("answered 13 too much of it", ended.stderr)
        self.assertEqual({(r["attempts"][-1]["code"], r["attempts"][-1]["text"]) for r in receipts}, {(13, "too much of it")})
        self.assertEqual(self.cluster.ledger(self.topic), [])

    def test_stored_with_a_late_flush_is_stored_with_its_status(self):
        for broker in "abc":
            self.cluster.tell(f"broker-{broker} code 10")
        ended, summary, receipts = self.sent("--count", 3)

        self.assertEqual((ended.returncode, summary["stored"], summary["attempts"]), (0, 3, 3))
        self.assertEqual({r["status"] for r in receipts}, {"flush_disk_timeout"})

    def test_all_brokers_gone_is_not_sent(self):
        self.send("--body", "warm")
        for broker in "abc":
            self.cluster.tell(f"broker-{broker} refuse")
        ended, summary, receipts = self.sent("--count", 3, "--timeout", "300ms")

        self.assertEqual((ended.returncode, summary["not_sent"]), (1, 3))
        self.assertIn("3 not_sent; message 0: ", ended.stderr)
        self.assertEqual(len(receipts), 3)

    def test_no_name_server_is_not_sent_with_the_reason(self):
        ended, summary, receipts = self.sent("--count", 2, "--timeout", "300ms", config=self.config(address="127.0.0.1:1"))

        self.assertEqual((ended.returncode, summary["not_sent"], summary["attempts"]), (1, 2, 0))
        self.assertIn("name server 127.0.0.1:1", ended.stderr)
        self.assertEqual([r["attempts"] for r in receipts], [[], []])

    def test_oneway_that_cannot_be_written_fails(self):
        self.send("--body", "warm")
        for broker in "abc":
            self.cluster.tell(f"broker-{broker} refuse")
        ended, summary, _ = self.sent("--count", 2, "--mode", "oneway", "--timeout", "300ms")

        self.assertEqual((ended.returncode, summary["not_sent"]), (1, 2))

    def test_a_broker_that_drops_what_it_stored_makes_copies_not_losses(self):
        self.send("--body", "warm")
        self.cluster.tell("broker-a drop stored")
        self.topic += "-2"
        ended, summary, receipts = self.sent("--count", 90, "--mode", "async")

        self.assertEqual((ended.returncode, summary["stored"]), (0, 90), ended.stderr)
        ledger = self.cluster.ledger(self.topic)
        self.assertEqual({m["msg_id"] for m in ledger}, {r["msg_id"] for r in receipts})
        lying = set(map(place, ledger))
        self.assertTrue(all(place(r) in lying for r in receipts))


if __name__ == "__main__":
    main()
