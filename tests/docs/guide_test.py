"""plugins/README.md as the guide for choosing: its figures are those of the scenarios, its parameters those of the plugins, and
what README.md says of one slow broker is what the program says.

usage: guide_test.py SOURCE BUILD            compares
       guide_test.py SOURCE BUILD --write    writes the figures anew (they are exact: time is virtual in scenarios)
"""

import difflib
import functools
import json
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1])
BUILD = pathlib.Path(sys.argv[2])
SHUNT = BUILD / "bin" / "shunt"
GUIDE = SOURCE / "plugins" / "README.md"
BEGIN, END = "<!-- figures of the scenarios: written by tests/docs/guide_test.py -->\n", "<!-- end of the figures -->\n"

# What is compared, by scenario; the brokers that are in trouble in it.
TROUBLE = [
    ("one slow", "one-slow", ["b"]),
    ("one hanging", "one-hanging", ["b"]),
    ("one refusing", "one-refusing", ["b"]),
    ("one failing", "one-failing", ["b"]),
    ("rolling restart", "rolling-restart", []),
    ("flapping", "flapping", ["b"]),
    ("all slow", "all-slow", []),
    ("64 brokers", "sixty-four-brokers", []),
    ("small deadline", "small-deadline", ["b"]),
]
BY_LOAD_OR_TURN = ["best-queue", "least-inflight", "power-of-two", "random", "round-robin"]


def shunt(*arguments):
    done = subprocess.run([SHUNT, *map(str, arguments)], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120)
    assert done.returncode == 0, f"{arguments}: {done.stderr}"
    return done.stdout


def scenario(name):
    return SOURCE / "config" / "scenarios" / (name + ".toml")


@functools.cache
def ranked(name):
    """The runs of a scenario with every policy, the best first."""
    return json.loads(shunt("simulate", scenario(name), "--rank", "--json"))["runs"]


def run_of(name, policy):
    return next(run for run in ranked(name) if run["policy"].split(" > ")[-1] == policy)


USUAL = "best-queue + latency-fault"


def best_of(name):
    """The best run's policy, as words: the default if it is as good, else with whatever fault strategies make no difference."""
    def rank(run):
        return lost(run), run["out_of_order"], run["summary"]["latency_ms"]["p99"], run["mean_ms"], run["summary"]["attempts"]
    ties = [run["policy"] for run in ranked(name) if rank(run) == rank(ranked(name)[0])]
    if USUAL in ties:
        return f"`{USUAL}`"
    selector = ties[0].split(" + ")[0]
    faults = [policy.split(" + ")[1] for policy in ties if policy.startswith(selector + " + ")]
    return f"`{selector}`, any fault strategy" if len(faults) == 3 else f"`{selector} + {'latency-fault' if 'latency-fault' in faults else faults[0]}`"


# ---- cells ----

def lost(run):
    return run["summary"]["sends"] - run["summary"]["stored"]


def more(run):
    """Attempts beyond the first of each send."""
    return max(0, run["summary"]["attempts"] - run["summary"]["sends"])


def share(run, brokers):
    of = sum(b["attempts"] for b in run["summary"]["brokers"] if b["broker"] in brokers)
    return f"{100 * of / run['summary']['attempts']:.1f} %"


def ms(value):
    return f"{value / 1000:g} s" if value >= 10000 else f"{value:g} ms"


def cell(run, brokers):
    parts = [f"{ms(round(run['mean_ms'], 1))}, p99 {ms(run['summary']['latency_ms']['p99'])}"]
    if more(run):
        parts.append(f"{more(run)} more")
    if lost(run):
        parts.append(f"**{lost(run)} lost**")
    if brokers:
        parts.append(share(run, brokers))
    return "; ".join(parts)


def table(head, rows):
    return "".join("| " + " | ".join(row) + " |\n" for row in [head, ["---"] * len(head), *rows])


def link(title, name):
    return f"[{title}](../config/scenarios/{name}.toml)"


