"""What the bench would let pass: results that are made dearer here must be told as missed."""

import copy
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import measure  # noqa: E402
import page  # noqa: E402
import table  # noqa: E402


def figure(found, **bars):
    f = table.Figure("figure", found, **bars)
    return {**vars(f), "met": f.meets(f.must), "in_reach": f.meets(f.aim)}


def good():
    with open(measure.COUNTS, encoding="utf-8") as file:
        accepted = json.load(file)
    names = (*measure.FLAT, "consistent_hash")
    cells = {f"{name}/queues:{queues}/half_isolated:{half}": 20.0 for name in names for queues in measure.QUEUES for half in measure.ISOLATED}
    return {"decisions_ns": {**cells, "read_in_force": 2.0, "read_raw": 1.0},
            "scenarios": {"million_sends_s": 1, "wide_route_s": 1, "memory_growth_kib": 1}, "exchanging": {"ratio": 0.99},
            "counts": dict(accepted), "accepted": accepted, "conditions": "none",
            "rows": [{"title": "a row", "figures": [figure(0.0, must=0.005), figure(3.0, must=2, at_least=True), figure(9.0, aim=1)]}]}


class Guard(unittest.TestCase):
    def missed(self, change):
        result = copy.deepcopy(good())
        change(result)
        return measure.misses(result, "quick")

    def test_what_is_within_the_bars_passes(self):
        self.assertEqual(self.missed(lambda r: None), [])

    def test_each_count_has_its_band_both_ways(self):
        self.assertEqual(set(measure.BANDS), set(good()["accepted"]))
        for name, band in measure.BANDS.items():
            for by in (1 + 1.2 * band, 1 - 1.2 * band):
                told = self.missed(lambda r: r["counts"].update({name: r["counts"][name] * by}))
                self.assertEqual(len(told), 1, (name, by))
                self.assertIn(name, told[0])
            self.assertEqual(self.missed(lambda r: r["counts"].update({name: r["counts"][name] * (1 + 0.8 * band)})), [])

    def test_one_allocation_in_a_hundred_sends_is_missed(self):
        self.assertEqual(len(self.missed(lambda r: r["rows"][0]["figures"].__setitem__(0, figure(0.01, must=0.005)))), 1)

    def test_a_rate_below_its_bar_is_missed(self):
        self.assertEqual(len(self.missed(lambda r: r["rows"][0]["figures"].__setitem__(1, figure(1.9, must=2, at_least=True)))), 1)

    def test_decisions_that_are_slow_or_not_flat_are_missed(self):
        self.assertEqual(len(self.missed(lambda r: r["decisions_ns"].update({"hash/queues:4096/half_isolated:0": 31.0}))), 1)
        self.assertEqual(len(self.missed(lambda r: r["decisions_ns"].update({"best_queue/queues:8/half_isolated:0": 26.0}))), 1)
        self.assertEqual(len(self.missed(lambda r: r["decisions_ns"].update({"read_in_force": 4.0}))), 1)

    def test_the_page_shows_what_was_missed(self):
        result = good()
        result["rows"][0]["figures"].append(figure(9000, must=8000, aim=5000))
        file = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"shunt-bench-{os.getpid()}.html")
        self.addCleanup(lambda: os.remove(file))
        page.write(file, result)
        with open(file, encoding="utf-8") as written:
            text = written.read()
        self.assertEqual(text.count(">missed<"), 1)
        self.assertEqual(text.count(">holds<"), 2)
        self.assertIn("9,000", text)


if __name__ == "__main__":
    unittest.main()
