#!/bin/sh
# An installed shunt, used from outside: what a packager, an application team and a plugin's author do.
#
# usage: package_test.sh STEP BUILD SOURCE CMAKE CXX        BUILD: a finished build; SOURCE: this folder
#   install   into one folder, moved to BUILD/package/prefix; and look at what lies there
#   plugin    a stranger's strategy with the SDK of that prefix alone
#   readme    the README's own program and CMake lines
#   program   ten lines against shunt::core, sending through a bundled strategy and through the stranger's
#   examples  the programs of examples/, which send
#   pkgconfig a program and a plugin without CMake
#   refusals  what find_package says of another version, a component that is not there, an SDK without its library
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
        mkdir -p "$scratch"
        "$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/install.log" || die "$(cat "$scratch/install.log")"
        mv "$scratch/first" "$prefix"
        for file in bin/shunt include/shunt/producer.hpp include/shunt/sdk/plugin.hpp lib/shunt/plugins/libbest_queue.so lib/shunt/shunt-preflight \
            share/shunt/config/shunt.toml share/cmake/shunt/shuntConfig.cmake share/pkgconfig/shunt-sdk.pc \
            share/man/man1/shunt.1 share/man/man1/shunt-send.1 share/bash-completion/completions/shunt \
            share/zsh/*/_shunt share/fish/vendor_completions.d/shunt.fish; do
            [ -e "$(echo "$prefix"/$file)" ] || die "the installation has no $file"
        done
        root=$(cd "$source/../.." && pwd)
        headers=$(cd "$root/core/include" && find . -name '*.h*'; cd "$root/sdk/include" && find . -name '*.h*')
        [ "$(cd "$prefix/include" && find . -type f | sort)" = "$(echo "$headers" | sort)" ] ||
            die "the installed headers are not those of core/include and sdk/include; each one stands in a FILE_SET"
        # A prefix can be moved to another machine: nothing in it may point back.
        if grep -rIl -e "$build" -e "$root" -e "$scratch/first" "$prefix"; then
            die "these files name the tree they were built in"
        fi
        "$prefix/bin/shunt" --help >/dev/null || die "the installed program does not run"
        said=$("$prefix/bin/shunt" plugin list) || die "the installed program finds no plugins: $said"
        case $said in *" $prefix/lib/shunt/plugins/libbest_queue.so"*) ;; *) die "the installed program's plugins: $said" ;; esac
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
    examples)
        rm -rf "$scratch/examples"
        "$cmake" -S "$source/../../examples" -B "$scratch/examples" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" \
            -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror"
        "$cmake" --build "$scratch/examples"
        printf '[producer]\nembedded = true\n' >"$scratch/examples/shunt.toml"
        for example in minimal async_callback coroutine; do
            said=$(cd "$scratch/examples" && timeout 60 ./example_$example) || die "$example: exit $?: $said"
            echo "$said"
            case $said in *stored* | *"lies on"*) ;; *) die "$example said: $said" ;; esac
        done
        ;;
    pkgconfig)
        rm -rf "$scratch/pkgconfig"
        mkdir -p "$scratch/pkgconfig"
        cd "$scratch/pkgconfig"
        PKG_CONFIG_PATH=$(dirname "$(find "$prefix/lib" -name shunt.pc)"):$prefix/share/pkgconfig
        export PKG_CONFIG_PATH
        [ "$(pkg-config --modversion shunt shunt-sdk | uniq)" = "$("$prefix/bin/shunt" --version | cut -d ' ' -f 2)" ] ||
            die "pkg-config and the program tell different versions"
        # shellcheck disable=SC2046
        "$cxx" -std=c++20 -Wall -Wextra -Werror "$source/program/ten_lines.cpp" -o ten_lines $(pkg-config --cflags --libs shunt) \
            -Wl,-rpath,"$(pkg-config --variable=libdir shunt)"
        # shellcheck disable=SC2046
        "$cxx" -std=c++20 -Wall -Wextra -Werror -shared -fPIC "$source/plugin/first_queue.cpp" -o libfirst_queue.so \
            $(pkg-config --cflags --libs shunt-sdk)
        chmod go-w . libfirst_queue.so
        names=$(nm -D --defined-only libfirst_queue.so | awk '{ print $3 }')
        [ "$names" = shunt_plugin_entry_v1 ] || die "the plugin exports: $names"
        sed "s|@plugin@|$PWD/libfirst_queue.so|;s|@plugins@|$prefix/lib/shunt/plugins|" "$source/program/own.toml.in" >own.toml
        said=$(./ten_lines own.toml) || die "exit $?: $said"
        echo "$said"
        [ "$said" = "stored in queue 0 of broker-a" ] || die "with first-queue the program said: $said"
        ;;
    refusals)
        page=$scratch/refusals
        ask() { # ARGUMENTS-OF-FIND_PACKAGE PREFIX: what a configuration that asks so says
            rm -rf "$page"
            mkdir -p "$page"
            printf 'cmake_minimum_required(VERSION 3.25)\nproject(asks CXX)\nfind_package(shunt %s)\n' "$1" >"$page/CMakeLists.txt"
            if "$cmake" -S "$page" -B "$page/build" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$2" >"$page/log" 2>&1; then
                echo found
            else
                tr -s ' \n' ' ' <"$page/log"
            fi
        }
        expect() { # WORDS ARGUMENTS-OF-FIND_PACKAGE PREFIX
            said=$(ask "$2" "$3")
            case $said in *"$1"*) ;; *) die "find_package(shunt $2) with $3 said: $said; not: $1" ;; esac
        }
        expect found "1 REQUIRED COMPONENTS core sdk" "$prefix"
        expect found "1 REQUIRED COMPONENTS sdk" "$prefix"
        expect 'compatible with requested version "2"' "2 REQUIRED" "$prefix"
        expect "shunt has no component 'admin'; it has core and sdk" "1 REQUIRED COMPONENTS core admin" "$prefix"
        # As on a machine of a plugin's author, with shunt-sdk-dev alone.
        rm -rf "$scratch/sdk_alone"
        "$cmake" --install "$build" --prefix "$scratch/sdk_alone" --component sdk >/dev/null
        expect found "1 REQUIRED COMPONENTS sdk" "$scratch/sdk_alone"
        expect "only the SDK of shunt is installed in" "1 REQUIRED" "$scratch/sdk_alone"
        ;;
    *) die "no step '$step'" ;;
esac
