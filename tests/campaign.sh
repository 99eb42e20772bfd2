#!/bin/sh
# Random load under random faults, round after round, each checked against the ledger of the brokers.
#
# usage: sh tests/campaign.sh [--minutes N] [--seed S] [...]     all options: --help
#
# With --seed alone: that round. Without anything: one round that nobody has seen. Ends 0 only if no round failed; each
# that does prints its seed, what was wrong, and the smallest part of it that still fails. Builds what it needs.
set -eu
cd -- "$(dirname -- "$0")/.."
preset=${SHUNT_PRESET:-dev}
[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >/dev/null
cmake --build "build/$preset" --target campaign >/dev/null
exec "build/$preset/bin/campaign" "$@"
