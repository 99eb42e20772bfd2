"""Who sends: shunt, the raw loops, other clients; and the sink they send to."""

import contextlib
import glob
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import tempfile
import time

# What a sender of another client, or a raw loop, prints: one line.
COLUMNS = ("client,mode,bytes,threads,in_flight,ok,failed,seconds,per_second,p50_us,p95_us,p99_us,p999_us,max_us,user_us,system_us,"
           "switches,peak_rss_kb,os_threads").split(",")

# How many messages a run has, so that one takes a second or so: (shunt and raw loops, Go, Java).
COUNTS = {
    ("async", 256): (600000, 40000, 60000), ("async", 1024): (400000, 40000, 60000), ("async", 16384): (60000, 20000, 30000),
    ("oneway", 256): (600000, 60000, 40000), ("batch", 256): (320000, 320000, 320000), ("sync", 256): (40000, 20000, 20000),
}


class Sink:
    """The loopback server that answers and stores nothing, on ports that are free. `faults`: "2=hang" and the like."""

    def __init__(self, build, brokers=1, queues=8, delay_us=0, faults=()):
        self.command = [f"{build}/bin/bench_sink"]
        self.shape = [str(brokers), str(queues), str(delay_us), *faults]
        self.brokers = brokers

    def __enter__(self):
        for _ in range(20):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            if port + self.brokers > 65000:
                continue
            self.process = subprocess.Popen([*self.command, str(port), *self.shape], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline and self.process.poll() is None:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        self.address = f"127.0.0.1:{port}"
                        return self
                time.sleep(0.01)
            self.process.kill()
            self.process.communicate()
        raise SystemExit("the sink did not start")

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Sends by broker, as the sink saw them."""
        if self.process.poll() is not None:
            return []
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=20)[0]
        by = re.search(r"sends_by_broker=(\S+)", said)
        return [int(n) for n in by[1].split("/")] if by else []


class Clients:
    """Starts one run of a client and reads its line. `peers`: the folder peers/build.sh filled, or None."""

    def __init__(self, build, peers):
        self.build, self.peers = build, peers

    def command(self, client, where, topic, mode, count, size, threads, in_flight, handlers):
        work = [where, topic, mode, str(count), str(size), str(threads), str(in_flight)]
        if client == "shunt":
            return [f"{self.build}/bin/send_bench", *work, handlers]
        if client == "raw-asio":
            return [f"{self.build}/bin/bench_raw_asio", *work]
        if client.startswith("raw-"):
            return [f"{self.build}/bin/bench_raw_loop", *work]
        if client == "go":
            return [f"{self.peers}/go_send", *work]
        return ["java", "-Xmx256m", "-cp", f"{self.peers}/java:{self.peers}/java/lib/*", "RocketmqJavaSend", *work]

    def start(self, client, where, mode, count, size=256, threads=1, in_flight=1024, topic="bench", handlers="callback", wrap=(), **env):
        if client == "java" and "BENCH_WARM" not in env and count > 0:
            env["BENCH_WARM"] = str(min(count, 20000))
        if client.startswith("raw-"):
            env["RAW_VARIANT"] = client[4:]
        return subprocess.Popen([*wrap, *self.command(client, where, topic, mode, count, size, threads, in_flight, handlers)],
                                env={**os.environ, **env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, client, where, mode, count=None, size=256, **more):
        if count is None:
            shunt, go, java = COUNTS[mode, size]
            count = {"go": go, "java": java}.get(client, shunt)
        process = self.start(client, where, mode, count, size, **more)
        out, err = process.communicate(timeout=300)
        row = read(out)
        if row is None:
            raise SystemExit(f"{client} {mode}: no row\n{out}{err}")
        row["err"] = err
        return row


def read(out):
    """One row, from JSON or CSV; None: there is none."""
    for line in reversed(out.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
        values = line.split(",")
        if len(values) == len(COLUMNS) and re.match(r"(raw|client)-", line):
            row = {name: value if name in ("client", "mode") else float(value) for name, value in zip(COLUMNS, values)}
            row["cpu_us"] = row["user_us"] + row["system_us"]
            return row
    return None


def in_turn(clients, names, where, mode, rounds, size=256, **more):
    """Each client once a round, in turn; {client: [row, ...]}."""
    rows = {name: [] for name in names}
    for n in range(rounds):
        order = names[n % len(names):] + names[:n % len(names)]
        for name in order:
            rows[name].append(clients.run(name, where, mode, size=size, **more))
    return rows


def median(rows, what):
    return statistics.median(row[what] for row in rows)


def instructions(clients, where, mode, short, long, size=256, handlers="callback", functions=None, inclusive=False, **more):
    """User instructions a message: the difference of two run lengths. With `functions`, of those whose names match, or with all they call."""
    counts = []
    for n in (short, long):
        with tempfile.NamedTemporaryFile() as profile:
            process = clients.start("shunt", where, mode, n, size, handlers=handlers,
                                    wrap=["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile.name}"], **more)
            out, err = process.communicate(timeout=600)
            if process.returncode != 0:
                raise SystemExit(f"under callgrind: {out}{err}")
            if functions is None:
                counts.append(int(re.search(r"Collected : (\d+)", err).group(1)))
            else:
                counts.append(sum(costs(profile.name, functions, inclusive).values()))
    return (counts[1] - counts[0]) / (long - short)


def costs(profile, pattern, inclusive=False):
    """Instructions of each function whose name matches; of itself, or with all that it calls."""
    said = subprocess.run(["callgrind_annotate", "--threshold=100", f"--inclusive={'yes' if inclusive else 'no'}", profile], check=True,
                          capture_output=True, text=True).stdout
    found = {}
    for line in said.splitlines():
        row = re.match(r"\s*([\d,]+)\s+\(\s*[\d.]+%\)\s+\S+?:(.*?)(?: \[|$)", line)
        if row and re.search(pattern, row[2]):
            found[row[2]] = found.get(row[2], 0) + int(row[1].replace(",", ""))
    return found


def system_calls(clients, client, where, mode, short, long, **more):
    """A message, by strace: the difference of two run lengths."""
    counts = []
    for n in (short, long):
        with tempfile.NamedTemporaryFile("r") as table:
            process = clients.start(client, where, mode, n, wrap=["strace", "-f", "-c", "-o", table.name], **more)
            process.communicate(timeout=300)
            total = re.search(r"^\s*100\.00\s+\S+\s+(?:\S+\s+)?(\d+)\s+(?:\d+\s+)?total", table.read(), re.M)
            counts.append(int(total[1]))
    return (counts[1] - counts[0]) / (long - short)


@contextlib.contextmanager
def awake():
    """Cores that do not go idle: one spinner of the lowest class on each; it takes time from nobody who wants it."""
    spinners = [subprocess.Popen(["taskset", "-c", str(core), "chrt", "-i", "0", "sh", "-c", "while :; do :; done"])
                for core in sorted(os.sched_getaffinity(0))]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def until_ready(process):
    """Milliseconds from now until the program says that it sent its first message."""
    began = time.monotonic()
    for line in process.stderr:
        if line.startswith("ready"):
            return (time.monotonic() - began) * 1000
    raise SystemExit("a sender ended before its first message was stored")


def state_of(pid):
    """What /proc tells of a process: threads, memory in KiB, how often its threads were woken."""
    woken = 0
    for file in glob.glob(f"/proc/{pid}/task/*/status"):
        with contextlib.suppress(OSError), open(file, encoding="utf-8") as f:
            woken += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", f.read(), re.M)[1])
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        text = f.read()
    number = lambda name: int(re.search(rf"^{name}:\s*(\d+)", text, re.M)[1])
    return {"threads": number("Threads"), "rss_kb": number("VmRSS"), "anon_kb": number("RssAnon"), "peak_kb": number("VmHWM"), "woken": woken}
