#!/bin/sh
# shunt as a part of another project's build, its plugins linked in.
#
# usage: fetch_test.sh BUILD ROOT CMAKE CACHE
#   BUILD   a build of ROOT; the other project's is made beside it, so that the compiler's cache knows the files already
#   CACHE   CMake's initial cache: compiler, flags and launcher of BUILD
set -eu

build=$1 root=$2 cmake=$3 cache=$4
outside=$build-consumer
here=$root/tests/package

die() {
    echo "fetch_test.sh: $*" >&2
    exit 1
}

# With nothing said, nothing of ours shows: no warnings as errors, no tests, no program, nothing to install.
plain=$outside/plain
rm -rf "$plain"
"$cmake" -S "$here/consumer" -B "$plain" -G Ninja -DSHUNT_SOURCE="$root" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$build/fetch.log" 2>&1 ||
    die "$(tail -n 40 "$build/fetch.log")"
if grep -o -e ' -W[a-z-]*' "$plain/compile_commands.json" | sort -u | grep .; then
    die "a project that takes shunt in gets these warnings"
fi
listed=$(cd "$plain" && ctest -N | tail -n 1)
[ "$listed" = "Total Tests: 0" ] || die "a project that takes shunt in gets tests: $listed"
targets=$("$cmake" --build "$plain" --target help)
for target in shunt_core best_queue; do
    echo "$targets" | grep -q "^$target: phony" || die "there is no target $target"
done
for target in shunt shunt_pages plugin_gallery; do
    if echo "$targets" | grep -q "^$target: phony"; then
        die "a project that takes shunt in gets the target $target"
    fi
done
"$cmake" --install "$plain" --prefix "$outside/prefix" >"$build/fetch.log" 2>&1 || die "$(cat "$build/fetch.log")"
[ ! -e "$outside/prefix" ] || die "a project that takes shunt in installs $(find "$outside/prefix" -type f)"

# Built, with the program as well, and run without a plugin's file anywhere.
"$cmake" -S "$here/consumer" -B "$outside" -G Ninja -C "$cache" -DSHUNT_SOURCE="$root" -DSHUNT_BUILD_CLI=ON >"$build/fetch.log" 2>&1 ||
    die "$(tail -n 40 "$build/fetch.log")"
"$cmake" --build "$outside" --target consumer shunt >"$build/fetch.log" 2>&1 || die "$(grep -A 30 '^FAILED: ' "$build/fetch.log")"
made=$outside/_deps/shunt-build
rm -rf "$made/lib/shunt/plugins"
printf '[producer]\nembedded = true\n' >"$outside/shunt.toml"
said=$("$outside/consumer" "$outside/shunt.toml") || die "exit $?: $said"
echo "$said"
case $said in "stored in queue "[0-3]" of broker-"*) ;; *) die "the program said: $said" ;; esac

listed=$("$made/bin/shunt" plugin list --json)
[ "$(echo "$listed" | grep -c '"file":"","sha256":"","abi":"1\.[0-9]*","origin":"static"')" -eq "$(ls -d "$root"/plugins/*/ | wc -l)" ] ||
    die "not each bundled strategy is linked in: $listed"
said=$("$made/bin/shunt" send -c "$outside/shunt.toml" -t T --body x --count 12 --json)
case $said in '{"sent":12,"stored":12,'*) ;; *) die "shunt send said: $said" ;; esac
for settings in '{ use = "hash", function = "murmur2" }' '{ use = "machine-room", rooms = ["hz"] }'; do
    printf '[producer]\nembedded = true\n[policies.default]\nselector = %s\nfault = { use = "circuit-breaker" }\n' "$settings" >"$outside/other.toml"
    "$made/bin/shunt" send -c "$outside/other.toml" -t T --body x --order-key k --count 12 >/dev/null || die "with $settings nothing was sent"
done