def figures():
    out = "### What to take\n\nThe best of all policies there are in each situation, beside the default. `shunt simulate FILE --rank` prints the whole list.\n\n"
    rows = []
    for title, name, _ in TROUBLE:
        best, usual = ranked(name)[0], run_of(name, USUAL)
        rows.append([link(title, name), best_of(name), cell(best, []), cell(usual, [])])
    out += table(["situation", "best", "mean and p99 of its sends", "of the default, `best-queue` + `latency-fault`"], rows)

    trouble = [link(title, name) for title, name, _ in TROUBLE]
    out += ("\n### Selectors\n\nWith `latency-fault`. Each cell: mean and p99 of the sends; attempts made again (`more`); sends not stored (`lost`); the part of all "
            "attempts\nthat went to the broker in trouble.\n\n")
    out += table(["situation", *(f"`{s}`" for s in BY_LOAD_OR_TURN)],
                 [[trouble[i], *(cell(run_of(name, f"{s} + latency-fault"), bad) for s in BY_LOAD_OR_TURN)] for i, (_, name, bad) in enumerate(TROUBLE)])

    out += "\n### Fault strategies\n\nWith `best-queue`, and with `power-of-two`; cells as above.\n\n"
    pairs = [(s, f) for s in ("best-queue", "power-of-two") for f in ("none", "latency-fault", "circuit-breaker")]
    out += table(["situation", *(f"`{s}` + `{f}`" for s, f in pairs)],
                 [[trouble[i], *(cell(run_of(name, f"{s} + {f}"), bad) for s, f in pairs)] for i, (_, name, bad) in enumerate(TROUBLE)])

    out += "\n### Keys, weights, rooms\n\n"
    selectors = ["hash", "consistent-hash", "best-queue", "least-inflight"]
    scale, hot = [[run_of(name, s + " + none") for s in selectors] for name in ("scale-out", "hot-key")]
    rows = [[link("scale-out", "scale-out") + ": keys moved", *(f"{r['keys_moved']} of {r['keys']}" for r in scale)],
            [link("hot key", "hot-key") + ": out of order", *(f"{r['out_of_order']}" for r in hot)],
            [link("hot key", "hot-key") + ": sends", *(cell(r, []) for r in hot)]]
    out += table(["situation", *(f"`{s}` + `none`" for s in selectors)], rows) + "\n"
    selectors = ["weighted-round-robin", "weighted-random", "best-queue", "least-inflight"]
    out += table(["situation", *(f"`{s}`" for s in selectors)],
                 [[link("weights changed", "weights-changed") + ": part of `small`, of 1/9 for 400 sends, then of 1/3 for 500: 23.5 %",
                   *(share(run_of("weights-changed", s + " + latency-fault"), ["small"]) for s in selectors)]]) + "\n"
    selectors = ["machine-room", "best-queue", "least-inflight"]
    out += table(["situation", *(f"`{s}`" for s in selectors)],
                 [[link("room lost", "room-lost") + ": part of the wanted room", *(share(run_of("room-lost", s + " + latency-fault"), ["east-1", "east-2"]) for s in selectors)],
                  [link("room lost", "room-lost") + ": sends", *(cell(run_of("room-lost", s + " + latency-fault"), []) for s in selectors)]])
    return out


def split_guide():
    text = GUIDE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    inside, after = rest.split(END)
    return before, inside, after


