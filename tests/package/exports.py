"""Whether a shared library shows programs just what it should.

usage: python3 exports.py LIBRARY LIST      LIST: the functions of shunt that are exported, demangled, sorted, one a line
       python3 exports.py LIBRARY           prints that list

A function that goes breaks programs that were linked before; one that comes is a promise. Beside them stands Asio, of which
a program and the library share one copy. Exit: 0 as listed, 1 not, 2 wrong usage.
"""

import subprocess
import sys


def exported(library):
    out = subprocess.run(["nm", "-DC", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        name = line.split(" ", 2)[2].split("@@")[0]
        if name != "SHUNT_1":
            yield name


def forgotten(library):
    """Members of the producer, which has no inline ones, that nobody can link to. The library must not be stripped."""
    out = subprocess.run(["nm", "-C", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        kind, name = line.split(" ", 2)[1:]
        if kind == "t" and name.startswith("shunt::producer::") and "{lambda" not in name and "[clone" not in name:
            yield name


def main(arguments):
    if len(arguments) not in (1, 2):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    names = set(exported(arguments[0]))
    ours = {n for n in names if "boost::asio::" not in n.split("(")[0]}
    if len(arguments) == 1:
        print("\n".join(sorted(ours)))
        return 0
    with open(arguments[1], encoding="utf-8") as f:
        listed = set(f.read().splitlines())
    for name in sorted(listed - ours):
        print(f"{arguments[0]}: does not export {name}; programs linked to it would not start")
    for name in sorted(ours - listed):
        print(f"{arguments[0]}: exports {name}, which is not in {arguments[1]}; list it if programs may use it, or take its SHUNT_EXPORT away")
    hidden = sorted(forgotten(arguments[0]))
    for name in hidden:
        print(f"{arguments[0]}: hides {name}; what programs call is marked SHUNT_EXPORT in the header")
    if not any("boost::asio::io_context" in n for n in names):
        print(f"{arguments[0]}: exports no Asio; a program and the library share one")
        return 1
    return 0 if ours == listed and not hidden else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
