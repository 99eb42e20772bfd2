"""shunt send: messages in every way, what is told of them, and what lies in the brokers afterwards."""

import json
import os
import socket
import subprocess
import sys

from support import Case, DEADLINE, SHUNT, lines_of_json, main, place, shunt

SUMMARY = {
    "sent": int, "stored": int, "not_sent": int, "unknown": int, "rejected": int, "attempts": int, "seconds": float,
    "by_queue": {...: int}, "by_broker": {...: int},
    "latency_us": {"p50": int, "p95": int, "p99": int, "p999": int, "max": int},
    "counters": {"sends": int, "stored": int, "attempts": int, "decisions": int, "plugin_errors": int, "writes": int},
}
RECEIPT = {
    "i": int, "outcome": str, "msg_id": str, "offset_msg_id": str, "broker": str, "queue": int, "offset": int, "status": str,
    "policy": str, "generation": int, "latency_us": int,
    "attempts": [{"broker": str, "queue": int, "outcome": str, "code": int, "text": str, "latency_us": int, "why": str}],
}


class Send(Case):
    def test_summary_has_the_promised_shape(self):
        summary = self.send("--body", "hello", "--count", 12)

        self.assertShape(summary, SUMMARY)
        self.assertEqual((summary["sent"], summary["stored"], summary["attempts"]), (12, 12, 12))
        self.assertEqual(summary["by_broker"], {"broker-a": 4, "broker-b": 4, "broker-c": 4})
        self.assertEqual(sum(summary["by_queue"].values()), 12)
        self.assertIn("broker-a/0", summary["by_queue"])
        self.assertEqual(summary["counters"]["sends"], 12)
        self.assertGreaterEqual(summary["latency_us"]["max"], summary["latency_us"]["p50"])

    def test_table_tells_places_outcomes_and_latencies(self):
        said = self.ok("send", "-c", self.config(), "-t", self.topic, "--body", "x", "--count", 12)

        self.assertRegex(said, r"broker-b +all +4 +33\.3 %")
        self.assertIn("12 messages in ", said)
        self.assertIn("12 stored; 12 attempts", said)
        self.assertRegex(said, r"latency: p50 .* p95 .* p99 .* p999 .* max ")

    def test_every_part_of_a_message_arrives_with_its_number(self):
        self.send("--body", "body {i} {i}", "--key", "key-{i}", "--tag", "red", "--property", "region=north-{i}", "--property", "b=c=d",
                  "--order-key", "o{i}", "--count", 3)

        stored = sorted(self.tail(), key=lambda m: m["body"])
        self.assertEqual([m["body"] for m in stored], ["body 0 0", "body 1 1", "body 2 2"])
        self.assertEqual([m["key"] for m in stored], ["key-0", "key-1", "key-2"])
        for i, m in enumerate(stored):
            self.assertEqual(m["tag"], "red")
            self.assertEqual(m["properties"]["region"], f"north-{i}")
            self.assertEqual(m["properties"]["b"], "c=d")
            self.assertNotIn("__SHARDINGKEY", m["properties"])

    def test_each_line_of_stdin_is_a_message(self):
        summary = self.send(input="one\ntwo\nthree without an end")

        self.assertEqual(summary["stored"], 3)
        self.assertEqual(sorted(m["body"] for m in self.tail()), ["one", "three without an end", "two"])

    def test_count_limits_the_lines_of_stdin(self):
        self.assertEqual(self.send("--count", 2, input="one\ntwo\nthree\n")["sent"], 2)
        self.assertEqual(sorted(m["body"] for m in self.tail()), ["one", "two"])

    def test_empty_stdin_sends_nothing_and_is_done(self):
        self.assertEqual(self.send(input="")["sent"], 0)

    def test_a_body_that_is_no_utf8_is_sent_as_it_is(self):
        summary = shunt("send", "-c", self.config(), "-t", self.topic, "--json", input=b"\xff\x00\x80\n", text=False)

        self.assertEqual(summary.returncode, 0, summary.stderr)
        (m,) = self.tail()
        self.assertEqual(m["body_base64"], "/wCA")
        self.assertNotIn("body", m)

    def test_size_makes_bodies_and_leaves_stdin_alone(self):
        self.send("--size", 300, "--count", 2, input="not read\n")

        self.assertEqual([len(m["body"]) for m in self.tail()], [300, 300])

    def test_receipts_are_in_order_and_agree_with_what_lies_there(self):
        receipts = self.file("receipts")
        for mode in "sync", "async":
            with self.subTest(mode=mode):
                self.topic = f"receipts-{mode}"
                self.send("--body", "{i}", "--count", 500, "--mode", mode, "--receipts", receipts)

                told = self.receipts(receipts)
                self.assertShape(told, [RECEIPT])
                self.assertEqual([r["i"] for r in told], list(range(500)))
                self.assertEqual({r["outcome"] for r in told}, {"stored"})
                self.assertEqual({r["status"] for r in told}, {"ok"})
                self.assertEqual({r["policy"] for r in told}, {"default"})
                self.assertEqual({a["code"] for r in told for a in r["attempts"]}, {0})
                lying = self.tail()
                self.assertEqual(sorted(map(place, told)), sorted(map(place, lying)))
                body_of = {m["msg_id"]: m["body"] for m in lying}
                self.assertEqual([body_of[r["msg_id"]] for r in told], [str(i) for i in range(500)])

    def test_many_in_flight_from_many_threads_are_all_told_once(self):
        receipts = self.file("receipts")
        for arguments in (["--mode", "async", "--in-flight", 7, "--threads", 3], ["--mode", "sync", "--threads", 4],
                          ["--mode", "async", "--in-flight", 5000]):
            with self.subTest(arguments=arguments):
                self.topic = "threads" + "".join(map(str, arguments))
                self.send("--body", "{i}", "--count", 5000, "--receipts", receipts, *arguments)

                self.assertEqual([r["i"] for r in self.receipts(receipts)], list(range(5000)))
                self.assertEqual(sorted(int(m["body"]) for m in self.tail()), list(range(5000)))

    def test_oneway_is_done_when_all_were_written(self):
        receipts = self.file("receipts")
        summary = self.send("--body", "{i}", "--count", 100, "--mode", "oneway", "--receipts", receipts)

        self.assertEqual((summary["sent"], summary["unknown"], summary["stored"]), (100, 100, 0))
        self.assertEqual({r["outcome"] for r in self.receipts(receipts)}, {"unknown"})
        self.assertEqual(sum(summary["by_queue"].values()), 100)
        follow = self.ok("tail", "-c", self.config(), "-t", self.topic, "--json", "--follow", "--count", 100)
        self.assertEqual(sorted(int(m["body"]) for m in lines_of_json(follow)), list(range(100)))

    def test_the_queue_named_is_the_queue_taken(self):
        summary = self.send("--body", "x", "--count", 5, "--queue", "broker-b/2")

        self.assertEqual(summary["by_queue"], {"broker-b/2": 5})

    def test_a_queue_that_is_not_there_is_not_sent_to(self):
        ended = shunt("send", "-c", self.config(), "-t", self.topic, "--body", "x", "--queue", "broker-z/0", "--json")

        self.assertEqual(ended.returncode, 1)
        self.assertEqual(json.loads(ended.stdout)["not_sent"], 1)
        self.assertIn("broker-z/0", ended.stderr)

    def test_a_policy_by_name_keeps_a_key_on_its_queue(self):
        self.send("--body", "x", "--key", "k", "--order-key", "order-7", "--count", 9, "--policy", "by-key")

        self.assertEqual(len({(m["broker"], m["queue"]) for m in self.tail()}), 1)

    def test_an_ordered_policy_keeps_the_order_of_a_key(self):
        receipts = self.file("receipts")
        self.send("--body", "{i}", "--order-key", "same", "--count", 200, "--policy", "by-order", "--mode", "async", "--receipts", receipts)

        self.assertEqual([m["body"] for m in self.tail()], [str(i) for i in range(200)])
        self.assertEqual({r["policy"] for r in self.receipts(receipts)}, {"by-order"})

    def test_the_policy_that_was_used_is_told_with_its_binding(self):
        bound = self.config(rest='[policies.by-order]\nselector = { use = "hash" }\n[[bindings]]\ntopic = "test_the_*"\npolicy = "by-order"\n')
        self.assertIn('policy: by-order (binding "test_the_*")\n', self.ok("send", "-c", bound, "-t", self.topic, "--body", "x"))
        self.assertIn("policy: default (--policy)\n", self.ok("send", "-c", bound, "-t", self.topic, "--body", "x", "--policy", "default"))
        summary = self.send("--body", "x", config=bound)
        self.assertEqual((summary["policy"], summary["binding"]), ("by-order", "test_the_*"))
        summary = self.send("--body", "x")
        self.assertEqual((summary["policy"], summary["binding"]), ("default", ""))

    def test_what_is_in_the_way_of_a_route_is_told_while_it_is_waited_for(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            for address, why in (("127.0.0.1:1", "name server 127.0.0.1:1: "),
                                 (f"127.0.0.1:{silent.getsockname()[1]}", "no name server has answered yet: 127.0.0.1:")):
                with self.subTest(address):
                    sending = self.running("send", "-c", self.config(address=address), "-t", self.topic, "--body", "x", "--timeout", "20s")
                    said = sending.err.until("has no route yet")
                    self.assertIsNone(sending.process.poll(), "it still waits")
                    self.assertIn(why, said)
                    self.assertIn("waiting up to 20", said)
                    sending.process.kill()

    def test_an_unknown_policy_is_told_with_those_there_are(self):
        receipts = self.file("receipts")
        ended = shunt("send", "-c", self.config(), "-t", self.topic, "--body", "x", "--policy", "nosuch", "--json", "--receipts", receipts)

        self.assertEqual(ended.returncode, 1)
        self.assertEqual(json.loads(ended.stdout)["not_sent"], 1)
        self.assertIn("policy 'nosuch' is not there; there are by-key, by-order, default", ended.stderr)
        (told,) = self.receipts(receipts)
        self.assertEqual((told["outcome"], told["attempts"], told["msg_id"], told["status"]), ("not_sent", [], "", ""))
        self.assertIn("nosuch", told["reason"])

    def test_what_no_broker_takes_is_refused_with_the_reason(self):
        for topic, arguments, reason in (("a topic", ["--body", "x"], "topic 'a topic' has characters other than"),
                                         ("t", ["--body", ""], "the body is empty"),
                                         ("t", ["--size", "5MiB"], "the body has 5242880 bytes"),
                                         ("t", ["--body", "x", "--key", "a\x02b"], "a key has a byte"),
                                         ("t", ["--body", "x", "--property", "KEYS=1"], "KEYS")):
            with self.subTest(arguments=arguments):
                ended = shunt("send", "-c", self.config(), "-t", topic, "--json", *arguments)
                self.assertEqual(ended.returncode, 1)
                summary = json.loads(ended.stdout)
                self.assertEqual((summary["sent"], summary["not_sent"], summary["attempts"]), (1, 1, 0))
                self.assertIn(reason, ended.stderr)

    def test_delay_level_is_put_on_the_message(self):
        self.assertEqual(self.send("--body", "x", "--delay-level", 1)["stored"], 1)
        self.assertEqual([m["properties"]["DELAY"] for m in lines_of_json(self.ok("tail", "-c", self.config(), "-t", "SCHEDULE_TOPIC_XXXX", "--json"))
                          if m["properties"]["REAL_TOPIC"] == self.topic], ["1"])  # until it is due

    def test_rate_spaces_the_messages(self):
        summary = self.send("--body", "x", "--count", 41, "--rate", "100/s", "--mode", "async")

        self.assertGreaterEqual(summary["seconds"], 0.39)

    def test_a_cluster_inside_the_process_will_do(self):
        config = self.file("embedded.toml", "[producer]\nembedded = true\nembedded_brokers = 2\n")
        summary = self.send("--body", "x", "--count", 8, config=config)

        self.assertEqual(summary["by_broker"], {"broker-a": 4, "broker-b": 4})

    def test_receipts_that_cannot_be_written_are_told_before_anything_is_sent(self):
        self.refused("send", "-c", self.config(), "-t", self.topic, "--body", "x", "--receipts", self.file("no/such/folder"), status=2,
                     saying=["--receipts is '", "it must be a file that can be written: No such file or directory"])
        self.assertEqual(self.cluster.ledger(self.topic), [])

    def test_receipts_take_the_place_of_no_other_file_of_the_run(self):
        config, record = self.config(), self.file("run.toml")
        with open(config, encoding="utf-8") as file:
            before = file.read()
        link = self.file("link")
        os.symlink(config, link)
        for receipts, other in ((config, config), (link, config), (os.path.join(os.path.dirname(record), ".", "run.toml"), record)):
            with self.subTest(receipts):
                self.refused("send", "-c", config, "-t", self.topic, "--body", "x", "--receipts", receipts, "--record", record, status=2,
                             saying=["it must be another file than", os.path.basename(other)])
        with open(config, encoding="utf-8") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(self.cluster.ledger(self.topic), [])

    def test_what_was_left_closed_is_no_input_and_no_output(self):
        quiet = subprocess.run(["sh", "-c", '"$@" <&-', "sh", SHUNT, "send", "-c", self.config(), "-t", self.topic], capture_output=True, text=True,
                               timeout=DEADLINE)
        empty = shunt("send", "-c", self.config(), "-t", self.topic, input="")
        self.assertEqual((quiet.returncode, quiet.stderr), (empty.returncode, empty.stderr))
        self.assertEqual(self.cluster.ledger(self.topic), [])
        mute = subprocess.run(["sh", "-c", '"$@" >&-', "sh", SHUNT, "send", "-c", self.config(), "-t", self.topic, "--body", "x"], stderr=subprocess.PIPE,
                              text=True, timeout=DEADLINE)
        self.assertEqual((mute.returncode, len(self.cluster.ledger(self.topic))), (1, 1))
        self.assertIn("writing to stdout failed: Bad file descriptor", mute.stderr)

    def test_a_disk_that_is_full_ends_the_sending_with_a_word(self):
        ended = shunt("send", "-c", self.config(), "-t", self.topic, "--body", "x", "--count", 1000000, "--receipts", "/dev/full", "--json")

        self.assertEqual(ended.returncode, 1)
        self.assertIn("receipts cannot be written to '/dev/full': No space left on device", ended.stderr)
        summary = json.loads(ended.stdout)
        self.assertLess(summary["sent"], 1000000)
        self.assertEqual(summary["stored"], len(self.cluster.ledger(self.topic)))

    def test_memory_stays_small_whatever_the_count(self):
        # The bodies alone are 180 MB, the receipts 20 MB. (A sanitizer would keep what is freed: told not to.)
        options = os.environ.get("ASAN_OPTIONS", "")
        self.addCleanup(os.environ.__setitem__, "ASAN_OPTIONS", options)
        os.environ["ASAN_OPTIONS"] = options + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"
        config = self.config(self.new_cluster().address)
        few, many = (self.peak_kib("send", "-c", config, "-t", self.topic, "--size", 3000, "--count", count, "--mode", "async",
                                   "--receipts", self.file("receipts")) for count in (1000, 60000))

        self.assertLess(many - few, 48 * 1024)

    def peak_kib(self, *arguments):
        """Peak resident memory of a run, as the system counts it for children: so each is the child of its own parent."""
        script = ("import resource, subprocess, sys\n"
                  "status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
                  "print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        said = subprocess.run([sys.executable, "-c", script, SHUNT, *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE)
        status, peak = map(int, said.stdout.split())
        self.assertEqual(status, 0, said.stderr)
        return peak


if __name__ == "__main__":
    main()
