"""SIGHUP puts in force what the configuration says now, and a wrong one changes nothing."""

import json
import signal

from support import Case, main, wait_for_lines


class Hangup(Case):
    def test_reads_the_configuration_again(self):
        path = self.file("receipts")
        swap = '[swap]\nprobation = "0ms"\npreflight = "off"\n'
        self.config(rest=swap)
        sending = self.running("send", "-c", self.file("shunt.toml"), "-t", self.topic, "--json", "--receipts", path,
                               "--body", "{i}", "--order-key", "k{i}", "--count", 100_000_000, "--rate", "500/s", "--mode", "async")
        wait_for_lines(path, 50)
        self.config(rest=swap + '[policies.default]\nselector = { use = "hash" }\n')
        sending.interrupt(signal.SIGHUP)
        self.assertIn("SIGHUP: swap 1: in_force", sending.err.until("SIGHUP"))
        wait_for_lines(path, sum(1 for _ in open(path, encoding="utf-8")) + 50)
        self.config(rest=swap + '[policies.default]\nselector = { use = "hush" }\n')
        sending.interrupt(signal.SIGHUP)
        self.assertRegex(sending.err.until("SIGHUP"), r"SIGHUP: swap 2: refused: .*'hush'.*did you mean 'hash'\?")
        sending.interrupt(signal.SIGINT)
        self.assertEqual(sending.wait(), 1)
        (line,) = sending.out.rest()
        receipts = self.receipts(path)
        self.assertEqual(json.loads(line)["stored"], len(receipts))
        self.assertEqual([r["generation"] for r in receipts], sorted(r["generation"] for r in receipts))
        self.assertEqual({r["generation"] for r in receipts}, {1, 2})
        for r in receipts:
            self.assertEqual(r["attempts"][0]["why"], "key" if r["generation"] == 2 else "rotation")

    def test_a_storm_of_them_loses_nothing(self):
        path = self.file("receipts")
        swap = '[swap]\nprobation = "0ms"\npreflight = "off"\n'
        policies = ['[policies.default]\nselector = { use = "%s" }\n' % use for use in ("hash", "random", "hush")]
        self.config(rest=swap)
        sending = self.running("send", "-c", self.file("shunt.toml"), "-t", self.topic, "--json", "--receipts", path,
                               "--body", "{i}", "--order-key", "k{i}", "--count", 100_000_000, "--rate", "2000/s", "--mode", "async")
        wait_for_lines(path, 50)
        for i in range(300):
            self.config(rest=swap + policies[i % 3])
            sending.interrupt(signal.SIGHUP)
        self.config(rest=swap + policies[0])
        sending.interrupt(signal.SIGHUP)
        have = sum(1 for _ in open(path, encoding="utf-8"))
        wait_for_lines(path, have + 200)
        # Several that come at once may be one; the last of them is heard, and finds the last of the files.
        def last_is_by_key():
            with open(path, encoding="utf-8") as file:
                return json.loads(file.read().rstrip("\n").split("\n")[-2])["attempts"][0]["why"] == "key"
        self.wait_for(last_is_by_key)
        sending.interrupt(signal.SIGINT)
        sending.wait()
        (line,) = sending.out.rest()
        receipts = self.receipts(path)
        summary = json.loads(line)
        self.assertEqual((summary["stored"], summary["sent"]), (len(receipts), len(receipts)))
        self.assertEqual(len({r["msg_id"] for r in receipts}), len(receipts))


if __name__ == "__main__":
    main()
