#!/bin/sh
# Repositories of strategies as a stranger has them, built, tested, checked and used with nothing but an installed shunt, by the
# commands that their pages print.
#
# usage: own_strategy_test.sh STEP BUILD CXX       BUILD: a finished build whose prefix package_test.sh has made
#   example   examples/own_strategy
#   page      the five minutes of sdk/README.md
set -eu

step=$1 build=$2 cxx=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$build/package/prefix
folder=$build/package/own_strategy_$step

die() {
    echo "own_strategy_test.sh: $*" >&2
    exit 1
}
# Runs a page's commands in the folder; the prefix is where shunt is, and its program is the one in PATH.
run() {
    (
        cd "$folder"
        PATH=$prefix/bin:$PATH CXX=$cxx CXXFLAGS="-Wall -Wextra -Werror" CMAKE_PREFIX_PATH=$prefix
        export PATH CXX CXXFLAGS CMAKE_PREFIX_PATH
        sh -eux -c "$1"
    ) || die "these commands failed: $1"
}
blocks() { # LANGUAGE FILE: what stands in the page's blocks of that language
    awk -v lang="$1" '$0 == "```" lang { on = 1; next } on && $0 == "```" { on = 0 } on' "$2"
}
after() { # TEXT LANGUAGE FILE: the first such block after a line with the text
    awk -v text="$1" -v lang="$2" 'index($0, text) { seen = 1 } seen && $0 == "```" lang { on = 1; next } on && $0 == "```" { exit } on' "$3"
}

[ -x "$prefix/bin/shunt" ] || die "there is no $prefix/bin/shunt; run the test package_install first"
rm -rf "$folder"
mkdir -p "$folder"
case $step in
    example)
        cp -R "$root/examples/own_strategy/." "$folder"
        commands=$(blocks sh "$folder/README.md" | sed "s|/where/shunt/is|$prefix|")
        case $commands in *"ctest "*"shunt send "*) ;; *) die "the page's commands have no ctest or no send: $commands" ;; esac
        run "$commands"
        # Tenants lie on their brokers, others on what is left; a property may name the tenant as well.
        placed() { # BROKER OPTION...: where four messages went
            wanted=$1
            shift
            run "shunt send -c shunt.toml -t orders --count 4 --body m --receipts receipts $*"
            brokers=$(sed 's/.*"broker": *"\([^"]*\)".*/\1/' "$folder/receipts" | sort -u)
            [ "$brokers" = "$wanted" ] || die "$* went to $brokers; it must be $wanted"
        }
        placed broker-a --order-key "'acme/{i}'"
        placed broker-b --order-key "'initech/{i}'"
        placed broker-c --order-key "'hooli/{i}'"
        placed broker-c
        sed 's|^# key_from|key_from|' "$folder/shunt.toml" >"$folder/by_property.toml" && mv "$folder/by_property.toml" "$folder/shunt.toml"
        placed broker-b --property tenant=initech
        ;;
    page)
        page=$root/sdk/README.md
        for file in sticky_queue.cpp sticky_queue_test.cpp; do
            after "\`$file\`" cpp "$page" >"$folder/$file"
        done
        after "\`CMakeLists.txt\`" cmake "$page" >"$folder/CMakeLists.txt"
        for recipe in sticky_by_key near_first big_messages; do
            after "\`$recipe.cpp\`" cpp "$page" >"$folder/$recipe.cpp"
            echo "shunt_add_plugin($recipe SOURCES $recipe.cpp)" >>"$folder/CMakeLists.txt"
        done
        after "A \`shunt.toml\` that uses it" toml "$page" >"$folder/shunt.toml"
        commands=$(blocks sh "$page")
        case $commands in *"ctest "*"shunt send "*) ;; *) die "the page's commands have no ctest or no send: $commands" ;; esac
        run "$commands"
        run "shunt send -c shunt.toml -t orders --count 12 --body m --receipts receipts"
        runs=$(sed 's/.*"broker": *"\([^"]*\)", *"queue": *\([0-9]*\).*/\1 \2/' "$folder/receipts" | uniq -c | awk '{ print $1 }' | sort -u)
        [ "$runs" = 3 ] || die "messages come in runs of $runs; they must come in runs of 3"
        # The page's other files, with this folder's plugins.
        {
            printf '[producer]\nembedded = true\n[plugins]\npath = ["%s/build", "%s/lib/shunt/plugins"]\n' "$folder" "$prefix"
            after "Rooms and weights are not in a route" toml "$page"
        } >"$folder/near.toml"
        run "shunt config check near.toml"
        hash=$(sha256sum "$folder/build/libsticky_queue.so" | cut -d ' ' -f 1)
        {
            printf '[producer]\nembedded = true\n[policies.default]\nselector = { use = "sticky-queue" }\n'
            after "**Pinned by content.**" toml "$page" | sed "s|/opt/acme|$folder/build|;s|sha256 = .*|sha256 = \"$hash\"|"
        } >"$folder/pinned.toml"
        run "shunt config check pinned.toml"
        grep -q "$hash" "$folder/pinned.toml" || die "the page pins no file: $(cat "$folder/pinned.toml")"
        ;;
    *) die "no step '$step'" ;;
esac