class Answer:
    """The README's command about one slow broker, what it shows of the output, and the output."""

    def __init__(self):
        self.page = (SOURCE / "README.md").read_text(encoding="utf-8")
        self.block, = re.findall(r"^```console\n(\$ shunt simulate .*?)^```", self.page, re.M | re.S)
        self.command, *self.shown = self.block.rstrip("\n").split("\n")
        program, *arguments = shlex.split(self.command.removeprefix("$ "))
        assert program == "shunt" and len(self.shown) > 3 and self.shown[-1] == "..."
        done = subprocess.run([SHUNT, *arguments], cwd=SOURCE, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
        assert done.returncode == 0, done.stderr
        self.printed = [line.rstrip() for line in done.stdout.split("\n")[:len(self.shown) - 1]]


def write():
    before, _, after = split_guide()
    GUIDE.write_text(before + BEGIN + figures() + END + after, encoding="utf-8")
    answer = Answer()
    block = "\n".join([answer.command, *answer.printed, "...", ""])
    (SOURCE / "README.md").write_text(answer.page.replace(answer.block, block), encoding="utf-8")


# ---- tests ----

class Figures(unittest.TestCase):
    maxDiff = None

    def test_are_those_of_the_scenarios(self):
        wanted, found = figures(), split_guide()[1]
        difference = "".join(difflib.unified_diff(found.splitlines(True), wanted.splitlines(True), "plugins/README.md", "the scenarios"))
        self.assertEqual(difference, "", f"\n{difference}\nrun: python3 tests/docs/guide_test.py . build/PRESET --write")

    def test_rank_what_the_pages_recommend(self):
        # In the words of the guide: who sees load does better with a slow broker than who takes turns, whatever the fault strategy ...
        for fault in ("none", "latency-fault", "circuit-breaker"):
            for selector in ("least-inflight", "power-of-two"):
                self.assertLess(run_of("one-slow", f"{selector} + {fault}")["mean_ms"] * 2, run_of("one-slow", f"round-robin + {fault}")["mean_ms"])
        # ... latency-fault helps against every kind of trouble with one broker ...
        for name in ("one-slow", "one-hanging", "one-refusing", "one-failing", "rolling-restart"):
            helped, alone = run_of(name, "best-queue + latency-fault"), run_of(name, "best-queue + none")
            self.assertLess((lost(helped), helped["mean_ms"], more(helped)), (lost(alone), alone["mean_ms"], more(alone)), name)
        # ... but a selector that does not ask ...
        self.assertEqual(run_of("one-slow", "round-robin + latency-fault")["summary"], run_of("one-slow", "round-robin + none")["summary"])
        # ... circuit-breaker does not mind slowness, and no policy loses a message where a broker is left.
        self.assertGreater(run_of("one-slow", "best-queue + circuit-breaker")["mean_ms"], run_of("one-slow", "best-queue + latency-fault")["mean_ms"])
        for _, name, _ in TROUBLE[:8]:
            self.assertEqual(lost(run_of(name, "best-queue + latency-fault")), 0, name)
        # Keys: few moved by the one, nearly all by the other.
        self.assertLess(run_of("scale-out", "consistent-hash + none")["keys_moved"], 1.15 * 1000 / 3)
        self.assertGreater(run_of("scale-out", "hash + none")["keys_moved"], 600)
        self.assertEqual(run_of("hot-key", "hash + none")["out_of_order"], 0)


class Pages(unittest.TestCase):
    """Each strategy's section says when to take it, what it costs, what it does when a broker fails, and its parameters."""

    @classmethod
    def setUpClass(cls):
        text = GUIDE.read_text(encoding="utf-8")
        cls.sections = {name: body for name, body in re.findall(r"^## ([a-z0-9-]+)\n(.*?)(?=^## |\Z)", text, re.M | re.S)}
        cls.listed = re.findall(r"^\| \[`([a-z0-9-]+)`\]\(#", text, re.M)
        cls.strategies = {s["name"]: s for s in map(json.loads, shunt("plugin", "list", "--json").splitlines())}

    def test_there_is_one_of_each_strategy(self):
        self.assertEqual(len(self.strategies), 13)
        self.assertEqual(sorted(self.listed), sorted(self.strategies))
        self.assertEqual(set(self.sections) & set(self.strategies), set(self.strategies))

    def test_they_are_complete(self):
        for name in self.strategies:
            for part in ("**When**:", "**Cost**:", "**A broker fails**:"):
                self.assertIn(part, self.sections[name], name)

    def test_parameters_are_those_that_the_plugin_declares(self):
        types = {"true or false": "boolean", "whole number": "whole number", "number": "number", "duration": "duration", "text": '"',
                 "array of text": "strings", "array of duration": "durations"}
        for name in self.strategies:
            declared = {p["name"]: p for p in json.loads(shunt("plugin", "describe", name, "--json"))["parameters"]}
            rows = re.findall(r"^\| `([a-z_]+)` \| (.*?) \| (.*?) \| (.*) \|$", self.sections[name], re.M)
            self.assertEqual([row[0] for row in rows], list(declared), name)
            self.assertEqual("**Parameters**: none" in self.sections[name], not declared, name)
            for parameter, kind, default, says in rows:
                p = declared[parameter]
                with self.subTest(f"{name}.{parameter}"):
                    self.assertIn(types[p["type"]], kind)
                    self.assertTrue(says)
                    for choice in p["choices"]:
                        self.assertIn(f'`"{choice}"`', kind)
                    if p["required"]:
                        self.assertEqual(default, "required")
                    elif p["default"]:
                        self.assertEqual(default, f"`{p['default']}`")
                    least = p["range"].get("min", "0")
                    if not re.match(r"0\D*$", least):
                        self.assertIn(least, kind, "its smallest value")


class Question(unittest.TestCase):
    """"Which strategy should I take if one broker in three gets slow?" One command of README.md answers it."""

    def test_is_answered_by_the_readme_and_by_its_command(self):
        answer = Answer()
        self.assertEqual(answer.printed, answer.shown[:-1])
        best = answer.printed[1].split(" + ")[0]
        self.assertIn(f"`{best}`", answer.page.split(answer.block)[1][:600], "and the words below name the best")


if __name__ == "__main__":
    if sys.argv[3:] == ["--write"]:
        write()
    else:
        unittest.main(argv=[sys.argv[0], "-v"])
