#!/bin/sh
# The Debian packages in a Debian that never saw shunt: installed by apt, used as the README says, removed.
#
# usage: clean_root.sh ROOT       as root, after debs_test.sh; needs debootstrap and, the first time, 1.2 GB in ~/.cache/shunt
#
# A Debian with compilers and nothing of ours is kept in ~/.cache/shunt/debian-*; each run works in a copy that shares its files.
set -eu

root=$1 inside=${2-}
tools="g++ cmake make pkg-config man-db python3 rustc cargo"
kept=${XDG_CACHE_HOME:-$HOME/.cache}/shunt/debian-$(echo "$tools" | cksum | cut -d ' ' -f 1)

die() {
    echo "clean_root.sh: $*" >&2
    exit 1
}
. "$root/tests/support/debian_root.sh"

if [ -z "$inside" ]; then
    [ "$(id -u)" -eq 0 ] || die "not root; a root file system can be made by root alone"
    command -v debootstrap >/dev/null || die "debootstrap is not installed; run tests/support/install.sh tests"
    ls "$root"/build/package/shunt_*.deb >/dev/null || die "there are no packages in build/package; debs_test.sh makes them"
    mkdir -p "$(dirname "$kept")"
    scratch=$(mktemp -d "$(dirname "$kept")/root-XXXXXX")
    trap 'rm -rf --one-file-system "$scratch"' EXIT
    trap 'exit 130' INT TERM HUP
    unshare --mount --pid --fork --kill-child --mount-proc sh "$0" "$root" "$scratch"
    exit
fi

# ---- from here on in namespaces of our own ----

in_log() { # TARGET COMMAND...: quiet unless it fails
    log_target=$1
    shift
    in_root "$log_target" / "$@" >"$inside/log" 2>&1 || die "$*: $(tail -n 40 "$inside/log")"
}

if [ ! -d "$kept" ]; then
    made=$inside/made
    make_debian_root "$made" "$inside"
    in_log "$made" apt-get -q update
    # shellcheck disable=SC2086
    in_log "$made" apt-get -q -y install --no-install-recommends $tools
    in_log "$made" apt-get -q clean
    umount -R "$made/dev" "$made/sys" "$made/proc"
    mv -T "$made" "$kept" 2>/dev/null || [ -d "$kept" ] # another run was first
fi
target=$inside/debian
mkdir "$target" "$inside/upper" "$inside/work"
mount -t overlay overlay -o "lowerdir=$kept,upperdir=$inside/upper,workdir=$inside/work" "$target" 2>/dev/null ||
    cp -a "$kept/." "$target" # where file systems cannot be laid over each other
mount_debian_root "$target"

say() { # what it is about, then what was said
    echo "$1: $2"
}
inside_root() { in_root "$target" /home "$@"; }
expect() { # WHAT FOUND PATTERN
    # shellcheck disable=SC2254
    case $2 in $3) say "$1" "$2" ;; *) die "$1: $2; not: $3" ;; esac
}
block() { awk -v lang="$1" '$0 == "```" lang { on = 1; next } on && $0 == "```" { exit } on' "$root/README.md"; }

mkdir "$target/debs"
cp "$root"/build/package/*.deb "$target/debs/"
in_log "$target" apt-get -q update

# An operator: the program alone.
in_log "$target" sh -c 'apt-get -q -y install --no-install-recommends /debs/shunt_*.deb /debs/shunt-plugins_*.deb'
for package in libshunt1 libshunt-dev shunt-sdk-dev; do
    if inside_root dpkg -s $package >/dev/null 2>&1; then
        die "shunt brings $package, which it does not need"
    fi
done
expect "shunt --version" "$(inside_root shunt --version)" "shunt [1-9].*"
expect "shunt plugin list" "$(inside_root shunt plugin list | grep best-queue)" "best-queue *bundled */usr/lib/shunt/plugins/libbest_queue.so"
expect "shunt config check" "$(inside_root shunt config check /usr/share/shunt/config/shunt.toml)" "*shunt.toml is right"
printf '[producer]\nembedded = true\n' >"$target/home/shunt.toml"
expect "shunt send" "$(inside_root shunt send -c shunt.toml -t hello --body x --count 12 --json)" '{"sent":12,"stored":12,*'
inside_root man -w shunt-send >/dev/null || die "there is no manual page of shunt send"

# A plugin's author: the SDK alone.
in_log "$target" sh -c 'apt-get -q -y install --no-install-recommends /debs/shunt-sdk-dev_*.deb'
cp -R "$root/tests/package/plugin" "$target/home/plugin"
in_log "$target" sh -c 'cd /home/plugin && cmake -B build && cmake --build build'
expect "shunt plugin describe" "$(inside_root shunt plugin describe plugin/build/libfirst_queue.so | head -n 1)" "first-queue (selector, *"

# And a plugin from the first command to the sent message, as the README says that `shunt plugin new` writes.
cp "$root/tests/package/plugin_new_test.py" "$target/home/"
for kind in selector fault; do
    for language in c++ c rust; do
        in_log "$target" python3 /home/plugin_new_test.py /usr /home/new $kind $language
        say "shunt plugin new" "$kind in $language"
    done
done

# An application team: the library.
in_log "$target" sh -c 'apt-get -q -y install --no-install-recommends /debs/libshunt1_*.deb /debs/libshunt-dev_*.deb'
mkdir "$target/home/app"
block cpp >"$target/home/app/app.cpp"
{
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(app CXX)\nadd_executable(app app.cpp)\n'
    block cmake
} >"$target/home/app/CMakeLists.txt"
in_log "$target" sh -c 'cd /home/app && cmake -B build && cmake --build build'
expect "the README's program" "$(inside_root app/build/app)" "stored in broker-?/[0-3] at 0"
expect "what it links" "$(inside_root ldd app/build/app | grep libshunt)" "*libshunt.so.1 => /*/libshunt.so.1 *"
in_log "$target" sh -c 'cd /home/app && g++ -std=c++20 app.cpp -o by_pkg_config $(pkg-config --cflags --libs shunt)'
expect "built by pkg-config" "$(inside_root app/by_pkg_config)" "stored in broker-?/[0-3] at 0"

in_log "$target" apt-get -q -y purge shunt shunt-plugins shunt-sdk-dev libshunt1 libshunt-dev
left=$(cd "$target" && find usr etc -name '*shunt*')
[ -z "$left" ] || die "purged, and this is left: $left"
