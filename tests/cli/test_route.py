"""shunt route: what the name servers say about a topic."""

import json

from support import Case, main

ROUTE = {"topic": str, "order": bool, "publish": [{"broker": str, "queue": int}], "subscribe": [{"broker": str, "queue": int}],
         "brokers": [{"name": str, "cluster": str, "addresses": {...: str}, "perm": int, "read_queues": int, "write_queues": int}],
         "age_ms": int, "policy": str, "binding": str}


class Route(Case):
    cluster_arguments = ("--queues", "2")

    def route(self):
        return json.loads(self.ok("route", "-c", self.config(), self.topic, "--json"))

    def test_it_has_the_promised_shape(self):
        self.send("--body", "x")

        route = self.route()
        self.assertShape(route, ROUTE)
        self.assertEqual((route["topic"], route["order"]), (self.topic, False))
        queues = [{"broker": b, "queue": q} for b in ("broker-a", "broker-b", "broker-c") for q in (0, 1)]
        self.assertEqual((route["publish"], route["subscribe"]), (queues, queues))
        self.assertEqual([(b["name"], b["cluster"], b["perm"], b["read_queues"], b["write_queues"]) for b in route["brokers"]],
                         [(name, "DefaultCluster", 6, 2, 2) for name in ("broker-a", "broker-b", "broker-c")])
        self.assertRegex(route["brokers"][0]["addresses"]["0"], r"^127\.0\.0\.1:\d+$")

    def test_permissions_and_queue_counts_are_told(self):
        self.send("--body", "x")
        self.cluster.tell(f"broker-a perm 4 {self.topic}")
        self.cluster.tell(f"broker-c queues 5 {self.topic}")

        route = self.route()
        self.assertEqual({q["broker"] for q in route["publish"]}, {"broker-b", "broker-c"})
        self.assertEqual({q["broker"] for q in route["subscribe"]}, {"broker-a", "broker-b", "broker-c"})
        self.assertEqual([b["write_queues"] for b in route["brokers"]], [2, 2, 5])

    def test_for_people_it_is_a_table(self):
        self.send("--body", "x")

        said = self.ok("route", "-c", self.config(), self.topic)
        self.assertRegex(said, r"broker-b +DefaultCluster +rw +2 +2 +127\.0\.0\.1:")
        self.assertIn("publish: broker-a 0-1, broker-b 0-1, broker-c 0-1\n", said)

    def test_the_policy_of_the_topic_is_told_with_its_binding(self):
        self.send("--body", "x")
        bound = self.config(rest='[policies.by-order]\nselector = { use = "hash" }\n[[bindings]]\ntopic = "test_the_*"\npolicy = "by-order"\n')
        self.assertEqual((self.route_by(bound)["policy"], self.route_by(bound)["binding"]), ("by-order", "test_the_*"))
        self.assertIn('policy: by-order (binding "test_the_*")\n', self.ok("route", "-c", bound, self.topic))

        # A pattern with a letter too many binds nothing, and nobody was told.
        unbound = self.config(rest='[policies.by-order]\nselector = { use = "hash" }\n[[bindings]]\ntopic = "test_thee_*"\npolicy = "by-order"\n')
        self.assertEqual((self.route_by(unbound)["policy"], self.route_by(unbound)["binding"]), ("default", ""))
        self.assertIn("policy: default (no binding names the topic)\n", self.ok("route", "-c", unbound, self.topic))

    def route_by(self, config):
        return json.loads(self.ok("route", "-c", config, self.topic, "--json"))

    def test_an_unknown_topic_is_told(self):
        self.refused("route", "-c", self.config(), "nosuch", status=1,
                     saying=["topic 'nosuch' is not known to the name servers (127.0.0.1:", "default topic 'TBW102'"])

    def test_no_name_server_is_told(self):
        self.refused("route", "-c", self.config(address="127.0.0.1:1"), "t", status=1, saying="name server 127.0.0.1:1: ")

    def test_characters_no_topic_has_are_wrong_usage(self):
        self.refused("route", "-c", self.config(), "a topic", status=2, saying="TOPIC is 'a topic'; it must be a topic: 1 to 127 of")

    def test_a_cluster_inside_another_process_cannot_be_asked(self):
        config = self.file("embedded.toml", "[producer]\nembedded = true\n")
        self.refused("route", "-c", config, "t", status=2, saying="embedded = true means a cluster inside the sending process")


if __name__ == "__main__":
    main()
