"""The table of figures: each row measures itself against the floor and other clients, run in turn in the same minutes.

A row is a function that returns what it found as a list of `Figure`s. `must` passes, `aim` is what is in reach.
"""

import dataclasses
import os
import statistics
import tempfile
import time

import senders
from senders import Sink, median


@dataclasses.dataclass
class Figure:
    what: str
    value: float
    must: float | None = None  # None: shown only
    aim: float | None = None
    at_least: bool = False     # else at most
    unit: str = ""

    def meets(self, bar):
        return bar is None or (self.value >= bar if self.at_least else self.value <= bar)


class Bench:
    def __init__(self, build, peers, rounds, real=None):
        self.build, self.clients, self.rounds, self.real = build, senders.Clients(build, peers), rounds, real
        self.peers = peers is not None

    def names(self, *wanted):
        return [name for name in wanted if self.peers or name not in ("go", "java")]


def ratio(rows, what, over, under):
    """Median of the rounds' own ratios: what disturbed a round disturbed both."""
    return statistics.median(a[what] / b[what] for a, b in zip(rows[over], rows[under]))


def async_instructions(b):
    """1: async 256 B, 1024 in flight: user instructions a message"""
    with Sink(b.build) as sink:
        return [Figure("user instructions a message", round(senders.instructions(b.clients, sink.address, "async", 2000, 20000)), 8000, 5000)]


def async_rates(b):
    """2, 3: async 256 B: CPU and rate"""
    with Sink(b.build) as sink:
        rows = senders.in_turn(b.clients, b.names("raw-asio", "shunt", "java", "go"), sink.address, "async", b.rounds)
    found = [Figure("CPU by raw-asio's", ratio(rows, "cpu_us", "shunt", "raw-asio"), 3, 2),
             Figure("CPU a message", median(rows["shunt"], "cpu_us"), unit="us"),
             Figure("rate by raw-asio's", ratio(rows, "per_second", "shunt", "raw-asio"), None, 0.5, True),
             Figure("rate", median(rows["shunt"], "per_second"), unit="a second")]
    if b.peers:
        found += [Figure("rate by Java's", ratio(rows, "per_second", "shunt", "java"), 6, None, True),
                  Figure("rate by Go's", ratio(rows, "per_second", "shunt", "go"), 15, None, True)]
    return found


def async_calls(b):
    """4: async 256 B: system calls and allocations a message"""
    with Sink(b.build) as sink:
        calls = senders.system_calls(b.clients, "shunt", sink.address, "async", 20000, 100000)
        allocations = b.clients.run("shunt", sink.address, "async", 50000, LD_PRELOAD=f"{os.path.abspath(b.build)}/bin/bench_allocations.so")
    return [Figure("system calls a message", calls, 0.5, 0.2), Figure("allocations a message", allocations["allocations"], 0.005, 0.0005)]


def async_large(b):
    """5: async 1 KiB and 16 KiB: CPU"""
    found = []
    with Sink(b.build) as sink:
        for size in (1024, 16384):
            rows = senders.in_turn(b.clients, ["raw-asio", "shunt"], sink.address, "async", b.rounds, size=size)
            found += [Figure(f"{size // 1024} KiB: CPU by raw-asio's", ratio(rows, "cpu_us", "shunt", "raw-asio"), 3, 2),
                      Figure(f"{size // 1024} KiB: CPU a message", median(rows["shunt"], "cpu_us"), unit="us")]
    return found


def copies(b):
    """6: async 16 KiB: copies of the body in user space"""
    with Sink(b.build) as sink:
        in_copies = [senders.instructions(b.clients, sink.address, "async", 500, 2500, size=size, functions="memcpy|memmove") for size in (8192, 16384)]
    # A copy of 8 KiB more takes an instruction for each 32 to 64 bytes and a store as often: 256 at least.
    return [Figure("instructions of copying for 8 KiB more", round(in_copies[1] - in_copies[0]), 600, 100),
            Figure("copies", max(0.0, round((in_copies[1] - in_copies[0]) / 256, 1)), unit="at most")]


