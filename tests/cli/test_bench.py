"""shunt bench: what sending costs, in numbers a program can read."""

import json
import os

from support import Case, main, shunt

RESULT = {
    "mode": str, "size": int, "count": int, "in_flight": int, "threads": int, "sent": int, "stored": int, "seconds": float, "rate": float,
    "latency_us": {"p50": int, "p95": int, "p99": int, "p999": int, "max": int}, "by_queue": {...: int}, "by_broker": {...: int},
    "cpu_us_per_message": float, "writes_per_message": float, "peak_rss_bytes": int, "counters": {"writes": int},
}


class Bench(Case):
    def bench(self, *arguments):
        return json.loads(self.ok("bench", "--name-server", self.cluster.address, "-t", self.topic, "--json", *arguments))

    def test_it_has_the_promised_shape(self):
        result = self.bench("--count", 3000, "--size", 100)

        self.assertShape(result, RESULT)
        self.assertEqual((result["mode"], result["sent"], result["stored"], result["size"]), ("async", 3000, 3000, 100))
        self.assertEqual(sum(result["by_broker"].values()), 3000)
        for broker in "broker-a", "broker-b", "broker-c":
            self.assertAlmostEqual(result["by_broker"][broker], 1000, delta=50)
        self.assertAlmostEqual(result["rate"], 3000 / result["seconds"], delta=result["rate"] / 100)
        self.assertGreater(result["peak_rss_bytes"], 1 << 20)
        self.assertGreater(result["cpu_us_per_message"], 0)
        # No more than all processors can have spent in that time; the clock of CPU time may be as coarse as 10 ms.
        self.assertLess(result["cpu_us_per_message"] * 3000, result["seconds"] * 1e6 * os.cpu_count() + 50_000)
        self.assertEqual({len(m["body"]) for m in self.tail("--count", 10)}, {100})

    def test_a_sync_send_is_a_write_each_and_async_ones_share_them(self):
        sync = self.bench("--count", 300, "--mode", "sync")
        many = self.bench("--count", 20000, "--mode", "async", "--in-flight", 1000)

        self.assertGreaterEqual(sync["writes_per_message"], 1)
        self.assertLess(many["writes_per_message"], 0.5)

    def test_every_mode_and_more_threads(self):
        for arguments in (["--mode", "oneway"], ["--mode", "sync", "--threads", 3], ["--mode", "async", "--threads", 2, "--in-flight", 10]):
            with self.subTest(arguments=arguments):
                result = self.bench("--count", 500, *arguments)
                self.assertEqual((result["sent"], result["not_sent"]), (500, 0))

    def test_for_people_it_tells_rate_latencies_and_cost(self):
        said = self.ok("bench", "-c", self.config(), "-t", self.topic, "--count", 600)
        self.assertRegex(said, r"600 messages in .*/s: 600 stored")
        self.assertIn("latency: p50 ", said)
        self.assertRegex(said, r"cost: [\d.]+ us CPU and [\d.]+ writes a message, [\d.]+ MiB at most")

    def test_where_to_send_is_one_of_two(self):
        self.refused("bench", "--count", 1, status=2, saying="--name-server")
        self.refused("bench", "--count", 1, "-c", self.config(), "--name-server", "a:1", status=2, saying="--name-server")

    def test_nobody_there_is_told(self):
        config = self.config(address="127.0.0.1:1", producer='send_timeout = "200ms"')
        ended = shunt("bench", "-c", config, "--count", 10, "--json")
        self.assertEqual(ended.returncode, 1)
        self.assertEqual(json.loads(ended.stdout)["not_sent"], 10)
        self.assertIn("10 not_sent", ended.stderr)


if __name__ == "__main__":
    main()
