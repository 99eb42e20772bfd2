"""The page of the admin endpoint, in a browser: what it shows is what the endpoint says, and its buttons do what they are called."""

import json
import re
import socket
import urllib.request

from browser import Browser
from support import Case, main

TOKEN = "a-token-of-32-characters-or-more"
READY = "document.querySelectorAll('[data-table=brokers] tr').length === 4"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Dashboard(Case):
    def serve(self, policy="", verbs="true"):
        """A producer that sends the lines it is given; what it serves the page at."""
        self.port = free_port()
        self.at = f"http://127.0.0.1:{self.port}"
        self.rest = f'[admin]\nlisten = "127.0.0.1:{self.port}"\ntoken = "{TOKEN}"\nverbs = {verbs}\n[swap]\nprobation = "0ms"\npreflight = "off"\n'
        self.toml = self.config(rest=self.rest + policy)  # without [policies]: best-queue and latency-fault
        self.sending = self.running("send", "-c", self.toml, "-t", self.topic, "--json", "--mode", "async")
        self.sent = 0
        self.give(30)

    def other(self, selector):
        """The text of a configuration that differs in its selector."""
        with open(self.toml, encoding="utf-8") as file:
            return file.read() + f'[policies.default]\nselector = {{ use = "{selector}" }}\n'

    def give(self, count):
        """So many messages more, and they are over."""
        self.sending.process.stdin.write("".join(f"{self.sent + i}\n" for i in range(count)))
        self.sending.process.stdin.flush()
        self.sent += count
        self.wait_for(lambda: self.metric("shunt_sends_total", outcome="stored") == self.sent)

    def ask(self, path, post=None):
        request = urllib.request.Request(self.at + path, data=post, headers={"Authorization": "Bearer " + TOKEN})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()

    def metric(self, name, **labels):
        """The sum of a metric's samples that have these labels; None while nobody answers."""
        try:
            text = self.ask("/metrics")
        except OSError:
            return None
        total = 0
        for line in text.splitlines():
            found = re.fullmatch(re.escape(name) + r"(?:\{(.*)\})? (\S+)", line)
            if found and all(f'{key}="{value}"' in (found[1] or "") for key, value in labels.items()):
                total += float(found[2])
        return total

    def page(self, browser):
        """Opens the page and gives it its token."""
        browser.open(self.at + "/")
        browser.until("!document.getElementById('ask').hidden")
        browser.value(f"document.getElementById('token').value = '{TOKEN}'; 1")
        browser.wrong.clear()  # that it was refused without one
        browser.click("#ask button")
        browser.until(READY)

    def rows(self, browser, table):
        return browser.value(f"[...document.querySelectorAll('[data-table={table}] tr')].slice(1).map(tr => Object.fromEntries("
                             "[...tr.children].map(td => [td.dataset.name, td.textContent])))")

    def fact(self, name):
        return f"document.querySelector('[data-fact=\"{name}\"]').textContent"

    def test_shows_what_the_metrics_say(self):
        self.serve()
        with Browser() as browser:
            self.page(browser)
            self.give(3000)
            browser.until(f"[...document.querySelectorAll('[data-table=brokers] [data-name=stored]')].reduce((all, td) => all + +td.textContent.replace(/,/g, ''), 0) === {self.sent}")
            rows = self.rows(browser, "brokers")
            self.assertEqual(len(rows), 3)
            for row in rows:
                name = row["broker"].split(" ")[0]
                for column, metric, labels in (("stored", "shunt_attempts_total", {"outcome": "stored"}), ("decisions", "shunt_decisions_total", {}),
                                               ("in flight", "shunt_broker_in_flight", {})):
                    self.assertEqual(int(row[column].replace(",", "")), self.metric(metric, broker=name, **labels), (name, column))
                self.assertEqual(row["state"], "in use")
            self.assertEqual(int(browser.value(self.fact("generation"))), self.metric("shunt_policy_generation"))
            browser.value("for (const id of ['queues_box', 'decisions_box', 'plugins_box']) document.getElementById(id).open = true; 1")
            browser.until("document.querySelectorAll('[data-table=decisions] tr').length > 1 && document.querySelectorAll('[data-table=queues] tr').length > 1")
            for row in self.rows(browser, "queues"):
                self.assertEqual(int(row["decisions"].replace(",", "")),
                                 self.metric("shunt_decisions_total", topic=self.topic, broker=row["broker"], queue=row["queue"]), row)
            self.assertIn("best-queue", [row["plugin"] for row in self.rows(browser, "plugins")])
            # The pictures are of the last minutes, in steps of some seconds.
            browser.until("document.querySelectorAll('[data-picture=share] rect').length > 3")
            self.assertEqual(browser.wrong, [])

    def test_says_why_a_broker_is_avoided(self):
        self.cluster.tell("broker-b code 1")
        self.addCleanup(self.cluster.tell, "broker-b ok")
        self.serve('[policies.default]\nfault = { use = "latency-fault" }\n')
        with Browser() as browser:
            self.page(browser)
            browser.until("document.querySelector('[data-table=brokers]').textContent.includes('code 1')")
            row = next(row for row in self.rows(browser, "brokers") if row["broker"].startswith("broker-b"))
            self.assertRegex(row["why"], r"code 1 \d+ s ago")
            self.assertEqual(browser.wrong, [])

    def test_a_candidate_is_promoted_and_taken_back_by_clicks(self):
        self.serve()
        new = self.file("new.toml", self.other("hash"))
        self.ok("policy", "stage", new, "-c", self.toml, "--canary", "50%")
        with Browser(width=390, height=800, dark=True) as browser:
            self.page(browser)
            browser.until("document.querySelector('.candidate')?.dataset.state === 'canary'")
            self.give(200)
            browser.until("document.querySelector('[data-table=arms]') !== null")
            self.assertIn("best-queue", browser.value("document.querySelector('.candidate').textContent"))
            self.assertEqual(browser.value("[innerWidth, document.documentElement.scrollWidth]"), [390, 390])
            browser.click("button[data-verb=promote]")
            browser.until("document.querySelector('[data-swap=\"1\"]')?.dataset.state === 'in_force'")
            self.assertEqual(json.loads(self.ask("/policies"))["in_force"], 1)
            browser.until(f"{self.fact('generation')} === '{json.loads(self.ask('/policies'))['generation']}'")
            browser.click("button[data-verb=rollback]")
            browser.until("document.querySelector('[data-swap=\"1\"]')?.dataset.state === 'rolled_back'")
            self.assertEqual(json.loads(self.ask("/policies"))["in_force"], 0)
            self.assertEqual(browser.wrong, [])

    def test_a_file_is_compared_and_staged_on_the_page(self):
        self.serve()
        good = self.other("random")
        with Browser() as browser:
            self.page(browser)
            said = "document.getElementById('says').textContent"
            write = lambda text: browser.value(f"document.getElementById('stage').open = true; document.getElementById('toml').value = {json.dumps(text)}; 1")
            write(good)
            browser.click("button[data-verb=diff]")
            self.assertIn('policies.default.selector.use: "best-queue" -> "random"', browser.until(said))
            self.assertEqual(json.loads(self.ask("/policies"))["generation"], 1)
            write(good.replace("random", "randm"))
            browser.click("button[data-verb=stage]")
            browser.until(f"{said}.includes('randm')")
            write(good)
            browser.click("button[data-verb=stage]")
            browser.until(f"{said}.includes('in_force')")
            self.assertEqual(json.loads(self.ask("/policies"))["policies"][0]["selector"], "random")

    def test_has_no_buttons_where_verbs_are_not_allowed_and_says_when_nobody_answers(self):
        self.serve(verbs="false")
        with Browser() as browser:
            self.page(browser)
            self.assertTrue(browser.value("document.getElementById('stage').hidden && document.querySelectorAll('#verbs button').length === 0"))
            self.assertEqual(browser.wrong, [])
            self.sending.end()
            browser.until("document.getElementById('says').textContent.startsWith('No answer from the producer since')")

    def test_is_light_and_dark(self):
        self.serve()
        seen = set()
        for dark in (False, True):
            with Browser(dark=dark) as browser:
                self.page(browser)
                seen.add(browser.value("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(seen), 2)


if __name__ == "__main__":
    main()