def sync_one(b):
    """7: sync 256 B, 1 thread, cores kept awake: CPU and p50"""
    with Sink(b.build) as sink, senders.awake():
        rows = senders.in_turn(b.clients, b.names("raw-asio", "shunt", "go"), sink.address, "sync", b.rounds)
    found = [Figure("CPU a message", median(rows["shunt"], "cpu_us"), unit="us"), Figure("p50", median(rows["shunt"], "p50_us"), unit="us"),
             Figure("p50 by raw-asio's", ratio(rows, "p50_us", "shunt", "raw-asio"))]
    if b.peers:
        found += [Figure("CPU by Go's", ratio(rows, "cpu_us", "shunt", "go"), 0.75, 0.45), Figure("p50 by Go's", ratio(rows, "p50_us", "shunt", "go"), 0.75, 0.45)]
    return found


def sync_instructions(b):
    """8: sync 256 B, 1 thread: user instructions a message"""
    with Sink(b.build) as sink:
        return [Figure("user instructions a message", round(senders.instructions(b.clients, sink.address, "sync", 500, 3000)), 15000, 9000)]


def sync_eight(b):
    """9: sync 256 B, 8 threads: rate and CPU"""
    with Sink(b.build) as sink:
        rows = senders.in_turn(b.clients, b.names("raw-asio", "shunt", "java", "go"), sink.address, "sync", b.rounds, threads=8)
    found = [Figure("rate by raw-asio's", ratio(rows, "per_second", "shunt", "raw-asio"), None, 0.8, True),
             Figure("CPU a message", median(rows["shunt"], "cpu_us"), unit="us")]
    if b.peers:
        found += [Figure("rate by Java's", ratio(rows, "per_second", "shunt", "java"), 2, None, True), Figure("CPU by Go's", ratio(rows, "cpu_us", "shunt", "go"), 0.6, 0.5)]
    return found


def sync_many(b):
    """10: sync, the broker takes 1 ms, 64 threads: rate"""
    with Sink(b.build, delay_us=1000) as sink:
        rows = senders.in_turn(b.clients, b.names("raw-asio", "shunt", "java"), sink.address, "sync", b.rounds, threads=64)
    found = [Figure("rate by raw-asio's", ratio(rows, "per_second", "shunt", "raw-asio"), None, 0.85, True)]
    return found + ([Figure("rate by Java's", ratio(rows, "per_second", "shunt", "java"), 1.4, None, True)] if b.peers else [])


def sync_slow(b):
    """11: sync, the broker takes 1 ms, 1 thread: p50 above that"""
    names = b.names("raw-asio", "shunt", "go")
    with Sink(b.build, delay_us=1000) as sink:
        rows = senders.in_turn(b.clients, names, sink.address, "sync", b.rounds, count=1500)
    above = {name: [{"above": row["p50_us"] - 1000} for row in rows[name]] for name in names}
    found = [Figure("p50 above 1 ms", median(above["shunt"], "above"), unit="us"), Figure("by raw-asio's", ratio(above, "above", "shunt", "raw-asio"))]
    return found + ([Figure("by Go's", ratio(above, "above", "shunt", "go"), 0.9, 0.65)] if b.peers else [])


def oneway(b):
    """12: one-way 256 B (async, at most 1024 not yet written): CPU and rate"""
    with Sink(b.build) as sink:
        rows = senders.in_turn(b.clients, b.names("raw-fmt", "shunt", "go"), sink.address, "oneway", b.rounds)
    found = [Figure("CPU a message", median(rows["shunt"], "cpu_us"), 2.5, 1.2, unit="us"), Figure("rate", median(rows["shunt"], "per_second"), unit="a second")]
    return found + ([Figure("rate by Go's", ratio(rows, "per_second", "shunt", "go"), 10, None, True)] if b.peers else [])


