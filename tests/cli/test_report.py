"""shunt simulate --report: the page, opened in a browser. What it shows is what --json and --decisions say."""

import html
import json
import os
import re
import shutil
import subprocess
import unittest

from support import Case, SOURCE, lines_of_json, main, shunt

BROWSER = "chromium-headless-shell"
# No host is found, and the browser's own sandbox, which root may not have, is off.
FLAGS = ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=5000", "--hide-scrollbars"]
SCENARIOS = os.path.join(SOURCE, "config", "scenarios")

LISTEN = """<script>
window.wrong = [];
addEventListener("error", event => wrong.push(event.message));
console.error = (...all) => wrong.push(all.join(" "));
</script>"""

# Points at each picture in the middle of some pieces, and notes down all that is shown.
LOOK = """<script>
addEventListener("load", () => {
  const text = e => e.textContent, all = (e, what) => [...e.querySelectorAll(what)];
  const tip = document.getElementById("tip");
  const point = (e, x, y) => {
    e.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
    const said = tip.style.display === "block" ? tip.textContent : "";
    const box = tip.getBoundingClientRect();
    const inside = box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
    e.dispatchEvent(new PointerEvent("pointerleave", { bubbles: true }));
    return { said, inside: inside || !said, gone: tip.style.display === "none" };
  };
  const rows = table => all(table, "tr").map(tr => all(tr, "td,th").map(text));
  const colors = getComputedStyle(document.body);
  const seen = {
    wrong, resources: performance.getEntriesByType("resource").map(r => r.name),
    title: text(document.getElementById("title")), back: colors.backgroundColor, ink: colors.color,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    width: innerWidth, scroll: document.documentElement.scrollWidth,
    compared: all(document, '[data-table="compared"]').map(rows),
    best: all(document, '[data-table="compared"] td.best').map(text),
    legend: all(document, "#brokers > *").map(text),
    runs: all(document, "section").map(section => ({
      policy: text(section.querySelector("h2")),
      facts: Object.fromEntries(all(section, "[data-fact]").map(e => [e.dataset.fact, text(e)])),
      brokers: rows(section.querySelector('[data-table="brokers"]')),
      pictures: Object.fromEntries(all(section, "svg").map(svg => {
        const area = svg.getBoundingClientRect(), wide = svg.viewBox.baseVal.width;
        const drawn = all(svg, "rect, path").filter(e => { const b = e.getBBox(); return b.width > 0 && b.height >= 0; }).length;
        const pieces = DATA_PIECES;
        const points = svg.dataset.picture === "keys"
          ? all(svg, "path").map(e => point(e, area.left + area.width / 2, area.top + 5))
          : pieces.map(ms => point(svg, area.left + (54 + ms / DATA_END * (wide - 64)) / wide * area.width, area.top + 5));
        return [svg.dataset.picture, { drawn, points, scale: area.width / wide, left: area.left, right: area.right,
                                       label: svg.getAttribute("aria-label"), texts: all(svg, "text").map(text) }];
      })),
    })),
  };
  document.body.append(Object.assign(document.createElement("pre"), { id: "seen", textContent: JSON.stringify(seen) }));
});
</script>"""


def browse(page, *flags):
    return subprocess.run([BROWSER, *FLAGS, *flags, "file://" + page], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)


def number(text):
    """The digits of "1,234 ms"; seconds become milliseconds."""
    value, unit = re.fullmatch(r"([\d,.]+) ?(.*)", text).groups()
    value = float(value.replace(",", ""))
    return round(value * 1000) if unit == "s" else value


