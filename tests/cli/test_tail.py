"""shunt tail: what lies in each queue, in order; brokers that go away and come back."""

import json
import signal

from support import Case, lines_of_json, main, place, shunt

MESSAGE = {"broker": str, "queue": int, "offset": int, "msg_id": str, "key": str, "tag": str, "properties": {...: str}, "body": str,
           "born_ms": int, "stored_ms": int}


class Tail(Case):
    def test_messages_have_the_promised_shape(self):
        self.send("--body", "hello", "--key", "k", "--tag", "t", "--property", "a=b")

        (m,) = self.tail()
        self.assertShape(m, MESSAGE)
        self.assertEqual((m["body"], m["key"], m["tag"], m["properties"]["a"]), ("hello", "k", "t", "b"))

    def test_it_says_what_the_ledger_says(self):
        self.send("--body", "{i}", "--key", "k{i}", "--count", 1000, "--mode", "async")

        self.assertEqual(self.tail(), self.cluster.ledger(self.topic))

    def test_offsets_of_a_queue_come_in_order(self):
        self.send("--body", "{i}", "--count", 300, "--mode", "async")

        offsets = {}
        for m in self.tail():
            offsets.setdefault((m["broker"], m["queue"]), []).append(m["offset"])
        self.assertEqual(len(offsets), 12)
        for found in offsets.values():
            self.assertEqual(found, list(range(len(found))))

    def test_count_ends_it(self):
        self.send("--body", "{i}", "--count", 100)

        self.assertEqual(len(self.tail("--count", 7)), 7)

    def test_for_people_a_line_names_place_key_tag_and_body(self):
        self.send("--body", "a\tline", "--key", "k", "--tag", "red", "--queue", "broker-a/1")

        said = self.ok("tail", "-c", self.config(), "-t", self.topic)
        self.assertRegex(said, r"^broker-a/1 @0  [0-9A-F]{32}  key k  tag red  a\\x09line\n$")

    def test_from_end_passes_over_what_is_there(self):
        self.send("--body", "old", "--count", 5)

        ended = shunt("tail", "-c", self.config(), "-t", self.topic, "--json", "--from", "end")
        self.assertEqual((ended.returncode, ended.stdout), (0, ""))
        self.assertIn("without --follow there is nothing to wait for", ended.stderr)

    def test_follow_shows_what_comes_and_ends_with_an_interrupt(self):
        self.send("--body", "old", "--count", 5)
        reading = self.running("tail", "-c", self.config(), "-t", self.topic, "--json", "--follow")
        for _ in range(5):
            self.assertEqual(json.loads(reading.out.next())["body"], "old")

        self.send("--body", "new", "--count", 3)
        for _ in range(3):
            self.assertEqual(json.loads(reading.out.next())["body"], "new")
        reading.interrupt(signal.SIGTERM)
        self.assertEqual(reading.wait(), 0)
        self.assertEqual(reading.out.rest(), [])

    def test_follow_waits_for_a_topic_that_is_not_there_yet(self):
        reading = self.running("tail", "-c", self.config(), "-t", self.topic, "--json", "--follow", "--count", 2)
        reading.err.until("is not known to the name servers")

        self.send("--body", "first", "--count", 2)
        self.assertEqual([json.loads(line)["body"] for line in reading.out.rest()], ["first", "first"])
        self.assertEqual(reading.wait(), 0)

    def test_an_unknown_topic_is_told(self):
        self.refused("tail", "-c", self.config(), "-t", "nosuch", status=1, saying="topic 'nosuch' is not known to the name servers (127.0.0.1:")

    def test_a_cluster_inside_another_process_cannot_be_read(self):
        config = self.file("embedded.toml", "[producer]\nembedded = true\n")
        self.refused("tail", "-c", config, "-t", "t", status=2, saying="there is nothing to read from another process")

    def test_no_name_server_is_told(self):
        config = self.config(address="127.0.0.1:1")
        self.refused("tail", "-c", config, "-t", "t", status=1, saying="no route of topic 't': name server 127.0.0.1:1: ")

    def test_a_name_server_that_is_away_is_passed_over(self):
        self.send("--body", "x")
        config = self.config(address=f'127.0.0.1:1", "{self.cluster.address}')
        self.assertEqual(len(self.tail(config=config)), 1)

    def test_binary_headers_will_do(self):
        config = self.config(producer='format = "rocketmq"')
        self.send("--body", "x", "--count", 4, config=config)
        self.assertEqual(len(self.tail(config=config)), 4)


class TailOfBrokersInTrouble(Case):
    cluster_arguments = None  # one for each test: faults concern all topics

    def setUp(self):
        super().setUp()
        self.cluster = self.new_cluster()

    def test_a_broker_that_refuses_is_told_and_the_others_are_read(self):
        self.send("--body", "x", "--count", 12)
        self.cluster.tell("broker-b refuse")

        ended = shunt("tail", "-c", self.config(), "-t", self.topic, "--json")
        self.assertEqual(ended.returncode, 1)
        self.assertEqual({m["broker"] for m in lines_of_json(ended.stdout)}, {"broker-a", "broker-c"})
        self.assertEqual(len(lines_of_json(ended.stdout)), 8)
        for queue in range(4):
            self.assertIn(f"broker-b queue {queue} cannot be read: ", ended.stderr)

    def test_a_broker_that_comes_back_is_read_on(self):
        self.send("--body", "{i}", "--count", 100)
        self.cluster.tell("broker-c refuse")
        reading = self.running("tail", "-c", self.config(), "-t", self.topic, "--json", "--follow", "--count", 100)
        reading.err.until("broker-c queue ")

        self.cluster.tell("broker-c move 0")  # up again, elsewhere
        told = [json.loads(line) for line in reading.out.rest()]
        self.assertEqual(reading.wait(), 0)
        self.assertEqual(sorted(map(place, told)), sorted(map(place, self.cluster.ledger(self.topic))))
        self.assertIn("shunt tail: broker-c answers again", reading.err.rest())

    def test_a_short_outage_is_waited_for(self):
        self.send("--body", "{i}", "--count", 100)
        self.cluster.tell("broker-a refuse")
        reading = self.running("tail", "-c", self.config(), "-t", self.topic, "--json")
        # The first queue is being tried again and again: nothing is printed before the broker is back.
        self.cluster.tell("broker-a ok")
        self.assertEqual(len(reading.out.rest()), 100)
        self.assertEqual(reading.wait(), 0)

    def test_queues_that_may_not_be_read_are_not_there(self):
        self.send("--body", "x", "--count", 12)
        self.cluster.tell("broker-a perm 2")

        self.assertEqual({m["broker"] for m in self.tail()}, {"broker-b", "broker-c"})


if __name__ == "__main__":
    main()
