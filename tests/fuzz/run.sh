#!/bin/sh
# One fuzz target of build/fuzz for some seconds, from its seeds and what earlier runs found; its log and exit status go to LOGS.
#
# usage: sh tests/fuzz/run.sh fuzz_NAME SECONDS LOGS
set -u
fuzzer=$1
rm -f "$3/$fuzzer.status"
# What it finds new stays in the build tree; the seeds of the repository are only read.
mkdir -p "build/fuzz/corpus/$fuzzer"
seeds=tests/fuzz/corpus/${fuzzer#fuzz_}
[ -d "$seeds" ] || seeds=""
# shellcheck disable=SC2086
"build/fuzz/bin/$fuzzer" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$3/$fuzzer-" "build/fuzz/corpus/$fuzzer" $seeds >"$3/$fuzzer.log" 2>&1
echo $? >"$3/$fuzzer.status"
