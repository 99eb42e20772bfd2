"""The programs of examples/ and the tour do what they say."""

import os
import subprocess

from support import BUILD, Case, DEADLINE, SOURCE, main


class Examples(Case):
    def run_example(self, name, config=None):
        ended = subprocess.run([os.path.join(BUILD, "bin", "example_" + name), config or self.config()], capture_output=True, text=True,
                               timeout=DEADLINE)
        return ended.returncode, ended.stdout, ended.stderr

    def test_minimal(self):
        before = len(self.cluster.ledger("orders"))
        status, said, complaint = self.run_example("minimal")
        self.assertEqual(status, 0, complaint)
        self.assertRegex(said, r"^stored on broker-[abc] queue \d at offset \d+\n$")
        self.assertEqual(len(self.cluster.ledger("orders")), before + 1)

    def test_minimal_without_a_file(self):
        status, said, complaint = self.run_example("minimal", self.file("none.toml"))
        self.assertEqual((status, said), (1, ""))
        self.assertIn("none.toml", complaint)

    def test_async_callback(self):
        before = len(self.cluster.ledger("orders"))
        status, said, complaint = self.run_example("async_callback")
        self.assertEqual((status, said), (0, "100 stored, 0 not sent, 0 unknown or rejected\n"), complaint)
        self.assertEqual(len(self.cluster.ledger("orders")), before + 100)

    def test_coroutine(self):
        before = len(self.cluster.ledger("orders"))
        status, said, complaint = self.run_example("coroutine")
        self.assertEqual(status, 0, complaint)
        self.assertRegex(said, r"^(order \d lies on broker-[abc] queue \d\n){3}$")
        self.assertEqual(len(self.cluster.ledger("orders")), before + 3)


    def test_kinds(self):
        status, said, complaint = self.run_example("kinds")
        self.assertEqual(status, 0, complaint)
        self.assertEqual(said, "taken back: 1\nlater: stored stored\nbatch of 1000: stored\nits first at an offset: 1\n"
                         "transaction: commit, confirmed\n"
                         'destination "orders:paid": the payload is absent; there must be something to send\n'
                         "to destinations: stored stored stored\ntopic on 3 brokers\nfound: to be found\nby its key: 1\n"
                         "as fast as there is room: all are on their way\nreply: the price of tea\n")


class Quickstart(Case):
    cluster_arguments = None

    def quickstart(self, **environment):
        return subprocess.run(["sh", os.path.join(SOURCE, "examples", "quickstart.sh")], capture_output=True, text=True, timeout=3 * DEADLINE,
                              cwd=self.folder, stdin=subprocess.DEVNULL,
                              env={**os.environ, "SHUNT_BUILD_DIR": BUILD, "TMPDIR": self.folder, **environment})

    def test_all_it_says_is_true_and_nothing_is_left_behind(self):
        ended = self.quickstart()
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertEqual(ended.stderr, "")
        self.assertIn("3,000 messages in ", ended.stdout)
        self.assertIn("each message lies exactly where its receipt says", ended.stdout)
        self.assertIn('> selector = { use = "hash" }', ended.stdout)
        self.assertIn("keys with messages in two queues: 0", ended.stdout)
        self.assertEqual(os.listdir(self.folder), [])

    def test_hot_swap(self):
        ended = subprocess.run(["sh", os.path.join(SOURCE, "examples", "hot_swap.sh")], capture_output=True, text=True, timeout=200,
                               stdin=subprocess.DEVNULL, env={**os.environ, "SHUNT_BUILD_DIR": BUILD, "TMPDIR": self.folder})
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertRegex(ended.stdout, r"4  rolled_back +\d+ .*on probation: worse: ")
        self.assertRegex(ended.stdout, r"\d{4,} messages were sent over 4 policies; each lies in the brokers once")
        self.assertIn("swap 3: refused: ", ended.stdout)
        self.assertEqual(os.listdir(self.folder), [])

    def test_it_fails_when_a_claim_does_not_hold(self):
        # The program, but the receipts it writes miss their last line.
        os.makedirs(self.file("build/bin"))
        wrapper = self.file("build/bin/shunt", f"""#!/bin/sh
[ "$1" = send ] || exec {BUILD}/bin/shunt "$@"
{BUILD}/bin/shunt "$@"
status=$?
for last; do :; done
if [ -s "$last" ]; then
    sed '$d' "$last" >"$last.short"
    mv "$last.short" "$last"
fi
exit $status
""")
        os.chmod(wrapper, 0o755)
        ended = self.quickstart(SHUNT_BUILD_DIR=self.file("build"))
        self.assertEqual(ended.returncode, 1, ended.stdout)
        self.assertIn("there are not 3,000 receipts", ended.stderr)


if __name__ == "__main__":
    main()
