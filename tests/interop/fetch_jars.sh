#!/bin/sh
# Puts the jars of the real RocketMQ into the cache, once, and prints the folder each set lies in.
#
# usage: sh fetch_jars.sh [broker-5.3.2 | broker-5.5.0 | namesrv-5.1.4]...        all of them when none is named
#
# A set is a folder of maven/ with a pom.xml. It is fetched into a folder of its own and renamed into place when whole, so
# that an interrupted or doubled run leaves nothing half done. The folder's name holds a hash of the pom: a changed pom is
# another set.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/shunt/rocketmq
mkdir -p "$cache"

fetch() {
    pom=$here/maven/$1/pom.xml
    if [ ! -f "$pom" ]; then
        echo "fetch_jars.sh: no set of jars is called '$1'; there are: $(ls "$here/maven" | tr '\n' ' ')" >&2
        return 2
    fi
    target=$cache/$1-$(sha256sum <"$pom" | cut -c 1-12)
    if [ ! -d "$target" ]; then
        command -v mvn >/dev/null || {
            echo "fetch_jars.sh: mvn is not installed; run: sh tests/support/install.sh tests" >&2
            return 1
        }
        part=$(mktemp -d "$cache/.part-XXXXXX")
        cp "$pom" "$part/pom.xml"
        # A registry that fails for a moment is asked again; what was there already is not fetched twice.
        tries=3
        until (cd "$part" && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib >mvn.log 2>&1 </dev/null); do
            tries=$((tries - 1))
            if [ "$tries" -eq 0 ]; then
                echo "fetch_jars.sh: mvn could not fetch $1:" >&2
                tail -n 20 "$part/mvn.log" >&2
                rm -rf "$part"
                return 1
            fi
        done
        # -T: never into a folder that another run has put there meanwhile.
        mv -T "$part/lib" "$target" 2>/dev/null || [ -d "$target" ] || return 1
        rm -rf "$part"
    fi
    echo "$target"
}

[ $# -gt 0 ] || set -- broker-5.3.2 broker-5.5.0 namesrv-5.1.4
for name in "$@"; do
    fetch "$name"
done
