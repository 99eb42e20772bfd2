"""What the tests of the program share: running it, and a cluster to run it against.

Nothing here sleeps: a test waits for a line, a file or an exit, with a deadline.
"""

import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

BUILD = os.environ["SHUNT_BUILD_DIR"]
SOURCE = os.environ["SHUNT_SOURCE_DIR"]
SHUNT = os.path.join(BUILD, "bin", "shunt")
PLUGINS = os.path.join(BUILD, "lib", "shunt", "plugins")
DEADLINE = 60  # seconds; what is waited for takes far less


def shunt(*arguments, **more):
    """Runs the program to its end."""
    more.setdefault("timeout", DEADLINE)
    more.setdefault("text", True)
    if "input" not in more:
        more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([SHUNT, *map(str, arguments)], capture_output=True, **more)


def lines_of_json(text):
    return [json.loads(line) for line in text.splitlines()]


class Lines:
    """Lines of a stream, waited for with a deadline."""

    def __init__(self, stream):
        self.seen = []
        self._waiting = queue.Queue()
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream):
        with stream:
            for line in stream:
                self._waiting.put(line.rstrip("\n"))
        self._waiting.put(None)

    def end(self):
        """The stream has ended, since its writer has."""
        self._thread.join(DEADLINE)

    def next(self):
        """The next line; None at the end."""
        try:
            line = self._waiting.get(timeout=DEADLINE)
        except queue.Empty:
            raise AssertionError(f"no line came; before there were {self.seen}") from None
        if line is not None:
            self.seen.append(line)
        return line

    def until(self, text):
        """Reads up to a line that contains the text."""
        while True:
            line = self.next()
            if line is None:
                raise AssertionError(f"no line with {text!r} came; there were {self.seen}")
            if text in line:
                return line

    def rest(self):
        """All lines up to the end."""
        lines = []
        while (line := self.next()) is not None:
            lines.append(line)
        return lines


class Running:
    """The program at work, for as long as the test wants."""

    def __init__(self, *arguments, stdin=subprocess.PIPE):
        self.process = subprocess.Popen([SHUNT, *map(str, arguments)], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, bufsize=1)
        self.out = Lines(self.process.stdout)
        self.err = Lines(self.process.stderr)

    def interrupt(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def wait(self):
        return self.process.wait(timeout=DEADLINE)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.out.end()
        self.err.end()
        if self.process.stdin:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass


class Cluster(Running):
    """shunt cluster, ready."""

    def __init__(self, *arguments, **more):
        super().__init__("cluster", *arguments, **more)
        self.address = self.out.until("name server ").removeprefix("name server ")

    def tell(self, command):
        """Gives a command; it is in force when this returns."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.err.next()
        if answer is None or not answer.startswith("shunt cluster: ok: "):
            raise AssertionError(f"{command}: {answer}")

    def ledger(self, topic=None):
        """What was stored, in order of broker, topic, queue and offset."""
        with tempfile.NamedTemporaryFile() as file:
            self.tell(f"ledger {file.name}")
            records = lines_of_json(file.read().decode())
        return [r for r in records if topic in (None, r["topic"])]


def wait_for_lines(path, count):
    """Waits until a file has so many lines, asking again at each change of its size."""
    deadline = time.monotonic() + DEADLINE
    pause = threading.Event()
    while time.monotonic() < deadline:
        try:
            with open(path, encoding="utf-8") as file:
                if sum(1 for _ in file) >= count:
                    return
        except FileNotFoundError:
            pass
        pause.wait(0.01)
    raise AssertionError(f"{path} did not get {count} lines")


POLICIES = """
[policies.default]
selector = { use = "best-queue" }
fault = { use = "latency-fault" }
[policies.by-key]
selector = { use = "hash" }
fault = { use = "none" }
[policies.by-order]
selector = { use = "hash" }
fault = { use = "none" }
ordered = true
"""


class Case(unittest.TestCase):
    """A test with a folder of its own, and one cluster for all tests of a class (a topic each)."""

    cluster_arguments = ()
    cluster = None

    @classmethod
    def setUpClass(cls):
        if cls.cluster_arguments is not None:
            cls.cluster = Cluster(*cls.cluster_arguments)

    @classmethod
    def tearDownClass(cls):
        if cls.cluster is not None:
            cls.cluster.end()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="shunt-cli-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.topic = self._testMethodName

    def file(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:  # in one step: a program that is still starting may be reading it
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".new", path)
        return path

    def config(self, address=None, producer='send_timeout = "60s"', rest=POLICIES):
        """A configuration for the class's cluster. However busy the machine is, no broker seems to hang."""
        return self.file("shunt.toml", f'[producer]\nname_servers = ["{address or self.cluster.address}"]\n{producer}\n{rest}')

    def wait_for(self, holds):
        deadline = time.monotonic() + DEADLINE
        while not holds():
            self.assertLess(time.monotonic(), deadline)
            threading.Event().wait(0.05)

    def running(self, *arguments, **more):
        started = Running(*arguments, **more)
        self.addCleanup(started.end)
        return started

    def new_cluster(self, *arguments, **more):
        started = Cluster(*arguments, **more)
        self.addCleanup(started.end)
        return started

    def ok(self, *arguments, **more):
        """Runs the program, which must be done with 0; what it wrote to stdout."""
        ended = shunt(*arguments, **more)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout

    def send(self, *arguments, config=None, **more):
        """send --json to the test's topic, all stored."""
        return json.loads(self.ok("send", "-c", config or self.config(), "-t", self.topic, "--json", *arguments, **more))

    def tail(self, *arguments, config=None):
        return lines_of_json(self.ok("tail", "-c", config or self.config(), "-t", self.topic, "--json", *arguments))

    def receipts(self, path):
        with open(path, encoding="utf-8") as file:
            return lines_of_json(file.read())

    def refused(self, *arguments, status, saying, **more):
        """Runs the program, which must end with this status, say this on stderr, and nothing on stdout."""
        ended = shunt(*arguments, **more)
        self.assertEqual(ended.returncode, status, ended.stderr)
        for text in [saying] if isinstance(saying, str) else saying:
            self.assertIn(text, ended.stderr)
        self.assertEqual(ended.stdout, "")
        return ended

    def assertShape(self, value, shape):
        """The members of `shape` are there, with their types; a dict or list inside is looked into."""
        if isinstance(shape, dict):
            self.assertIsInstance(value, dict)
            for name, inner in shape.items():
                if name is ...:  # any names, all of this shape
                    for each in value.values():
                        self.assertShape(each, inner)
                else:
                    self.assertIn(name, value)
                    self.assertShape(value[name], inner)
        elif isinstance(shape, list):
            self.assertIsInstance(value, list)
            for each in value:
                self.assertShape(each, shape[0])
        else:
            self.assertIs(type(value), shape, value)


def place(record):
    """Where a message lies, as receipts and messages both tell it."""
    return record["broker"], record["queue"], record["offset"], record["msg_id"]


if __name__ != "__main__":
    main = unittest.main
