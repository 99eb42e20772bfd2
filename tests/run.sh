#!/bin/sh
# Runs the tests and ends with one line: N passed, N failed. Exits 0 only when nothing failed and nothing was missing.
#
# usage: sh tests/run.sh [--quick | --all]
#   --quick   dev build; unit, plugin and cluster tests
#   (nothing) all of dev, then address, undefined-behaviour and thread sanitizers, fuzzing and benchmarks for a moment each
#   --all     also what is too long for each run: tests labelled `long`, longer fuzzing, a fresh Debian root
#
# Builds land in build/PRESET, logs in build/tests. A step that cannot be done (a tool, a build, a download) is a failed
# test with its log shown; the others go on.
set -u

root=$(cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
cd "$root" || exit 1
exec </dev/null

mode=normal
case ${1-} in
    "") ;;
    --quick) mode=quick ;;
    --all) mode=all ;;
    *)
        echo "usage: sh tests/run.sh [--quick | --all]" >&2
        exit 2
        ;;
esac

# Clones of the same commit share what ccache holds, wherever they lie.
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
logs=$root/build/tests
cores=$(nproc)
passed=0
failed=0
failures=""
jars=""

finish() {
    trap - EXIT INT TERM HUP
    [ -z "$jars" ] || kill "$jars" 2>/dev/null
    if [ -n "$failures" ]; then
        printf '\nfailed:\n%s' "$failures"
    fi
    printf '\n%s passed, %s failed\n' "$passed" "$failed"
    if [ "$failed" -gt 0 ] || [ "$passed" -eq 0 ]; then
        exit 1
    fi
    exit 0
}
trap finish EXIT
trap 'fail "interrupted"; finish' INT TERM HUP

# fail WHAT [LOG]: counts one failure, and shows the end of the log.
fail() {
    failed=$((failed + 1))
    failures="$failures  $1
"
    echo "FAILED: $1"
    [ -z "${2-}" ] || [ ! -f "$2" ] || tail -n "${3-60}" "$2" | sed 's/^/    /'
}
pass() {
    passed=$((passed + 1))
}
say() {
    printf '\n== %s\n' "$*"
}
seconds() {
    date +%s
}

# build PRESET [TARGET...]: configures and builds; without targets everything. False when that failed (and was counted).
configure() {
    cmake --preset "$1" >"$logs/$1.configure.log" 2>&1 && return
    fail "configure $1" "$logs/$1.configure.log"
    return 1
}
build() {
    build_preset=$1
    shift
    started=$(seconds)
    printf 'building %s ... ' "$build_preset"
    if cmake --build "build/$build_preset" ${1:+--target} "$@" >"$logs/$build_preset.build.log" 2>&1; then
        echo "$(($(seconds) - started)) s"
        return
    fi
    echo
    grep -A 30 '^FAILED: ' "$logs/$build_preset.build.log" >"$logs/$build_preset.errors.log"
    fail "build $build_preset" "$logs/$build_preset.errors.log"
    return 1
}

# ninja_targets PRESET SED-PATTERN: targets the pattern matches, one a line.
ninja_targets() {
    ninja -C "build/$1" -t targets all 2>/dev/null | sed -n "s/^\($2\): .*/\1/p" | sort -u
}

# targets_of PRESET CTEST-SELECTION...: what these tests need: the programs they are named after, the plugins and the
# program shunt. What else a test starts, it names as a dependency.
targets_of() {
    targets_preset=$1
    shift
    ninja_targets "$targets_preset" '[A-Za-z0-9_.+-]*' >"$logs/targets"
    needed=""
    for name in $(ctest --test-dir "build/$targets_preset" -N "$@" 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: \([^ ]*\).*/\1/p'); do
        if grep -qxF -- "$name" "$logs/targets"; then
            needed="$needed $name"
        fi
    done
    # shellcheck disable=SC2046
    echo $needed $(ninja_targets "$targets_preset" 'lib\/shunt\/plugins\/[^ ]*\.so\|bin\/shunt')
}

# run_tests PRESET TITLE CTEST-ARGUMENT...: runs them, counts them.
run_tests() {
    tests_preset=$1
    title="$2"
    shift 2
    log=$logs/$(echo "$title" | tr ' +' '--')
    rm -f "$log.xml"
    started=$(seconds)
    say "$title"
    ${runner-} ctest --test-dir "build/$tests_preset" --no-tests=error --output-on-failure --output-junit "$log.xml" \
        --test-output-size-passed 1000000000 --test-output-size-failed 1000000000 "$@" >"$log.log" 2>&1
    status=$?
    # ctest's own words, without what concerns nobody.
    grep -v -e '^Internal ctest' -e '^Test project' -e '^Label Time' -e '^$' -e 'sec\*proc' "$log.log"
    if ! grep -q '<testcase ' "$log.xml" 2>/dev/null; then
        fail "$title: no test ran"
        return
    fi
    counted=$(awk -f tests/support/count.awk "$log.xml")
    set -- $(echo "$counted" | head -n 1)
    passed=$((passed + $1))
    failed=$((failed + $2))
    if [ "$2" -gt 0 ]; then
        failures="$failures$(echo "$counted" | sed -e 1d -e "s/^/  $title: /")
"
    elif [ "$status" -ne 0 ]; then
        fail "$title: ctest ended with $status"
    fi
    echo "$title: $1 passed, $2 failed, $(($(seconds) - started)) s"
}

# suite PRESET LABEL...: the tests of each label in turn. What measures time or starts servers runs one test at a time.
suite() {
    suite_preset=$1
    shift
    for label in "$@"; do
        case $label in
            unit | plugin | lint) jobs=$cores ;;
            *) jobs=1 ;;
        esac
        run_tests "$suite_preset" "$suite_preset $label" -L "^$label\$" $not_long -j "$jobs"
    done
}

