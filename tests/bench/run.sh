#!/bin/sh
# Measures decisions and sends, and holds them to their bars. Writes bench.json into the build folder.
#
# usage: sh tests/bench/run.sh [--smoke] [BUILD]
#   --smoke  fewer repetitions and messages: for every run of the tests
#   BUILD    a release build that is there already; without it build/release is configured and built
set -eu

root=$(cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root"
mode=full
if [ "${1-}" = --smoke ]; then
    mode=smoke
    shift
fi
build=${1-}
if [ -z "$build" ]; then
    sh tests/support/install.sh tests
    cmake --preset release >/dev/null
    cmake --build build/release --target bench_sink send_bench swap_bench decision_bench simulate_bench shunt_bundled_plugins
    build=build/release
fi
exec python3 tests/bench/measure.py "$mode" "$build"
