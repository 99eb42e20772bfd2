"""Manual pages and completions tell the same as the program's own --help.

usage: python3 pages_test.py BUILD
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv.pop()) if len(sys.argv) == 2 else sys.exit(__doc__.split("\n\n")[1])
SHUNT = os.path.join(BUILD, "bin", "shunt")
SHARE = os.path.join(BUILD, "share")


def run(*argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, **more)


def told(path):
    """What --help of a command shows: its options and its commands."""
    text = run(SHUNT, *path, "--help").stdout
    options = re.findall(r"^ {2,8}(?:(-\w),)?(--[\w-]+)", text, re.MULTILINE)
    commands = re.findall(r"^  ([a-z][a-z-]*)  ", text.partition("Subcommands:")[2], re.MULTILINE)
    return sorted({o for pair in options for o in pair if o}), commands


def every_command(path=()):
    yield path
    for command in told(path)[1]:
        yield from every_command((*path, command))


COMMANDS = list(every_command())


def page(path):
    """As a reader sees it, in one line."""
    file = os.path.join(SHARE, "man/man1", "-".join(("shunt", *path[:1])) + ".1")
    shown = run("man", "--warnings", "-E", "UTF-8", "-l", file, env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""})
    assert shown.returncode == 0 and shown.stderr == "", (file, shown.stderr)
    return " ".join(shown.stdout.split())


BASH = """
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_shunt && printf '%s\\n' "${COMPREPLY[@]}"
"""
# What zsh's own functions would show, told instead.
ZSH = """
compdef() { : }
_describe() { local a; for a in "$@"; do [[ -n ${(Pt)a} && ${(Pt)a} == *array* ]] && print -rl -- ${(P)a%%:*}; done; return 0 }
_files() { print -rl -- *(N) }
_message() { : }
compadd() { shift; print -rl -- "$@" }
source "$1"; shift
words=("$@"); CURRENT=$#words; PREFIX=${words[-1]}
_shunt
"""


def bash(words, folder):
    return run("bash", "--norc", "-c", BASH, "bash", f"{SHARE}/bash-completion/completions/shunt", *words, cwd=folder)


def zsh(words, folder):
    return run("zsh", "-f", "-c", ZSH, "zsh", f"{SHARE}/zsh/site-functions/_shunt", *words, cwd=folder)


def fish(words, folder):
    line = " ".join(words)
    done = run("fish", "--no-config", "-c", f"source {SHARE}/fish/vendor_completions.d/shunt.fish; complete -C '{line}'", cwd=folder,
               env={**os.environ, "HOME": folder})
    done.stdout = re.sub(r"\t.*", "", done.stdout)
    return done


class Pages(unittest.TestCase):
    def test_there_is_a_page_for_each_command_and_no_other(self):
        self.assertGreater(len(COMMANDS), 8)
        self.assertEqual(sorted(os.listdir(os.path.join(SHARE, "man/man1"))),
                         sorted("-".join(("shunt", *path)) + ".1" for path in COMMANDS if len(path) < 2))

    def test_a_page_names_each_option_and_command(self):
        for path in COMMANDS:
            shown = page(path)
            for word in told(path)[0] + told(path)[1] + [" ".join(("shunt", *path))]:
                self.assertRegex(shown, rf"(?<![\w-]){re.escape(word)}(?![\w-])", f"{path}")

    def test_a_page_has_the_words_of_the_help(self):
        self.assertIn("--order-key K what selectors choose by and ordered policies keep in order", page(("send",)))
        self.assertIn("shunt send -c FILE -t TOPIC [OPTION]...", page(("send",)))
        self.assertIn("{i} in --body, --key, --order-key", page(("send",)))


class Completions(unittest.TestCase):
    def offered(self, line):
        """By each shell, with a file in the folder."""
        words, offers = line.split(" "), []
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "some.toml"), "w", encoding="utf-8"):
                pass
            for shell in (bash, zsh, fish):
                done = shell(words, folder)
                self.assertEqual((done.returncode, done.stderr), (0, ""), (shell.__name__, line))
                offers.append([w for w in done.stdout.splitlines() if w and w.startswith(words[-1])])
        return offers

    def test_commands_at_the_start(self):
        for words in self.offered("shunt "):
            self.assertGreaterEqual(set(words), set(told(())[1]))

    def test_all_options_of_each_command(self):
        for path in COMMANDS:
            for words in self.offered(" ".join(("shunt", *path, "--"))):
                self.assertEqual(sorted(set(words)), [o for o in told(path)[0] if o.startswith("--")])

    def test_commands_of_a_command(self):
        for words in self.offered("shunt config "):
            self.assertLessEqual({"check", "show"}, set(words))
            self.assertNotIn("send", words)

    def test_words_that_an_option_takes(self):
        for words in self.offered("shunt send -c some.toml --mode "):
            self.assertEqual(sorted(words), ["async", "oneway", "sync"])

    def test_files_where_a_file_is_taken(self):
        for line in ("shunt send --config ", "shunt config check ", "shunt plugin describe "):
            for words in self.offered(line):
                self.assertIn("some.toml", words)

    def test_nothing_where_nobody_can_know(self):
        for words in self.offered("shunt send --count "):
            self.assertEqual(words, [])


if __name__ == "__main__":
    unittest.main()