def batch(b):
    """13: batches of 32 x 256 B, sync, one at a time: CPU and rate"""
    with Sink(b.build) as sink:
        rows = senders.in_turn(b.clients, b.names("raw-fmt", "shunt", "go"), sink.address, "batch", b.rounds)
    found = [Figure("CPU a message", median(rows["shunt"], "cpu_us"), unit="us"), Figure("rate by raw-fmt's", ratio(rows, "per_second", "shunt", "raw-fmt"))]
    if b.peers:
        found += [Figure("CPU by Go's", ratio(rows, "cpu_us", "shunt", "go"), 0.6, 0.45), Figure("rate by Go's", ratio(rows, "per_second", "shunt", "go"), 1.05, 1.3, True)]
    return found


def many_queues(b):
    """14: 8, 256, 4,096 queues, none and half of the brokers isolated: change of user instructions a message"""
    counts = {}
    for queues in (4, 128, 2048):
        for faults in ((), ("1=refuse",)):
            with Sink(b.build, 2, queues, faults=faults) as sink:
                counts[queues * 2, len(faults)] = senders.instructions(b.clients, sink.address, "async", 2000, 20000)
    base = counts[8, 0]
    found = [Figure(f"{queues} queues{', half isolated' if half else ''}", abs(n / base - 1) * 100, 3, 1, unit="% of that with 8")
             for (queues, half), n in counts.items() if (queues, half) != (8, 0)]
    return found


def cold_start(b):
    """16: from the start of the program to the first receipt, with a configuration file and its plugins"""
    took = {name: [] for name in b.names("shunt", "go")}
    with Sink(b.build) as sink, tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/shunt.toml"
        with open(file, "w", encoding="utf-8") as out:
            out.write(f'[producer]\ngroup = "bench"\nname_servers = ["{sink.address}"]\n'
                      '[policies.default]\nselector = { use = "best-queue" }\nfault = { use = "latency-fault" }\n')
        for _ in range(3 * b.rounds):
            for name, all_of in took.items():
                process = b.clients.start(name, file if name == "shunt" else sink.address, "sync", 0, BENCH_READY="1")
                all_of.append(senders.until_ready(process))
                process.communicate(timeout=60)
    found = [Figure("median", statistics.median(took["shunt"]), 8.6, 6.4, unit="ms"), Figure("smallest", min(took["shunt"]), unit="ms")]
    return found + ([Figure("by Go's", statistics.median(took["shunt"]) / statistics.median(took["go"]))] if b.peers else [])


def footprint(b, seconds=20):
    """17, 18, 19: memory, threads, wake-ups"""
    with Sink(b.build) as sink:
        process = b.clients.start("shunt", sink.address, "sync", 0, BENCH_READY="1", BENCH_IDLE="1")
        senders.until_ready(process)
        time.sleep(1)
        before = senders.state_of(process.pid)
        time.sleep(seconds)
        after = senders.state_of(process.pid)
        process.communicate(timeout=60)
        busy = b.clients.run("shunt", sink.address, "async", 100000)
        topics = b.clients.run("shunt", sink.address, "first", 300, threads=16)
    return [Figure("idle RSS", after["rss_kb"] / 1024, 12, 8, unit="MiB"), Figure("of it anonymous", after["anon_kb"] / 1024, 3, unit="MiB"),
            Figure("peak under async load", busy["peak_rss_kb"] / 1024, 16, 12, unit="MiB"),
            Figure("own threads, idle", after["threads"] - 1, 3, 1), Figure("own threads, async with handlers of no executor", busy["os_threads"] - 1, 3, 1),
            Figure("more threads by 300 topics and 16 callers", topics["os_threads"] - after["threads"], 0, 0),
            Figure("wake-ups a second, idle", (after["woken"] - before["woken"]) / seconds, 0.6, 0.3)]


