"""Runs the measuring programs of a build and compares what comes out with the bars.

usage: measure.py full|quick BUILD [--accept]
Exit 0: every bar is met. quick: what a busy machine does not change, and few repetitions of the rest. full: the whole table,
with other clients and a real broker beside. --accept writes the counts found as those that later runs are held to.
Instructions are counted by callgrind as the difference of two run lengths, so that the start and the end of a run do not
count. Times are the smallest CPU time of several repetitions: a busy machine makes them larger, never smaller.
"""

import json
import os
import subprocess
import sys
import tempfile

import page
import senders
import table
from senders import Sink

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTS = os.path.join(HERE, "counts.json")

BARS = {
    "decision_ns": 25,          # best-queue, 8 queues, all well: all of it, so more than the plugin adds to the same algorithm inlined
    "flat": 1.5,                # a decision in its dearest situation by the cheapest: 8 to 4,096 queues, none or half of the brokers isolated
    "lookup_ns": 100,           # a whole decision of consistent-hash at 4,096 queues
    "policy_read_ns": 2.5,      # from the epoch mark to the snapshot, beyond one pointer
    "million_sends_s": 4,       # of a scenario, best-queue and latency-fault over 8 queues
    "wide_route_s": 2,          # 10,000 attempts of a scenario on 4,096 queues
    "memory_growth_kib": 2048,  # from 10,000 sends of a scenario to a million
    "exchanging": {"full": 0.98, "quick": 0.8},  # sends a second while policies are exchanged each millisecond, by those without
}
# How far a count may be from the accepted one: what one thread does alone is the same each time, whole sends are not.
BANDS = {"decision": 0.02, "send, one thread": 0.02, "send, async": 0.10, "send, sync": 0.10}

FLAT = ("best_queue", "round_robin", "hash", "random", "power_of_two")
QUEUES, ISOLATED = (8, 256, 4096), (0, 1)


def run(*command, **more):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **more).stdout


def decisions(build, repetitions):
    """ns of CPU for each strategy and size, and for reading what is in force; the best of the repetitions."""
    report = json.loads(run(f"{build}/bin/decision_bench", "--benchmark_format=json", "--benchmark_min_time=0.02",
                            f"--benchmark_repetitions={repetitions}", stderr=subprocess.DEVNULL))
    best = {}
    for row in report["benchmarks"]:
        if row.get("run_type") == "iteration":
            best[row["run_name"]] = min(best.get(row["run_name"], float("inf")), row["cpu_time"])
    return {name.removeprefix("decide/"): round(ns, 1) for name, ns in best.items()}


def cells(decisions_ns, strategy):
    """ns of a strategy in each situation: none isolated at 8, 256, 4,096 queues, then half of them."""
    return [decisions_ns[f"{strategy}/queues:{queues}/half_isolated:{half}"] for half in ISOLATED for queues in QUEUES]


def is_flat(decisions_ns, strategy):
    row = cells(decisions_ns, strategy)
    return max(row) <= BARS["flat"] * min(row)


def policy_read(decisions_ns):
    return round(decisions_ns["read_in_force"] - decisions_ns["read_raw"], 1)


def as_table(decisions_ns):
    """For people: ns, and how many times the cheapest of the row it is."""
    head = [f"{queues} queues{', half' if half else ''}" for half in ISOLATED for queues in QUEUES]
    lines = [f"  {'':<22}" + "".join(f"{title:>19}" for title in head) + "  dearest by cheapest"]
    for strategy in dict.fromkeys(name.split("/")[0] for name in decisions_ns if "/" in name):
        row = cells(decisions_ns, strategy)
        lines.append(f"  {strategy:<22}" + "".join(f"{ns:>10.1f} (x{ns / min(row):<5.2f})" for ns in row) + f"{max(row) / min(row):>10.2f}")
    return "\n".join(lines)


def counts(bench):
    """User instructions: a decision, a send from call to handler on one thread, whole sends with their threads."""
    with Sink(bench.build) as sink, tempfile.TemporaryDirectory() as folder:
        # Without a fault strategy, for which a program under callgrind is slow or not as the machine is busy or not.
        file = f"{folder}/shunt.toml"
        with open(file, "w", encoding="utf-8") as out:
            out.write(f'[producer]\ngroup = "bench"\nname_servers = ["{sink.address}"]\n'
                      '[policies.default]\nselector = { use = "best-queue" }\nfault = { use = "none" }\n')
        count = lambda where, mode, handlers, short, long: round(senders.instructions(bench.clients, where, mode, short, long, handlers=handlers))
        return {"decision": round(senders.instructions(bench.clients, file, "async", 2000, 12000, handlers="own",
                                                       functions=r"^shunt::strategy::decide\(", inclusive=True)),
                "send, one thread": count(file, "async", "own", 2000, 12000),
                "send, async": count(sink.address, "async", "callback", 2000, 12000),
                "send, sync": count(sink.address, "sync", "callback", 500, 2500)}


def table_rows(bench, which):
    rows = []
    for row in which:
        figures = row(bench)
        rows.append({"title": row.__doc__, "figures": [{**vars(f), "met": f.meets(f.must), "in_reach": f.meets(f.aim)} for f in figures]})
        print(rows[-1]["title"])
        for f in rows[-1]["figures"]:
            sign = "at least" if f["at_least"] else "at most"
            bars = "" if f["must"] is None and f["aim"] is None else \
                f"   ({sign} {page.number(f['must']) or '-'}, in reach {page.number(f['aim']) or '-'}){'' if f['met'] else '   MISSED'}"
            print(f"    {f['what']:<48}{page.number(f['value']):>10} {f['unit']}{bars}", flush=True)
    return rows


