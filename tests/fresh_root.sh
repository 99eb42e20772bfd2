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
mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "bookworm" { print $2; exit }')
[ -n "$mirror" ] || die "this machine's apt has no source for bookworm"

started=$(date +%s)
debootstrap --variant=minbase --include=ca-certificates bookworm "$target" "$mirror" >"$inside/debootstrap.log" 2>&1 ||
    die "debootstrap failed: $(tail -n 20 "$inside/debootstrap.log")"
echo "debootstrap: $(($(date +%s) - started)) s"

# The machine's way to its package registries.
rm -f "$target/etc/apt/sources.list"
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list; do
    [ ! -f "$file" ] || cp "$file" "$target$file"
done
apt-config dump Acquire --format '%F "%v";%n' | grep -E 'Proxy|::(http|https)::' >"$target/etc/apt/apt.conf.d/90machine" || true
for file in /etc/resolv.conf /etc/hosts "$HOME/.m2/settings.xml"; do
    if [ -f "$file" ]; then
        mkdir -p "$(dirname "$target$file")"
        cp -L "$file" "$target$file"
    fi
done
mkdir -p "$target/usr/local/share/ca-certificates"
cp -R /usr/local/share/ca-certificates/. "$target/usr/local/share/ca-certificates/"

mount -t proc proc "$target/proc"
mount --bind /sys "$target/sys"
mount --rbind /dev "$target/dev"
mount -t tmpfs tmpfs "$target/dev/shm"

in_root() { # FOLDER COMMAND...
    folder=$1
    shift
    env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI=true \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} ${no_proxy:+"no_proxy=$no_proxy"} \
        chroot "$target" sh -c 'cd "$0" && exec "$@"' "$folder" "$@" </dev/null
}
in_root / update-ca-certificates >"$inside/certificates.log" 2>&1 || die "update-ca-certificates: $(cat "$inside/certificates.log")"

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
    in_root "$@" || die "$what: failed"
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
