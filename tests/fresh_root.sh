#!/bin/sh
# Both commands of the README in a fresh Debian 12: what a new user's machine does, measured.
#
# usage: sh tests/fresh_root.sh [--quick] [--keep]      as root; needs debootstrap, and 12 GB where TMPDIR is
#   --quick   tests/run.sh --quick instead of all of tests/run.sh
#   --keep    leaves the root where it is and says where
#
# Clones what is committed. The root is made with this machine's own package sources, apt's network settings and local CA
# certificates. Mounts and processes live in namespaces of their own and end with them. Exits 0 when all was done in time.
set -eu

limit_quickstart_cold=360 limit_quickstart_built=10 limit_run_cold=3600 limit_run_warm=1200

quick="" keep="" inside=""
for argument in "$@"; do
    case $argument in
        --quick) quick=--quick ;;
        --keep) keep=yes ;;
        --inside=*) inside=${argument#--inside=} ;;
        *)
            echo "usage: sh tests/fresh_root.sh [--quick] [--keep]" >&2
            exit 2
            ;;
    esac
done
repo=$(cd -- "$(dirname -- "$0")/.." && pwd)

die() {
    echo "fresh_root.sh: $*" >&2
    exit 1
}
. "$repo/tests/support/debian_root.sh"

if [ -z "$inside" ]; then
    [ "$(id -u)" -eq 0 ] || die "not root; a root file system can be made by root alone"
    command -v debootstrap >/dev/null || die "debootstrap is not installed; run: apt-get install debootstrap"
    scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/shunt-root-XXXXXX")
    if [ -n "$keep" ]; then
        trap 'echo "kept: $scratch"' EXIT
    else
        trap 'rm -rf --one-file-system "$scratch"' EXIT
    fi
    trap 'exit 130' INT TERM HUP
    unshare --mount --pid --fork --kill-child --mount-proc sh "$repo/tests/fresh_root.sh" $quick "--inside=$scratch"
    exit
fi

# ---- from here on in namespaces of our own ----

target=$inside/debian
started=$(date +%s)
make_debian_root "$target" "$inside"
echo "debootstrap: $(($(date +%s) - started)) s"

clone() {
    git -c safe.directory='*' clone -q --no-hardlinks "$repo" "$target/home/$1"
}

slow=""
report=""
timed() { # WHAT LIMIT FOLDER COMMAND...
    what=$1 limit=$2
    shift 2
    echo "---- $what"
    started=$(date +%s)
    in_root "$target" "$@" || die "$what: failed"
    took=$(($(date +%s) - started))
    line="$what: $took s (at most $limit s)"
    if [ "$took" -gt "$limit" ]; then
        slow="$slow
  $line"
    fi
    report="$report
  $line"
}

clone first
timed "examples/quickstart.sh, cold" $limit_quickstart_cold /home/first sh examples/quickstart.sh
timed "examples/quickstart.sh, built" $limit_quickstart_built /home/first sh examples/quickstart.sh
timed "tests/run.sh $quick, cold" $limit_run_cold /home/first sh tests/run.sh $quick
clone second
timed "tests/run.sh $quick, warm, in a new clone" $limit_run_warm /home/second sh tests/run.sh $quick

echo "---- fresh Debian root:$report"
[ -z "$slow" ] || die "too slow:$slow"
