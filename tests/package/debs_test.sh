#!/bin/sh
# Debian packages, made as the README says, and what they hold.
#
# usage: debs_test.sh ROOT        builds in ROOT/build/package
set -eu

root=$1 build=$1/build/package here=$(cd -- "$(dirname -- "$0")" && pwd)

die() {
    echo "debs_test.sh: $*" >&2
    exit 1
}
field() { # PACKAGE FIELD
    dpkg-deb --field "$build/$1"_*.deb "$2"
}
expect() { # WHAT FOUND PATTERN
    # shellcheck disable=SC2254
    case $2 in $3) ;; *) die "$1 is: $2; not: $3" ;; esac
}
holds() { # PACKAGE FILE...
    package=$1
    shift
    listed=$(dpkg-deb --contents "$build/$package"_*.deb | awk '{ print substr($6, 2) }')
    for file in "$@"; do
        echo "$listed" | grep -q -x "$file" || die "$package does not hold $file; it holds: $listed"
    done
    echo "$listed" | grep -q -x "/usr/share/doc/$package/copyright" || die "$package does not hold its copyright"
}

cd "$root"
cmake --preset package >"$root/build/package.log" 2>&1 || die "$(tail -n 40 "$root/build/package.log")"
cmake --build build/package >"$root/build/package.log" 2>&1 || die "$(grep -A 30 '^FAILED: ' "$root/build/package.log")"
rm -f "$build"/*.deb
cpack --preset package >"$root/build/package.log" 2>&1 || die "$(tail -n 40 "$root/build/package.log")"

cd "$build"
expect "what was made" "$(echo *.deb)" "libshunt-dev_*.deb libshunt1_*.deb shunt-plugins_*.deb shunt-sdk-dev_*_all.deb shunt_*.deb"
machine=$(dpkg --print-architecture)
triplet=$(gcc -print-multiarch)
version=$("$build/bin/shunt" --version | cut -d ' ' -f 2)
for package in libshunt1 libshunt-dev shunt-sdk-dev shunt shunt-plugins; do
    expect "$package's version" "$(field $package Version)" "$version"
    expect "$package's architecture" "$(field $package Architecture)" "$([ $package = shunt-sdk-dev ] && echo all || echo "$machine")"
done
expect "libshunt1's dependencies" "$(field libshunt1 Depends)" "shunt-plugins (>= 1.0), *libc6 (>= *libssl3*libstdc++6*"
expect "shunt's dependencies" "$(field shunt Depends)" "shunt-plugins (>= 1.0), *libc6 (>= *libssl3*libstdc++6*"
expect "shunt-plugins' dependencies" "$(field shunt-plugins Depends)" "*libc6 (>= *libstdc++6 (>= *"
expect "libshunt-dev's dependencies" "$(field libshunt-dev Depends)" "libshunt1 (= $version), shunt-sdk-dev (= $version), libboost1*-dev"
expect "shunt-sdk-dev's dependencies" "$(field shunt-sdk-dev Depends)" ""
holds libshunt1 "/usr/lib/$triplet/libshunt.so.1" "/usr/lib/$triplet/libshunt.so.$version"
holds libshunt-dev "/usr/lib/$triplet/libshunt.so" "/usr/lib/$triplet/pkgconfig/shunt.pc" /usr/include/shunt/producer.hpp
holds shunt-sdk-dev /usr/include/shunt/sdk/abi.h /usr/share/cmake/shunt/shuntConfig.cmake /usr/share/pkgconfig/shunt-sdk.pc
holds shunt /usr/bin/shunt /usr/share/man/man1/shunt.1 /usr/share/zsh/vendor-completions/_shunt /usr/share/shunt/config/shunt.toml
holds shunt-plugins /usr/lib/shunt/plugins/libbest_queue.so /usr/lib/shunt/plugins/liblatency_fault.so /usr/lib/shunt/shunt-preflight

library=$build/core/libshunt.so.$version
soname=$(readelf --dynamic "$library" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')
expect "the library's soname" "$soname" libshunt.so.1
python3 -B "$here/exports.py" "$library" "$here/exports.txt" || die "the library exports something else than it should"
# The check itself: a list that is wrong in both directions.
sed -e 1d -e '$a shunt::no_such_function()' "$here/exports.txt" >"$build/wrong_exports.txt"
said=$(python3 -B "$here/exports.py" "$library" "$build/wrong_exports.txt") && die "a wrong list of exports was taken"
expect "what is said of a wrong list" "$said" "*does not export shunt::no_such_function();*exports shunt::make_error_code*which is not in*"