def nearest_rank(values, per_mille):
    return sorted(values)[-(-len(values) * per_mille // 1000) - 1]


class Page:
    """A page that was written for a scenario, and what a browser shows of it."""

    def __init__(self, case, *arguments, size="1280,2400", dark=False, at=()):
        self.path = case.file("page.html")
        case.ok("simulate", *arguments, "--report", self.path)
        with open(self.path, encoding="utf-8") as file:
            self.text = file.read()
        self.data = json.loads(re.search(r'id="data">(.*?)</script>', self.text, re.S).group(1))
        end = max(len(run["attempts"]) * run["width_ms"] for run in self.data["runs"])
        look = LOOK.replace("DATA_PIECES", json.dumps(list(at))).replace("DATA_END", str(end))
        probe = case.file("probe.html")
        with open(probe, "w", encoding="utf-8") as file:
            file.write(self.text.replace("<head>", "<head>" + LISTEN).replace("</body>", look + "</body>"))
        # 0 is dark, 1 is light.
        self.flags = [f"--window-size={size}", f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
        done = browse(probe, *self.flags, "--dump-dom")
        found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.S)
        case.assertTrue(found, f"the page did not come to its end\n{done.stderr}\n{done.stdout[-2000:]}")
        self.seen = json.loads(html.unescape(found.group(1)))
        case.assertEqual(self.seen["wrong"], [])
        case.assertEqual(self.seen["resources"], [], "the page asks for something")


def contrast(one, other):
    def light(color):
        parts = [int(n) / 255 for n in re.findall(r"\d+", color)[:3]]
        parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    a, b = sorted([light(one), light(other)])
    return (b + 0.05) / (a + 0.05)


class Report(Case):
    cluster_arguments = None

    def scenario(self, name):
        return os.path.join(SCENARIOS, name + ".toml")

    def summary(self, *arguments):
        return json.loads(self.ok("simulate", *arguments, "--json"))

    def decisions(self, *arguments):
        file = self.file("decisions")
        self.ok("simulate", *arguments, "--decisions", file)
        with open(file, encoding="utf-8") as lines:
            return lines_of_json(lines.read())

    def test_there_is_a_browser(self):
        self.assertTrue(shutil.which(BROWSER), "install it with tests/support/install.sh tests")

    def test_as_it_is_written_it_opens_without_a_word_on_the_console(self):
        for arguments in (["one-slow"], ["scale-out"], ["sixty-four-brokers"]):
            page = self.file(arguments[0] + ".html")
            self.ok("simulate", self.scenario(arguments[0]), "--report", page)
            done = browse(page, "--enable-logging=stderr", "--dump-dom")
            self.assertNotIn("CONSOLE", done.stderr)
            self.assertIn('data-picture="share"', done.stdout)

    def test_a_script_that_fails_would_be_seen(self):
        page = self.file("bad.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write("<!DOCTYPE html><script>nobody()</script>")
        self.assertIn("CONSOLE", browse(page, "--enable-logging=stderr", "--dump-dom").stderr)

    def test_it_names_nothing_outside_of_itself(self):
        page = Page(self, self.scenario("one-slow"))
        self.assertEqual(set(re.findall(r"\w+://[^\"'`\s)]*", page.text)), {"http://www.w3.org/2000/svg"})
        for word in ("src=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("):
            self.assertNotIn(word, page.text)

    def test_the_values_of_a_run_are_those_of_its_summary(self):
        for name in ("one-slow", "all-slow", "flapping", "weights-changed"):
            with self.subTest(name):
                page, sum_up = Page(self, self.scenario(name)), self.summary(self.scenario(name))
                run, = page.seen["runs"]
                facts = run["facts"]
                self.assertEqual(number(facts["sends"]), sum_up["sends"])
                self.assertEqual(number(facts["stored"]), sum_up["stored"])
                self.assertEqual(number(facts["attempts"]), sum_up["attempts"])
                for shown in ("p50", "p99", "max"):
                    self.assertEqual(number(facts[shown]), sum_up["latency_ms"][shown])
                head, *rows = run["brokers"]
                self.assertEqual(head, ["broker", "attempts", "share", "stored"])
                for (broker, attempts, share, stored), of in zip(rows, sum_up["brokers"], strict=True):
                    self.assertEqual((broker, number(attempts), number(stored)), (of["broker"], of["attempts"], of["stored"]))
                    self.assertEqual(share, f"{100 * of['attempts'] / sum_up['attempts']:.1f} %")
                self.assertEqual(page.seen["legend"], [of["broker"] for of in sum_up["brokers"]])
                self.assertEqual(page.seen["compared"], [])

    def test_what_is_lost_is_shown(self):
        page, sum_up = Page(self, self.scenario("small-deadline"), "--set", "attempts=1"), self.summary(self.scenario("small-deadline"), "--set", "attempts=1")
        self.assertGreater(sum_up["failed"]["unknown"], 0)
        self.assertEqual(number(page.seen["runs"][0]["facts"]["unknown"]), sum_up["failed"]["unknown"])
        self.assertNotIn("lost", page.seen["runs"][0]["facts"])

    def test_pointing_at_a_picture_tells_what_the_decisions_say(self):
        at = [40, 1990, 2500, 3333, 5005, 7777, 9900]
        page, lines = Page(self, self.scenario("one-slow"), at=at), self.decisions(self.scenario("one-slow"))
        run, = page.seen["runs"]
        width = page.data["runs"][0]["width_ms"]
        ends, starts = {}, {}
        for line in lines:
            starts.setdefault(line["send"], line["t_ms"])
            ends[line["send"]] = line["t_ms"] + line["latency_ms"]
        pictures = run["pictures"]
        self.assertEqual(set(pictures), {"share", "isolation", "latency", "attempts"})
        for name, picture in pictures.items():
            self.assertGreater(picture["drawn"], 2, name)
            self.assertTrue(all(p["said"] and p["inside"] and p["gone"] for p in picture["points"]), picture)
        for i, ms in enumerate(at):
            low = ms // width * width
            here = [line for line in lines if low <= line["t_ms"] < low + width]
            said = pictures["share"]["points"][i]["said"].split("\n")[1:]
            counts = {b: sum(line["broker"] == b for line in here) for b in "abc"}
            self.assertEqual(said, [f"{b}: {n} ({100 * n / len(here):.1f} %)" for b, n in counts.items()])
            bad = sum(line["outcome"] != "stored" for line in here)
            self.assertEqual(pictures["attempts"]["points"][i]["said"].split("\n")[1:], [f"{len(here)} attempts", f"{bad} did not store"])
            took = [ends[s] - starts[s] for s in ends if low <= ends[s] < low + width]
            self.assertEqual(pictures["latency"]["points"][i]["said"].split("\n")[1:],
                             [f"{len(took)} sends ended", f"p50 {nearest_rank(took, 500)} ms", f"p99 {nearest_rank(took, 990)} ms", f"max {max(took)} ms"])
        isolation = [p["said"].split("\n", 1)[1] for p in pictures["isolation"]["points"]]
        self.assertEqual(isolation[0], "nobody; all brokers are well")
        self.assertEqual(isolation[2], "b: 800 ms", "slow, and nobody knows yet")
        self.assertEqual(isolation[3], "b: avoided; 800 ms")

    def test_keys_are_shown_where_they_went(self):
        lines = self.decisions(self.scenario("scale-out"))
        run, = Page(self, self.scenario("scale-out")).seen["runs"]
        first, last = {}, {}
        for line in lines:
            first.setdefault(line["key"], line["broker"])
            last[line["key"]] = line["broker"]
        moves = {}
        for key, broker in first.items():
            moves[broker, last[key]] = moves.get((broker, last[key]), 0) + 1
        wanted = [f"{n} keys stayed on {a}" if a == b else f"{n} keys went from {a} to {b}" for (a, b), n in sorted(moves.items())]
        self.assertEqual([p["said"] for p in run["pictures"]["keys"]["points"]], wanted)
        self.assertEqual([row[4:] for row in run["brokers"]],
                         [["keys at first", "keys at last"]] + [[str(list(d.values()).count(b)) for d in (first, last)] for b in "abc"])

    def test_a_comparison_shows_both_runs_and_marks_the_better(self):
        arguments = [self.scenario("one-slow"), "--against", '{ selector = { use = "round-robin" }, fault = { use = "none" } }']
        page, both = Page(self, *arguments, at=[2500]), self.summary(*arguments)["runs"]
        table, = page.seen["compared"]
        self.assertEqual([row[0] for row in table], ["", "best-queue + latency-fault", "round-robin + none"])
        self.assertEqual([run["policy"] for run in page.seen["runs"]], [row[0] for row in table[1:]])
        for row, run in zip(table[1:], both, strict=True):
            sum_up = run["summary"]
            self.assertEqual([number(cell) for cell in row[1:]],
                             [sum_up["sends"] - sum_up["stored"], sum_up["attempts"], round(run["mean_ms"], 1), sum_up["latency_ms"]["p50"],
                              sum_up["latency_ms"]["p99"], run["p999_ms"], sum_up["latency_ms"]["max"]])
        self.assertIn(table[1][3], page.seen["best"], "the mean of best-queue")
        self.assertNotIn(table[2][3], page.seen["best"])
        left = [run["pictures"]["share"] for run in page.seen["runs"]]
        self.assertLess(left[0]["right"], left[1]["left"], "side by side")

    def test_all_policies_ranked_are_one_page(self):
        page = Page(self, self.scenario("one-slow"), "--rank")
        ranked = self.summary(self.scenario("one-slow"), "--rank")["runs"]
        self.assertEqual([row[0] for row in page.seen["compared"][0][1:]], [run["policy"] for run in ranked])
        self.assertEqual([run["policy"] for run in page.seen["runs"]], [run["policy"] for run in ranked[:4]], "the first four in pictures")

    def test_long_names_of_brokers_keep_what_tells_them_apart(self):
        with open(self.scenario("one-slow"), encoding="utf-8") as file:
            text = file.read()
        for names, shown in ((("broker-a", "broker-b", "broker-c"), ["…oker-a", "…oker-b", "…oker-c"]),
                             (("amsterdam", "berlin", "copenhagen"), ["amster…", "berlin", "copenh…"]),
                             (("room-1-master", "room-2-master", "room-3-master"), ["…m-1-m…", "…m-2-m…", "…m-3-m…"])):
            renamed = text
            for old, new in zip("abc", names):
                renamed = renamed.replace(f'"{old}"', f'"{new}"')
            with self.subTest(names=names):
                run, = Page(self, self.file("renamed.toml", renamed)).seen["runs"]
                texts = run["pictures"]["isolation"]["texts"]
                self.assertEqual([text for text in texts if text in shown], shown, texts)

    def test_it_is_readable_in_light_and_dark(self):
        looks = {}
        for dark in (False, True):
            seen = Page(self, self.scenario("one-slow"), dark=dark).seen
            self.assertEqual(seen["dark"], dark)
            self.assertGreater(contrast(seen["back"], seen["ink"]), 7)
            looks[dark] = seen["back"]
        self.assertEqual(looks[False], "rgb(255, 255, 255)")
        self.assertLess(sum(int(n) for n in re.findall(r"\d+", looks[True])), 100)

    def test_it_fits_a_phone(self):
        for arguments in (["one-slow"], ["sixty-four-brokers"], ["scale-out", "--rank"]):
            page = Page(self, self.scenario(arguments[0]), *arguments[1:], size="360,800", at=[200, 1000]).seen
            self.assertEqual(page["width"], 360)
            self.assertLessEqual(page["scroll"], 360, "nothing to scroll sideways")
            for run in page["runs"]:
                for name, picture in run["pictures"].items():
                    self.assertGreater(picture["scale"], 0.95, f"{name}: its text must not shrink")
                    self.assertTrue(all(p["inside"] for p in picture["points"]), name)

    def test_it_draws(self):
        picture = self.file("page.png")
        page = self.file("page.html")
        self.ok("simulate", self.scenario("one-slow"), "--report", page)
        browse(page, "--window-size=1280,1400", f"--screenshot={picture}")
        with open(picture, "rb") as file:
            begin = file.read(24)
        self.assertEqual(begin[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual((int.from_bytes(begin[16:20], "big"), int.from_bytes(begin[20:24], "big")), (1280, 1400))
        self.assertGreater(os.path.getsize(picture), 30_000, "an empty page is far smaller")


if __name__ == "__main__":
    main()
