"""What every command has in common: help, exit statuses, wrong usage in words, stdout for results and nothing else."""

import os
import pty
import subprocess

from support import Case, SHUNT, main, shunt

COMMANDS = (["send"], ["tail"], ["route"], ["cluster"], ["plugin", "list"], ["plugin", "describe"], ["config", "check"], ["config", "show"],
            ["config", "schema"], ["bench"], ["topic", "create"], ["topic", "show"], ["topic", "offsets"], ["message", "show"], ["message", "recall"], ["answer"],
            *(["policy", verb] for verb in ("list", "stage", "diff", "shadow", "canary", "promote", "rollback", "barrier", "watch")))


class Usage(Case):
    def test_help_says_what_a_command_does_and_names_its_options(self):
        said = self.ok("--help")
        for name in "send", "tail", "route", "cluster", "plugin", "config", "bench":
            self.assertIn(f"\n  {name} ", said)
        for command in COMMANDS:
            with self.subTest(command=command):
                said = self.ok(*command, "--help")
                self.assertIn("--json", said)
                self.assertIn("Usage: shunt " + " ".join(command), said)
                self.assertGreater(len(said.splitlines()[0]), 30)

    def test_version(self):
        self.assertRegex(self.ok("--version"), r"^shunt \d+\.\d+\.\d+\n$")

    def test_wrong_usage_is_2_and_says_what_would_be_right(self):
        config = self.config()
        send = ["send", "-c", config, "-t", "t", "--body", "x"]
        for arguments, saying in (
                ([], "a command is missing; there are send, tail, "),
                (["sned"], "there is no command 'sned'; there are send, "),
                (["sned"], "did you mean 'send'?"),
                (["plugin"], "a command is missing; there are list, describe"),
                (["plugin", "lst"], "there is no command 'lst'"),
                (["--fast"], "there is no option '--fast'"),
                (["send", "-t", "t"], "--config is required"),
                (["send", "-c", config], "--topic is required"),
                (["tail", "-c", config], "--topic is required"),
                (["route", "-c", config], "TOPIC is required"),
                (["config", "check"], "FILE is required"),
                ([*send, "--size", 3], "--size"),
                ([*send, "--count", 0], "--count is '0'; it must be a whole number from 1 to "),
                ([*send, "--count", -1], "--count is '-1'"),
                ([*send, "--count", "many"], "--count is 'many'"),
                ([*send, "--count", "99999999999999999999"], "--count is '99999999999999999999'"),
                ([*send, "--in-flight", 0], "--in-flight is '0'"),
                ([*send, "--threads", 1000], "--threads is '1000'; it must be a whole number from 1 to 256"),
                ([*send, "--mode", "sycn"], "--mode is 'sycn'; it must be 'sync', 'async' or 'oneway' (did you mean 'sync'?)"),
                ([*send, "--rate", "fast"], "--rate is 'fast'; it must be messages a second"),
                ([*send, "--rate", "0"], "--rate is '0'"),
                ([*send, "--timeout", "3"], "--timeout is '3'; it must be a duration"),
                ([*send, "--queue", "broker-a"], "--queue is 'broker-a'; it must be a broker and a queue's number, as in broker-a/0"),
                ([*send, "--queue", "broker-a/-1"], "--queue is 'broker-a/-1'"),
                ([*send, "--queue", "/1"], "--queue is '/1'"),
                ([*send, "--queue", "broker-a/1", "--policy", "default"], "--policy"),
                ([*send, "--property", "novalue"], "--property is 'novalue'; it must be a name and a value"),
                ([*send, "--delay-level", 19], "--delay-level is '19'; it must be a whole number from 1 to 18"),
                ([*send, "--nonsense"], "--nonsense"),
                (["tail", "-c", config, "-t", "a topic"], "--topic is 'a topic'"),
                (["tail", "-c", config, "-t", "t", "--from", "middle"], "--from is 'middle'; it must be 'begin' or 'end'"),
                (["cluster", "--brokers", 27], "--brokers is '27'; it must be a whole number from 1 to 26"),
                (["cluster", "--port", 65536], "--port is '65536'"),
                (["bench", "--name-server", "nowhere"], "--name-server is 'nowhere'; it must be HOST:PORT")):
            with self.subTest(arguments=arguments):
                self.refused(*arguments, status=2, saying=saying)

    def test_a_configuration_that_is_not_there_is_2(self):
        for command in (["send", "-t", "t", "--body", "x"], ["tail", "-t", "t"], ["route", "t"], ["bench"], ["plugin", "list"]):
            with self.subTest(command=command):
                self.refused(*command, "-c", self.file("none.toml"), status=2, saying=["none.toml", "No such file or directory"])

    def test_what_is_no_scenario_file_is_told(self):
        for file, why in (("/dev/zero", "is no file"), (os.path.dirname(self.file("x")), "is a folder"), (self.file("none"), "No such file or directory")):
            with self.subTest(file):
                self.refused("simulate", file, status=2, saying=[f"'{file}'", why, "it must be a scenario"])

    def test_brackets_and_dashes_in_a_body_are_the_body(self):
        for body in '["a","b"]', "--not-an-option", "", " ", "%", "a=b":
            if body:
                self.topic = "t" + str(len(body)) + str(ord(body[0]))
                self.send("--body=" + body)
                self.assertEqual([m["body"] for m in self.tail()], [body])

    def test_results_that_cannot_be_written_are_a_failure(self):
        with open("/dev/full", "w") as full:
            ended = subprocess.run([SHUNT, "send", "-c", self.config(), "-t", "t", "--body", "x", "--json"], stdout=full, stderr=subprocess.PIPE,
                                   text=True, timeout=60)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("writing to stdout failed: No space left on device", ended.stderr)

    def test_nothing_but_results_goes_to_a_pipe(self):
        ended = shunt("send", "-c", self.config(), "-t", "t", "--body", "x", "--count", 2000, "--rate", "5000")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertNotIn("\r", ended.stdout)

    def test_on_a_terminal_there_is_a_progress_line(self):
        ours, theirs = pty.openpty()
        sending = subprocess.Popen([SHUNT, "send", "-c", self.config(), "-t", "t", "--body", "x", "--count", "1500", "--rate", "1000", "--json"],
                                   stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        said = b""
        while True:
            try:
                some = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not some:
                break
            said += some
        os.close(ours)
        self.assertIn(b'"stored":1500', sending.communicate(timeout=60)[0])
        self.assertRegex(said.decode(), r"\d+ sent, \d+ ended, 0 of them not well, \d+/s")


if __name__ == "__main__":
    main()
