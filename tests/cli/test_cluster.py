"""shunt cluster: the ready line, commands on stdin and from a file, the ledger, and how it ends."""

import json
import os
import signal
import socket
import subprocess
import sys

from support import DEADLINE, SHUNT, Case, Lines, main

# What a shell does with `shunt cluster &` and then, told by the pipe, with `fg`. Its standard input is the terminal.
SHELL = """
import fcntl, os, subprocess, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
cluster = subprocess.Popen(sys.argv[2:], process_group=0)
if os.read(int(sys.argv[1]), 1):
    os.tcsetpgrp(0, cluster.pid)
else:
    cluster.kill()
sys.exit(cluster.wait())
"""


class Cluster(Case):
    cluster_arguments = None

    def test_it_is_ready_when_it_says_so_and_quits_when_told(self):
        cluster = self.new_cluster()
        host, port = cluster.address.split(":")
        socket.create_connection((host, int(port)), timeout=10).close()
        self.send("--body", "x", config=self.config(cluster.address))

        cluster.process.stdin.write("quit\n")
        self.assertEqual(cluster.wait(), 0)
        self.assertEqual(cluster.out.rest(), [])

    def test_brokers_and_queues_are_as_many_as_asked(self):
        cluster = self.new_cluster("--brokers", 2, "--queues", 3)
        config = self.config(cluster.address)
        self.send("--body", "x", "--count", 12, config=config)

        route = json.loads(self.ok("route", "-c", config, self.topic, "--json"))
        self.assertEqual([(b["name"], b["write_queues"]) for b in route["brokers"]], [("broker-a", 3), ("broker-b", 3)])

    def test_the_port_asked_for_is_taken(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        cluster = self.new_cluster("--port", port)
        self.assertEqual(cluster.address, f"127.0.0.1:{port}")

    def test_a_port_in_use_is_told(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.refused("cluster", "--port", port, status=1, saying=f"127.0.0.1:{port}")

    def test_the_first_line_as_json_names_the_brokers(self):
        cluster = self.running("cluster", "--json")
        ready = json.loads(cluster.out.next())
        self.assertRegex(ready["name_server"], r"^127\.0\.0\.1:\d+$")
        self.assertEqual(sorted(ready["brokers"]), ["broker-a", "broker-b", "broker-c"])

    def test_the_ledger_comes_on_stdout_or_into_a_file(self):
        cluster = self.new_cluster()
        self.send("--body", "{i}", "--count", 5, config=self.config(cluster.address))

        cluster.process.stdin.write("ledger\n")
        told = [json.loads(cluster.out.next()) for _ in range(5)]
        cluster.err.until("ok: ledger, 5 messages")
        self.assertEqual(told, cluster.ledger())
        self.assertEqual(sorted(m["body"] for m in told), ["0", "1", "2", "3", "4"])

    def test_a_ledger_that_cannot_be_written_is_told(self):
        cluster = self.new_cluster()
        cluster.process.stdin.write(f"ledger {self.file('no/such/folder')}\n")
        cluster.err.until("the ledger cannot be written to")

    def test_wrong_commands_are_told_and_change_nothing(self):
        cluster = self.new_cluster()
        for command, saying in (("broker-b hagn", "hagn"), ("broker-z hang", "broker-z"), ("broker-a latency 3", "latency"),
                                ("quit now", "'now' after 'quit'"), ("ledger a b", "'b' after 'ledger'")):
            cluster.process.stdin.write(command + "\n")
            cluster.err.until(saying)
        self.assertEqual(self.send("--body", "x", "--count", 12, config=self.config(cluster.address))["stored"], 12)

    def test_faults_by_command_are_in_force_and_undone(self):
        cluster = self.new_cluster()
        config = self.config(cluster.address, rest='[policies.default]\nselector = { use = "round-robin" }\nfault = { use = "none" }\n')
        cluster.tell("broker-b code 2 busy")
        self.assertGreater(self.send("--body", "x", "--count", 12, config=config)["attempts"], 12)
        cluster.tell("broker-b ok")
        self.assertEqual(self.send("--body", "x", "--count", 12, config=config)["attempts"], 12)

    def test_faults_of_a_file_come_in_time(self):
        faults = self.file("faults", "# a comment\n\n+1ms broker-b refuse\n+2ms broker-c refuse\n")
        cluster = self.new_cluster("--faults", faults)
        cluster.err.until("ok: broker-c refuse")
        summary = self.send("--body", "x", "--count", 6, config=self.config(cluster.address))
        self.assertEqual(summary["by_broker"], {"broker-a": 6})

    def test_a_file_can_end_it(self):
        cluster = self.new_cluster("--faults", self.file("faults", "+10ms quit\n"))
        self.assertEqual(cluster.wait(), 0)

    def test_a_file_that_is_wrong_is_told_line_by_line(self):
        faults = self.file("faults", "+1s broker-b hagn\nbroker-b hang\n+2s quit\n")
        self.refused("cluster", "--faults", faults, status=2, saying=[f"{faults}:1: ", f"{faults}:2: the line begins with 'broker-b'"])
        self.refused("cluster", "--faults", self.file("none"), status=2, saying="it must be a file that can be read: No such file")

    def test_with_stdin_closed_it_runs_until_a_signal(self):
        for number in signal.SIGTERM, signal.SIGINT:
            with self.subTest(signal=number):
                cluster = self.new_cluster(stdin=subprocess.DEVNULL)
                self.assertEqual(self.send("--body", "x", config=self.config(cluster.address))["stored"], 1)
                cluster.interrupt(number)
                self.assertEqual(cluster.wait(), 0)

    def test_behind_an_ampersand_it_leaves_the_terminal_alone_until_it_is_in_front(self):
        leader, terminal = os.openpty()
        told, tell = os.pipe()
        shell = subprocess.Popen([sys.executable, "-c", SHELL, str(told), SHUNT, "cluster"], stdin=terminal, stdout=subprocess.PIPE,
                                 text=True, start_new_session=True, pass_fds=[told])
        out = Lines(shell.stdout)
        try:
            os.close(terminal)
            os.close(told)
            address = out.until("name server ").removeprefix("name server ")
            os.write(leader, b"quit\n")  # typed for whoever has the terminal
            self.assertEqual(self.send("--body", "x", "--count", 100, config=self.config(address))["stored"], 100)

            os.write(tell, b"f")
            self.assertEqual(shell.wait(timeout=DEADLINE), 0, "it read the line once it was in front")
        finally:
            os.close(tell)
            shell.wait(timeout=DEADLINE)
            out.end()
            os.close(leader)


if __name__ == "__main__":
    main()
