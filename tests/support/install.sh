#!/bin/sh
# Installs what shunt needs from Debian 12. Asks dpkg once, and is quiet and done when nothing is missing.
#
# usage: sh tests/support/install.sh [tests | bench]
#   (nothing)   what building shunt, its examples and its tests takes
#   tests       also what only running all tests takes: a JDK and Maven for the real RocketMQ, clang for the fuzz targets, a browser, ...
#   bench       also the compiler for the Go client that bench runs measure beside shunt
#
# SHUNT_NO_INSTALL=1 leaves the machine alone: for systems that are not Debian and have the same things from elsewhere.
set -eu

build="g++ cmake ninja-build ccache
    libboost1.81-dev libboost-filesystem1.81-dev libboost-json1.81-dev
    libtomlplusplus-dev prometheus-cpp-dev libspdlog-dev libfmt-dev libcli11-dev
    libssl-dev zlib1g-dev liblz4-dev libzstd-dev libxxhash-dev
    libgtest-dev libbenchmark-dev python3"
tests="openjdk-17-jdk-headless maven ca-certificates
    clang-14 libclang-rt-14-dev libc++-14-dev libc++abi-14-dev valgrind strace binutils util-linux make rustc cargo
    curl chromium-headless-shell fonts-dejavu-core debootstrap dpkg-dev file pkg-config man-db zsh fish python3-jsonschema"

case ${1-} in
    "") wanted=$build ;;
    tests) wanted="$build $tests" ;;
    bench) wanted="$build $tests golang-go" ;;
    *)
        echo "usage: sh tests/support/install.sh [tests | bench]" >&2
        exit 2
        ;;
esac

[ "${SHUNT_NO_INSTALL-}" != 1 ] || exit 0

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "install.sh: this is no Debian (there is no dpkg-query or apt-get); install the like of these," >&2
    echo "  then set SHUNT_NO_INSTALL=1:" $wanted >&2
    exit 1
fi

installed=$(dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null) || true
missing=""
for package in $wanted; do
    case "
$installed
" in
        *"
installed $package
"*) ;;
        *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "install.sh: not root, and these packages are missing; run as root: apt-get install$missing" >&2
    exit 1
fi

echo "installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
apt() {
    apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 </dev/null
}
if ! apt update || ! apt install --no-install-recommends $missing; then
    echo "install.sh: apt-get failed:" >&2
    tail -n 20 "$log" >&2
    exit 1
fi
