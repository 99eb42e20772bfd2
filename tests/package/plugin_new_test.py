"""A stranger's first strategy: `shunt plugin new` of an installed shunt in an empty folder, then what the README it wrote says.

usage: plugin_new_test.py PREFIX SCRATCH KIND LANGUAGE [ROOT]
   PREFIX    where shunt is installed
   SCRATCH   a folder to work in; emptied first
   ROOT      the root of another system, which both of them are in, and in which the commands run: as root

The commands are the README's, one after the other, in a shell that has PREFIX/bin on its path and is told nothing else.
"""

import json
import os
import re
import shutil
import subprocess
import sys

NAME = "sticky-run"


def commands_of(readme):
    """The lines of all ```sh blocks."""
    return [line for block in re.findall(r"^```sh\n(.*?)^```", readme, re.M | re.S) for line in block.splitlines()]


def main(prefix, scratch, kind, language, root=None):
    def outside(path):
        """As this program finds it."""
        return path if root is None else root + path

    shutil.rmtree(outside(scratch), ignore_errors=True)
    os.makedirs(outside(scratch))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CMAKE_") and name != "shunt_DIR"}
    if root is not None:
        environment = {"HOME": "/root", "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"}
    environment["PATH"] = os.path.join(prefix, "bin") + ":" + environment["PATH"]

    def run(command, folder):
        print(f"$ {command}", flush=True)
        shell = ["sh", "-e", "-c", 'cd "$0"; ' + command, folder]
        ended = subprocess.run([*([] if root is None else ["chroot", root]), *shell], env=environment, text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(ended.stdout, flush=True)
        if ended.returncode != 0:
            sys.exit(f"plugin_new_test.py: '{command}' ended with {ended.returncode}")
        return ended.stdout

    def expect(right, what):
        if not right:
            sys.exit(f"plugin_new_test.py: {what}")

    run(f"shunt plugin new {NAME} --kind {kind} --lang {language}", scratch)
    repository = os.path.join(scratch, NAME)
    with open(outside(os.path.join(repository, "README.md")), encoding="utf-8") as file:
        commands = commands_of(file.read())
    said = {command: run(command, repository) for command in commands}

    def said_by(beginning):
        found = [text for command, text in said.items() if command.startswith(beginning)]
        expect(len(found) == 1, f"the README has no command that begins with '{beginning}', or more than one")
        return found[0]

    expect("100% tests passed" in said_by("ctest"), "its tests did not run")
    expect("100% tests passed" in said_by("sh ci.sh"), "its tests did not run by ci.sh")
    expect(" 0 failed, 0 crashed" in said_by("shunt plugin check"), "it does not keep to the rules")
    expect(f"{NAME} ({kind}, " in said_by("shunt plugin describe"), "describe tells something else")
    expect(" 120 stored" in said_by("shunt send"), "not all was stored")
    built = outside(os.path.join(repository, "build", "lib" + NAME.replace("-", "_") + ".so"))
    names = subprocess.run(["nm", "-D", "--defined-only", built], text=True, stdout=subprocess.PIPE, check=True).stdout.split()[2::3]
    expect(names == ["shunt_plugin_entry_v1"], f"the plugin exports {names}")

    if kind == "selector":  # it is this selector that decides: ten messages to a queue, then ten to the next, as shunt.toml says
        run("shunt send -c shunt.toml -t other --count 120 --body hello --receipts receipts --json", repository)
        with open(outside(os.path.join(repository, "receipts")), encoding="utf-8") as file:
            went = [(r["broker"], r["queue"]) for r in map(json.loads, file)]
        runs = [went[i:i + 10] for i in range(0, 120, 10)]
        expect(all(len(set(one)) == 1 for one in runs) and len({one[0] for one in runs}) == 12, f"the messages went to {went}")


if __name__ == "__main__":
    main(*sys.argv[1:])
