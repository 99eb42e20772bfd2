#!/bin/sh
# Policies exchanged under live traffic: a strategy of our own is built, swapped in and rebuilt; a broken one is refused;
# one that does worse is taken back by itself. In the end every message lies where its receipt says, once.
#
# usage: sh examples/hot_swap.sh
#   SHUNT_BUILD_DIR=DIR    use the program built there; nothing is installed or built but the strategy
#
# Leaves nothing behind but build/dev. Exits 0 only if all it says is true.
set -eu

root=$(cd -- "$(dirname -- "$0")/.." && pwd)
tour=hot_swap
targets="shunt_preflight"
. "$root/examples/tour.sh"

# ---- a cluster, and traffic ------------------------------------------------------------------------------------------

headline "A cluster of 3 brokers, and 500 messages a second by config/shunt.toml"
start_cluster

# The shipped configuration, but for where to send and where to be asked from.
sed -e "s|^embedded = true.*|name_servers = [\"$address\"]|" -e 's|^listen = .*|listen = "unix:admin"|' \
    config/shunt.toml >"$work/shunt.toml"
"$shunt" config check "$work/shunt.toml" >/dev/null || die "the configuration is not right"
"$shunt" send -c "$work/shunt.toml" -t orders --body 'order {i}' --count 1000000000 --rate 500/s --mode async --in-flight 1000 \
    --receipts "$work/receipts" >"$work/summary" 2>&1 &
sender=$!
policy() {
    verb=$1
    shift
    "$shunt" policy "$verb" -c "$work/shunt.toml" "$@"
}
# Some more messages pass.
pass() {
    have=$(wc -l <"$work/receipts")
    while [ "$(wc -l <"$work/receipts")" -lt $((have + $1)) ]; do
        kill -0 "$sender" 2>/dev/null || { cat "$work/summary" >&2; die "the sender has ended"; }
        policy watch --count 1 --interval 200ms >/dev/null
    done
}
until [ -S "$work/admin" ] && [ -s "$work/receipts" ]; do
    kill -0 "$sender" 2>/dev/null || { cat "$work/summary" >&2; die "the sender has ended"; }
    sleep 0.1
done
pass 1500
policy watch --count 1

# ---- a strategy of our own -------------------------------------------------------------------------------------------

headline "A strategy of our own: built here from the SDK's headers alone, and swapped in"
cat >"$work/sparing.cpp" <<'EOF'
#include <shunt/sdk/plugin.hpp>

namespace sdk = shunt::sdk;

struct sparing {
    static constexpr std::string_view name = "sparing";
    static constexpr std::string_view summary = "one queue after another, but for those of one broker";
    static constexpr std::uint32_t spared = 0;
    sparing(const sdk::settings&, sdk::instance i) : next_(i.start) {}
    sdk::pick select(sdk::view v, sdk::message) noexcept
    {
        for (std::uint32_t n = 0; n < v.size(); ++n) {
            const std::uint32_t queue = next_++ % v.size();
            if (v.available(queue) && v.broker_of(queue) != spared)
                return {queue, sdk::why::plugin};
        }
        return {next_++ % v.size(), sdk::why::plugin};
    }
    std::uint32_t next_;
};

SHUNT_PLUGIN("example.sparing", "1.0.0", "Apache-2.0", sparing);
EOF
# A built file, and a configuration that loads it, on probation for $2. Each build is a file of its own: a loaded one is
# never written over.
build_as() {
    c++ -std=c++20 -O2 -fPIC -shared -fvisibility=hidden -I sdk/include -o "$work/$1.so" "$work/sparing.cpp" || die "sparing.cpp does not compile"
    sed -e 's|^selector = .*|selector = { use = "sparing" }|' -e "s|^probation = .*|probation = \"$2\"|" "$work/shunt.toml" >"$work/$1.toml"
    printf '\n[plugins.load]\nsparing = { file = "%s" }\n' "$work/$1.so" >>"$work/$1.toml"
}
# How many of the last 300 messages each broker got.
last() {
    tail -n 300 "$work/receipts" | sed 's/.*"broker":"\(broker-.\)","queue".*/\1/' | sort | uniq -c | awk '{ printf "%s %d  ", $2, $1 } END { print "" }'
}
build_as first 0ms
policy diff "$work/first.toml"
policy stage "$work/first.toml" >/dev/null
pass 400
last
case $(last) in *broker-a*) die "broker-a is not spared" ;; esac

headline "One line of it changed, rebuilt, and swapped in: for a share of the messages first, then for all"
sed -i 's/spared = 0/spared = 1/' "$work/sparing.cpp"
build_as second 0ms
policy stage "$work/second.toml" --canary 20% >/dev/null
pass 1500
policy watch --count 1
policy promote
pass 400
last
case $(last) in *broker-b*) die "broker-b is not spared" ;; esac

# ---- one that is broken ----------------------------------------------------------------------------------------------

headline "A broken one: it never reaches the process that sends"
sed -i 's/: next_(i.start) {}/: next_(i.start) { *static_cast<volatile int*>(nullptr) = 1; }/' "$work/sparing.cpp"
build_as broken 0ms
if policy stage "$work/broken.toml" 2>"$work/said.why"; then
    die "the broken one was taken"
fi
cat "$work/said.why"
pass 400
last

# ---- one that does worse ---------------------------------------------------------------------------------------------

headline "One that sends all to broker-c, which is slow today: on probation it is taken back by itself"
sed -i -e 's/{ \*static_cast.*}/{}/' -e 's/!= spared/== 2/' "$work/sparing.cpp"
build_as worse 1m
tell broker-c latency 100ms
policy stage "$work/worse.toml" >/dev/null
rounds=0
until policy list | grep '^ *4  rolled_back'; do
    rounds=$((rounds + 1))
    [ "$rounds" -lt 150 ] || die "it was not taken back"
    pass 100
done
pass 400
last

# ---- the ledger ------------------------------------------------------------------------------------------------------

headline "Nothing lost, nothing doubled: the receipts against what lies in the brokers"
kill -INT "$sender"
wait "$sender" || true  # 130: it was interrupted
sender=""
tell ledger "$work/ledger"
sed 's/.*"msg_id":"\([0-9A-F]*\)".*/\1/' "$work/ledger" | sort >"$work/lie"
grep '"outcome":"stored"' "$work/receipts" | sed 's/.*"msg_id":"\([0-9A-F]*\)".*/\1/' | sort >"$work/stored"
[ "$(wc -l <"$work/receipts")" -eq "$(wc -l <"$work/stored")" ] || die "not every message was stored"
cmp -s "$work/lie" "$work/stored" || die "the brokers do not hold what the receipts say"
[ "$(sort -u "$work/lie" | wc -l)" -eq "$(wc -l <"$work/lie")" ] || die "a message lies twice"
echo "$(wc -l <"$work/stored") messages were sent over 4 policies; each lies in the brokers once"
stop_cluster
