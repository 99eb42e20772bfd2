#!/bin/sh
# An installed shunt, used from outside: what a packager, an application team and a plugin's author do.
#
# usage: package_test.sh STEP BUILD SOURCE CMAKE CXX        BUILD: a finished build; SOURCE: this folder
#   install   into BUILD/package/prefix, and look at what lies there
#   plugin    a stranger's strategy with the SDK of that prefix alone
#   readme    the README's own program and CMake lines
#   program   ten lines against shunt::core, sending through a bundled strategy and through the stranger's
set -eu

step=$1 build=$2 source=$3 cmake=$4 cxx=$5
scratch=$build/package
prefix=$scratch/prefix

die() {
    echo "package_test.sh: $*" >&2
    exit 1
}
outside() { # NAME: configures and builds a folder as a user would, against nothing but the prefix
    rm -rf "${scratch:?}/$1"
    "$cmake" -S "$source/$1" -B "$scratch/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$cxx" \
        -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" \
        -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
    "$cmake" --build "$scratch/$1"
}

case $step in
    install)
        rm -rf "$scratch"
        "$cmake" --install "$build" --prefix "$prefix" >"$build/package_install.log" || die "$(cat "$build/package_install.log")"
        for file in bin/shunt include/shunt/producer.hpp include/shunt/sdk/plugin.hpp lib/shunt/plugins/libbest_queue.so \
            share/shunt/config/shunt.toml; do
            [ -e "$prefix/$file" ] || die "the installation has no $file"
        done
        root=$(cd "$source/../.." && pwd)
        headers=$(cd "$root/core/include" && find . -name '*.h*'; cd "$root/sdk/include" && find . -name '*.h*')
        [ "$(cd "$prefix/include" && find . -type f | sort)" = "$(echo "$headers" | sort)" ] ||
            die "the installed headers are not those of core/include and sdk/include; each one stands in a FILE_SET"
        # A prefix can be moved to another machine: nothing in it may point back.
        if grep -rIl -e "$build" -e "$root" "$prefix" --include='*.cmake' --include='*.hpp' --include='*.toml'; then
            die "these files name the tree they were built in"
        fi
        "$prefix/bin/shunt" --help >/dev/null || die "the installed program does not run"
        ;;
    plugin)
        outside plugin
        names=$(nm -D --defined-only "$scratch/plugin/libfirst_queue.so" | awk '{ print $3 }')
        [ "$names" = shunt_plugin_entry_v1 ] || die "the plugin exports: $names"
        ;;
    program)
        outside program
        sed "s|@plugins@|$prefix/lib/shunt/plugins|" "$source/program/bundled.toml.in" >"$scratch/bundled.toml"
        sed "s|@plugin@|$scratch/plugin/libfirst_queue.so|;s|@plugins@|$prefix/lib/shunt/plugins|" \
            "$source/program/own.toml.in" >"$scratch/own.toml"
        said=$("$scratch/program/ten_lines" "$scratch/bundled.toml") || die "exit $?: $said"
        echo "$said"
        case $said in "stored in queue "[0-3]" of broker-"*) ;; *) die "the program said: $said" ;; esac
        said=$("$scratch/program/ten_lines" "$scratch/own.toml") || die "exit $?: $said"
        echo "$said"
        [ "$said" = "stored in queue 0 of broker-a" ] || die "with first-queue the program said: $said"
        if "$scratch/program/ten_lines" "$scratch/no-such.toml" 2>/dev/null; then
            die "a file that is not there was taken"
        fi
        ;;
    readme)
        # The ten lines of the README, as they stand there.
        root=$(cd "$source/../.." && pwd)
        page=$scratch/readme.source
        rm -rf "$page"
        mkdir -p "$page"
        block() { awk -v lang="$1" '$0 == "```" lang { on = 1; next } on && $0 == "```" { exit } on' "$root/README.md"; }
        block cpp >"$page/app.cpp"
        { printf 'cmake_minimum_required(VERSION 3.25)\nproject(app CXX)\nadd_executable(app app.cpp)\n'; block cmake; } >"$page/CMakeLists.txt"
        rm -rf "$scratch/readme"
        "$cmake" -S "$page" -B "$scratch/readme" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" \
            -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror"
        "$cmake" --build "$scratch/readme"
        # No [plugins] path: the program finds the installation's plugins by itself.
        printf '[producer]\nembedded = true\n' >"$scratch/readme/shunt.toml"
        said=$(cd "$scratch/readme" && ./app) || die "exit $?: $said"
        echo "$said"
        case $said in "stored in broker-"?/[0-3]" at 0") ;; *) die "the README's program said: $said" ;; esac
        ;;
    *) die "no step '$step'" ;;
esac
