"""Every kind of message `shunt send` makes, and the commands that ask: topic, message, answer."""

import json

from support import Case, lines_of_json, main, shunt


class Kinds(Case):
    def failing(self, *arguments):
        """The summary of a send of which not all was stored."""
        ended = shunt("send", "-c", self.config(), "-t", self.topic, "--json", *arguments)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        return json.loads(ended.stdout)

    def test_delays_hold_messages_back_until_they_are_due(self):
        receipts = self.file("receipts")
        self.send("--body", "later", "--delay", "2s", "--receipts", receipts)
        self.assertEqual(self.failing("--body", "too late", "--deliver-at", "2099-01-01T00:00:00Z")["not_sent"], 1)
        self.send("--body", "now")
        self.assertEqual([m["body"] for m in self.tail()], ["now"])
        self.wait_for(lambda: len(self.tail()) == 2)
        self.assertEqual(sorted(m["body"] for m in self.tail()), ["later", "now"])
        self.assertTrue(self.receipts(receipts)[0]["recall_handle"])

    def test_a_delayed_message_is_taken_back(self):
        receipts = self.file("receipts")
        self.send("--body", "never", "--delay", "1h", "--receipts", receipts)
        (told,) = self.receipts(receipts)
        out = self.ok("message", "recall", "-c", self.config(), "-t", self.topic, "--json", told["recall_handle"])
        self.assertEqual(json.loads(out), {"msg_id": told["msg_id"]})

    def test_compressed_bodies_are_shown_as_they_were(self):
        for algorithm in ("zlib", "lz4", "zstd"):
            self.send("--body", algorithm * 1000, "--compress", algorithm)
        self.assertEqual(sorted(m["body"] for m in self.tail()), sorted(a * 1000 for a in ("zlib", "lz4", "zstd")))
        shown = self.ok("tail", "-c", self.config(), "-t", self.topic)
        for algorithm in ("zlib", "lz4", "zstd"):
            self.assertIn(algorithm * 50, shown)

    def test_batches_tell_where_each_message_lies(self):
        receipts = self.file("receipts")
        summary = self.send("--body", "m{i}", "--key", "k{i}", "--count", 25, "--batch", 10, "--receipts", receipts)
        self.assertEqual((summary["sent"], summary["stored"]), (25, 25))
        there = {m["msg_id"]: m for m in self.tail()}
        self.assertEqual(len(there), 25)
        told = self.receipts(receipts)
        self.assertEqual([r["i"] for r in told], list(range(25)))
        for r in told:
            self.assertEqual(there[r["msg_id"]]["key"], f"k{r['i']}")
            self.assertEqual(there[r["msg_id"]]["offset"], r["offset"])
        self.assertEqual(len({(r["broker"], r["queue"]) for r in told[:10]}), 1)

    def test_a_batch_of_what_cannot_travel_together_is_refused(self):
        for apart in (["--order-key", "{i}"], ["--delay", "1s"]):
            self.assertEqual(self.failing("--body", "m", "--count", 3, "--batch", 3, *apart)["not_sent"], 3)

    def test_transactions_end_as_they_are_told(self):
        self.send("--body", "yes", "--transaction", "commit")
        self.send("--body", "no", "--transaction", "rollback")
        self.send("--body", "perhaps", "--transaction", "unknown")
        self.assertEqual([m["body"] for m in self.tail()], ["yes"])

    def test_requests_get_replies(self):
        self.send("--body", "makes the topic")
        self.running("answer", "-c", self.config(), "-t", self.topic, "--body", "re: {body}").err.until("answering")

        told = []

        def answered():
            told.append(shunt("send", "-c", self.config(), "-t", self.topic, "--body", "hello", "--request", "--timeout", "5s"))
            return told[-1].returncode == 0
        self.wait_for(answered)  # what was asked before the other side began is not answered
        self.assertIn("reply 0: re: hello", told[-1].stdout)

    def test_a_request_without_a_reply_fails_with_its_reason(self):
        ended = shunt("send", "-c", self.config(), "-t", self.topic, "--body", "x", "--request", "--timeout", "300ms")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("message 0: stored, but no reply in", ended.stderr)

    def test_topics_are_created_and_their_offsets_told(self):
        name = self.topic + "-new"
        told = json.loads(self.ok("topic", "create", "-c", self.config(), "-t", name, "--queues", 2, "--broker", "broker-a", "--json"))
        self.assertEqual(told, {"topic": name, "queues": 2, "perm": 6, "brokers": ["broker-a"]})
        queues = json.loads(self.ok("topic", "show", "-c", self.config(), "-t", name, "--json"))["queues"]
        self.assertEqual(queues, [{"broker": "broker-a", "queue": q} for q in (0, 1)])
        self.ok("send", "-c", self.config(), "-t", name, "--body", "x", "--queue", "broker-a/1")
        offsets = lines_of_json(self.ok("topic", "offsets", "-c", self.config(), "-t", name, "--json"))
        self.assertEqual(offsets, [{"broker": "broker-a", "queue": 0, "min": 0, "max": 0}, {"broker": "broker-a", "queue": 1, "min": 0, "max": 1}])

    def test_a_message_is_shown_by_its_ids_and_by_its_key(self):
        receipts = self.file("receipts")
        self.send("--body", "the body", "--key", "the-key", "--receipts", receipts)
        (told,) = self.receipts(receipts)
        for question in (told["msg_id"], told["offset_msg_id"]), ("--key", "the-key"):
            for word in question if question[0] != "--key" else [question]:
                words = [word] if isinstance(word, str) else list(word)
                shown = json.loads(self.ok("message", "show", "-c", self.config(), "-t", self.topic, "--json", *words))
                self.assertEqual((shown["body"], shown["msg_id"]), ("the body", told["msg_id"]))
        missing = shunt("message", "show", "-c", self.config(), "-t", self.topic, "0A00000512670A0B0C0D000186A00001")
        self.assertEqual(missing.returncode, 1)
        self.assertIn("has a message 0A00000512670A0B0C0D000186A00001", missing.stderr)

    def test_wrong_arguments_are_told_before_anything_is_sent(self):
        for arguments, saying in ((["--delay-level", 19], "--delay-level is '19'; it must be a whole number from 1 to 18"),
                                  (["--delay", "soon"], "--delay is 'soon'"),
                                  (["--deliver-at", "tomorrow"], "--deliver-at is 'tomorrow'; it must be a time with its zone"),
                                  (["--deliver-at", "2026-11-31T12:00:00Z"], "--deliver-at is '2026-11-31T12:00:00Z'; it must be a time with its zone"),
                                  (["--deliver-at", "2099-12-02T25:00:00Z"], "it must be a time with its zone"),
                                  (["--deliver-at", "2099-12-02T23:00:00+99:00"], "it must be a time with its zone"),
                                  (["--deliver-at", "99999999999999999"], "it must be a time with its zone"),
                                  (["--compress", "rar"], "--compress is 'rar'"),
                                  (["--batch", 0], "--batch is '0'"),
                                  (["--transaction", "perhaps"], "--transaction is 'perhaps'"),
                                  (["--request", "--batch", 3], "one of them at most"),
                                  (["--request", "--mode", "async"], "--mode sync")):
            with self.subTest(arguments):
                self.refused("send", "-c", self.config(), "-t", self.topic, "--body", "x", *arguments, status=2, saying=saying)


if __name__ == "__main__":
    main()