def main():
    mode, build = sys.argv[1], sys.argv[2]
    quick = mode == "quick"
    peers = None if quick else os.path.join(build, "peers")
    bench = table.Bench(build, peers, 2 if quick else 7)
    result = {"bars": BARS, "conditions": conditions(quick), "decisions_ns": decisions(build, 3 if quick else 15)}
    for _ in range(4):  # a smallest time that was disturbed is not the smallest
        if all(is_flat(result["decisions_ns"], strategy) for strategy in FLAT):
            break
        again = decisions(build, 5)
        result["decisions_ns"] = {name: min(ns, again[name]) for name, ns in result["decisions_ns"].items()}
    print("decision, ns of CPU (half: half of the brokers isolated):")
    print(as_table(result["decisions_ns"]))
    print(f"reading what is in force: {policy_read(result['decisions_ns'])} ns beyond a pointer (at most {BARS['policy_read_ns']})")
    result["scenarios"] = json.loads(run(f"{build}/bin/simulate_bench"))
    print("scenarios:", ", ".join(f"{name} {value} (at most {BARS[name]})" for name, value in result["scenarios"].items()))

    result["counts"] = counts(bench)
    if "--accept" in sys.argv:
        with open(COUNTS, "w", encoding="utf-8") as out:
            json.dump(result["counts"], out, indent=1)
            out.write("\n")
    with open(COUNTS, encoding="utf-8") as accepted:
        result["accepted"] = json.load(accepted)
    for name, n in result["counts"].items():
        print(f"user instructions, {name}: {n} (accepted: {result['accepted'][name]}, {100 * (n / result['accepted'][name] - 1):+.1f} %)")

    result["rows"] = table_rows(bench, table.STEADY if quick else table.ROWS)
    if not quick:
        result["rows"] += real_rows(bench)
    with Sink(build) as sink:
        pairs, window_ms = (11, 200) if quick else (40, 500)
        exchanging = result["exchanging"] = json.loads(run(f"{build}/bin/swap_bench", sink.address, "T", str(pairs), str(window_ms), "4"))
    print(f"an exchange each millisecond ({exchanging['exchanges_per_second']} a second), 4 threads: {exchanging['per_second_exchanging']} sends a "
          f"second against {exchanging['per_second']}; median of {exchanging['pairs']} pairs {exchanging['ratio']} (at least {BARS['exchanging'][mode]})")

    with open(os.path.join(build, "bench.json"), "w", encoding="utf-8") as out:
        json.dump(result, out, indent=1)
    page.write(os.path.join(build, "bench.html"), result)
    print(f"written: {build}/bench.json, {build}/bench.html")
    missed = misses(result, mode)
    for line in missed:
        print("MISSED:", line)
    return 1 if missed else 0


def real_rows(bench):
    """The row that needs a real broker, started for it."""
    with subprocess.Popen([f"{bench.build}/bin/bench_real_broker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        said = process.stdout.readline()
        if not said.startswith("{"):
            raise SystemExit("the real broker did not start")
        bench.real = json.loads(said)
        try:
            return table_rows(bench, [table.real])
        finally:
            process.stdin.close()


def conditions(quick):
    return (f"{os.cpu_count()} cores, {'a quick run: ' if quick else ''}sink and client on the same machine; ratios are medians of rounds in which each "
            "client ran once, in turn.")


def misses(result, mode):
    missed = []
    decision = result["decisions_ns"]["best_queue/queues:8/half_isolated:0"]
    if decision > BARS["decision_ns"]:
        missed.append(f"a decision took {decision} ns; at most {BARS['decision_ns']} are allowed")
    for strategy in FLAT:
        row = cells(result["decisions_ns"], strategy)
        if not is_flat(result["decisions_ns"], strategy):
            missed.append(f"a decision of {strategy} took {row} ns; that is not flat: more than {BARS['flat']} times the cheapest")
    for name, value in result["scenarios"].items():
        if value > BARS[name]:
            missed.append(f"{name} is {value}; at most {BARS[name]} are allowed")
    lookup = max(cells(result["decisions_ns"], "consistent_hash"))
    if lookup > BARS["lookup_ns"]:
        missed.append(f"a look-up of consistent-hash took {lookup} ns; at most {BARS['lookup_ns']} are allowed")
    if policy_read(result["decisions_ns"]) > BARS["policy_read_ns"]:
        missed.append(f"reading what is in force costs {policy_read(result['decisions_ns'])} ns beyond a pointer; at most {BARS['policy_read_ns']} are allowed")
    if result["exchanging"]["ratio"] < BARS["exchanging"][mode]:
        missed.append(f"with an exchange each millisecond there are {result['exchanging']['ratio']} as many sends; at least {BARS['exchanging'][mode]} must be")
    for name, band in BANDS.items():
        found, accepted = result["counts"][name], result["accepted"][name]
        if abs(found / accepted - 1) > band:
            missed.append(f"{name}: {found} instructions; {accepted} were accepted, and {band:.0%} either way are allowed (counts.json)")
    for row in result["rows"]:
        missed += [f"{row['title']}: {f['what']}: {page.number(f['value'])}" for f in row["figures"] if not f["met"]]
    return missed


if __name__ == "__main__":
    sys.exit(main())