mkdir -p "$logs" || exit 1
begun=$(seconds)

say "packages"
wanted=tests
[ "$mode" != quick ] || wanted=""
if ! sh tests/support/install.sh $wanted; then
    fail "packages"
    exit
fi

not_long="-LE ^long\$"
[ "$mode" != all ] || not_long=""

if [ "$mode" = quick ]; then
    say "dev"
    configure dev && build dev && suite dev unit plugin cluster
    exit
fi

# The jars of the real RocketMQ come while the compiler runs.
sh tests/interop/fetch_jars.sh >"$logs/jars.log" 2>&1 &
jars=$!

say "dev"
if configure dev && build dev; then
    suite dev lint unit plugin cluster
    if wait "$jars"; then
        suite dev interop
    else
        fail "jars of the real RocketMQ" "$logs/jars.log"
    fi
    jars=""
    suite dev package
fi

say "asan+ubsan"
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1"
export UBSAN_OPTIONS="${UBSAN_OPTIONS-}:print_stacktrace=1:halt_on_error=1"
export TSAN_OPTIONS="${TSAN_OPTIONS-}:second_deadlock_stack=1"
if configure asan+ubsan && build asan+ubsan $(targets_of asan+ubsan -L '^(unit|plugin|cluster)$' $not_long); then
    suite asan+ubsan unit plugin cluster
fi

say "tsan"
if configure tsan && build tsan $(targets_of tsan -L '^threads$' $not_long); then
    # Its shadow memory needs the addresses that a kernel with much randomness gives away.
    runner=""
    if setarch -R true 2>/dev/null; then
        runner="setarch -R"
    fi
    suite tsan threads
    runner=""
fi

if [ -f tests/fuzz/CMakeLists.txt ]; then
    say "fuzz"
    each=30
    [ "$mode" != all ] || each=300
    if configure fuzz; then
        fuzzers=$(ninja_targets fuzz 'fuzz_[a-z0-9_]*')
        if [ -z "$fuzzers" ]; then
            fail "fuzz: there is no target fuzz_*"
        elif build fuzz $fuzzers; then
            # Each of the cores has one at a time.
            # shellcheck disable=SC2086
            printf '%s\n' $fuzzers | xargs -P "$cores" -I NAME sh tests/fuzz/run.sh NAME "$each" "$logs"
            for fuzzer in $fuzzers; do
                if [ "$(cat "$logs/$fuzzer.status" 2>/dev/null)" = 0 ]; then
                    sed -n "s/^stat::number_of_executed_units: *\(.*\)/$fuzzer, $each s ... \1 inputs/p" "$logs/$fuzzer.log"
                    pass
                else
                    fail "fuzz: $fuzzer (inputs that failed: build/tests/$fuzzer-*)" "$logs/$fuzzer.log"
                fi
            done
        fi
    fi
fi

if [ -f tests/bench/CMakeLists.txt ]; then
    say "bench"
    if configure release && build release shunt_bench; then
        if sh tests/bench/run.sh --quick build/release >"$logs/bench.log" 2>&1; then
            cat "$logs/bench.log"
            pass
        else
            fail "bench: tests/bench/run.sh --quick build/release" "$logs/bench.log"
        fi
    fi
fi

if [ "$mode" = all ]; then
    say "a fresh Debian root"
    if sh tests/fresh_root.sh; then
        pass
    else
        fail "fresh root"
    fi
fi

echo
echo "took $(($(seconds) - begun)) s"
exit
