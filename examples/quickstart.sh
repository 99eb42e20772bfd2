#!/bin/sh
# shunt in a few seconds: a cluster in a process, 3,000 messages, a broker that hangs, one line changed in a file.
#
# usage: sh examples/quickstart.sh
#   SHUNT_BUILD_DIR=DIR    use the program built there; nothing is installed or built
#
# Leaves nothing behind but build/dev. Exits 0 only if all it says is true.
set -eu

root=$(cd -- "$(dirname -- "$0")/.." && pwd)
tour=quickstart
targets=""
. "$root/examples/tour.sh"

# ---- a cluster -------------------------------------------------------------------------------------------------------

headline "A RocketMQ cluster to try things on: shunt cluster --brokers 3"
start_cluster
echo "$line, brokers broker-a, broker-b, broker-c"

# The shipped configuration, but for where to send.
sed "s|^embedded = true.*|name_servers = [\"$address\"]|" config/shunt.toml >"$work/shunt.toml"
"$shunt" config check "$work/shunt.toml" >/dev/null || die "the configuration is not right"

# ---- best-queue and latency-fault, and a broker that hangs -----------------------------------------------------------

headline "3,000 messages by config/shunt.toml; after the first 500, broker-b stops answering"
grep -E '^(selector|fault) = ' "$work/shunt.toml"
"$shunt" send -c "$work/shunt.toml" -t orders --body 'order {i}' --count 3000 --rate 800/s --mode async --in-flight 1000 \
    --receipts "$work/receipts" >"$work/summary" 2>&1 &
sender=$!
"$shunt" tail -c "$work/shunt.toml" -t orders --follow --count 500 >/dev/null 2>&1
tell broker-b hang
status=0
wait "$sender" || status=$?
sender=""
[ "$status" -eq 0 ] || { cat "$work/summary" >&2; die "not every message was stored"; }
sed -n '/ in .*: /,$p' "$work/summary"

# The receipts: a line of JSON for each message, in the order they were sent. first(NAME) is the first member called so:
# of a receipt and of a message that lies in a queue, where it lies.
reading='function first(name,  s) {
    if (!match($0, "\"" name "\":\"?[^\",}]*"))
        return ""
    s = substr($0, RSTART, RLENGTH)
    sub(/^"[a-z_]*":"?/, "", s)
    return s
}'
awk "$reading"'
    {
        row = int((NR - 1) / 500)
        n[row, first("broker")]++
        if (gsub(/"code":/, "&") > 1) {
            if (++again[row] > most)
                most = again[row]
            if (example == "")
                example = sprintf("message %d: %s; then %s on %s", NR - 1, first("text"), first("outcome"), first("broker"))
        }
    }
    END {
        printf "\n%-16s%10s%10s%10s%14s\n", "messages", "broker-a", "broker-b", "broker-c", "sent again"
        for (r = 0; r < 6; r++)
            printf "%4d to %4d    %10d%10d%10d%14d\n", r * 500, r * 500 + 499, n[r, "broker-a"], n[r, "broker-b"], n[r, "broker-c"], again[r]
        printf "\n%s\n", example
        printf "What was on its way to broker-b when it stopped went elsewhere after a second; from then on it is avoided.\n"
        exit !(n[0, "broker-b"] > 0 && most > 0 && n[5, "broker-b"] == 0 && again[5] < most / 3)
    }' "$work/receipts" || die "the messages did not go where they should"

headline "Nothing is lost: the receipts against what lies in the brokers"
tell broker-b ok
"$shunt" tail -c "$work/shunt.toml" -t orders --json >"$work/stored" || die "not every queue could be read"
for lines in receipts stored; do
    awk "$reading"'{ print first("msg_id"), first("broker"), first("queue"), first("offset") }' "$work/$lines" | sort >"$work/$lines.places"
done
[ "$(cut -d ' ' -f 1 "$work/receipts.places" | sort -u | wc -l)" -eq 3000 ] || die "there are not 3,000 receipts, each of another message"
comm -23 "$work/receipts.places" "$work/stored.places" >"$work/missing"
[ ! -s "$work/missing" ] || die "these are not where their receipts say: $(head -n 5 "$work/missing")"
copies=$(comm -13 "$work/receipts.places" "$work/stored.places" | wc -l)
echo "3,000 receipts, each of another message; each message lies exactly where its receipt says"
# A message is sent again when its answer is late: on a machine that stood still for a second that makes copies.
[ "$copies" -eq 0 ] || echo "$copies of them lie in a second place too: their first answer came too late"

# ---- one line changed ------------------------------------------------------------------------------------------------

headline "One line of the file changed, nothing rebuilt: the same key now goes to the same queue"
sed 's/^selector = { use = "best-queue" }/selector = { use = "hash" }/' "$work/shunt.toml" >"$work/hash.toml"
diff "$work/shunt.toml" "$work/hash.toml" | grep '^[<>]' || die "the line to change was not found"
for round in 1 2 3; do
    "$shunt" send -c "$work/hash.toml" -t keyed --body "round $round of order {i}" --key 'order-{i}' --order-key 'order-{i}' \
        --count 200 --mode async --timeout 30s >/dev/null || die "not every keyed message was stored"
done
"$shunt" tail -c "$work/hash.toml" -t keyed >"$work/keyed" || die "not every queue could be read"
# broker-a/0 @12  ID  key order-7  round 1 of order 7
awk '
    {
        count[$5]++
        if (count[$5] > 1 && queue[$5] != $1)
            strays++
        queue[$5] = $1
        if (!($1 in used)) {
            used[$1] = 1
            queues++
        }
    }
    END {
        for (k in count) {
            keys++
            if (count[k] != 3)
                strays++
        }
        printf "\n"
        for (i = 0; i < 5; i++)
            printf "%-10s %s, %d messages\n", "order-" i, queue["order-" i], count["order-" i]
        printf "...\n%d keys with 3 messages each over %d queues; keys with messages in two queues: %d\n", keys, queues, strays
        exit !(keys == 200 && strays == 0 && queues > 1)
    }' "$work/keyed" || die "messages of one key lie in different queues"

headline "Done. Next: README.md, config/shunt.toml, and shunt plugin list"
tell ledger "$work/ledger"
[ "$(wc -l <"$work/ledger")" -eq $((3600 + copies)) ] || die "the cluster's ledger does not hold 3,600 messages"
stop_cluster
