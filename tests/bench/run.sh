#!/bin/sh
# Measures decisions and sends, and holds them to their bars. Writes bench.json and bench.html into the build folder.
#
# usage: sh tests/bench/run.sh [--quick] [--accept] [BUILD]
#   (nothing) the whole table, beside the raw loop, other clients and a real broker: some 15 minutes on a machine that does
#             nothing else
#   --quick   what a busy machine does not change (instructions, allocations, system calls), the rest in short
#   --accept  takes the instructions counted as those that later runs are held to (counts.json)
#   BUILD     a release build that is there already; without it build/release is configured and built
set -eu

root=$(cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root"
mode=full
accept=""
while :; do
    case ${1-} in
        --quick) mode=quick ;;
        --accept) accept=--accept ;;
        -*)
            echo "usage: sh tests/bench/run.sh [--quick] [--accept] [BUILD]" >&2
            exit 2
            ;;
        *) break ;;
    esac
    shift
done
build=${1-}
if [ -z "$build" ]; then
    sh tests/support/install.sh tests
    cmake --preset release >/dev/null
    cmake --build build/release --target shunt_bench
    build=build/release
fi
if [ "$mode" = full ]; then
    command -v go >/dev/null || sh tests/support/install.sh bench
    sh tests/interop/fetch_jars.sh broker-5.3.2 >/dev/null
    sh tests/bench/peers/build.sh "$build/peers"
fi
exec python3 tests/bench/measure.py "$mode" "$build" $accept