def many_topics(b):
    """20: 1,000 topics, the first send to each"""
    names = b.names("shunt", "go")
    with Sink(b.build) as sink:
        rows = senders.in_turn(b.clients, names, sink.address, "first", b.rounds, count=1000)
        together = [b.clients.run("shunt", sink.address, "together", 1000, topic=f"t{n}")["seconds"] * 1000 for n in range(b.rounds)]
    found = [Figure("one after another, each", median(rows["shunt"], "seconds") * 1000, unit="us"), Figure("asked together, all", statistics.median(together), 100, 40, unit="ms")]
    return found + ([Figure("one after another by Go's", ratio(rows, "seconds", "shunt", "go"), 1, 0.6)] if b.peers else [])


def faulty(b, fault, count):
    with Sink(b.build, 3, 4, faults=[fault] if fault else []) as sink, tempfile.NamedTemporaryFile("r") as dump:
        row = b.clients.run("shunt", sink.address, "sync", count, BENCH_DUMP=dump.name)
        latencies = sorted(int(line) for line in dump)
        by_broker = sink.end()
    return row, latencies, by_broker


def hanging(b):
    """21: 1 of 3 brokers hangs, sync, timeout 3 s"""
    row, latencies, _ = faulty(b, "2=hang", 60)
    return [Figure("failed sends", row["failed"], 0, 0), Figure("slow sends (over 100 ms)", sum(us > 100_000 for us in latencies), 1, 1),
            Figure("the slowest", latencies[-1] / 1e6, 1.1, unit="s")]


def closing(b):
    """22: 1 of 3 brokers closes the connection on a send"""
    row, latencies, _ = faulty(b, "2=close", 600)
    return [Figure("failed sends", row["failed"], 0, 0), Figure("the slowest", latencies[-1] / 1000, 50, 5, unit="ms")]


def refusing(b):
    """23: 1 of 3 brokers refuses connections, or answers SYSTEM_BUSY"""
    found = []
    for fault, words in (("2=refuse", "refuses"), ("2=busy", "busy")):
        ratios = []
        for _ in range(b.rounds):
            _, healthy, _ = faulty(b, None, 2000)
            row, latencies, _ = faulty(b, fault, 2000)
            ratios.append(latencies[int(0.99 * len(latencies))] / healthy[int(0.99 * len(healthy))])
            if row["failed"]:
                break
        found += [Figure(f"{words}: failed sends", row["failed"], 0, 0), Figure(f"{words}: p99 by the healthy one's", statistics.median(ratios), 2)]
    return found


def slow(b):
    """24: 1 of 3 brokers answers after 500 ms, avoidance on"""
    row, _, by_broker = faulty(b, "2=slow:500000", 60)
    return [Figure("failed sends", row["failed"], 0, 0), Figure("sends that land there", by_broker[2], 3, 1)]


def real(b):
    """25: a real broker 5.3.2, async 256 B: rate"""
    rows = {name: [] for name in b.names("raw-handoff", "shunt", "java")}
    for _ in range(b.rounds):
        for name in rows:
            rows[name].append(b.clients.run(name, b.real["name_server"], "async", 40000, topic=b.real["topic"],
                                            RAW_BROKER=b.real["broker"], RAW_QUEUES="8", BENCH_WARM="20000"))
    found = [Figure("rate by raw-handoff's", ratio(rows, "per_second", "shunt", "raw-handoff"), 0.8, 0.9, True), Figure("rate", median(rows["shunt"], "per_second"), unit="a second")]
    return found + ([Figure("rate by Java's", ratio(rows, "per_second", "shunt", "java"), 1.5, None, True)] if b.peers else [])


ROWS = [async_instructions, async_rates, async_calls, async_large, copies, sync_one, sync_instructions, sync_eight, sync_many, sync_slow, oneway,
        batch, many_queues, cold_start, footprint, many_topics, hanging, closing, refusing, slow]
# What does not depend on what else the machine does: instructions, allocations, counts.
STEADY = [async_instructions, async_calls, copies, sync_instructions, many_queues, hanging]
