# What the tours share: a clean end, the program, a cluster that takes commands. Read by them (`. examples/tour.sh`), which
# first set `tour` to their name and `targets` to what they need built besides the program and its plugins.

cd "$root"
cluster=""
sender=""
work=""
clean_up() {
    # What was started here, by its number.
    [ -z "$sender" ] || kill "$sender" 2>/dev/null || true
    [ -z "$cluster" ] || kill "$cluster" 2>/dev/null || true
    [ -z "$work" ] || rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

headline() {
    printf '\n== %s\n' "$*"
}
die() {
    echo "$tour: $*" >&2
    exit 1
}

# ---- the program -----------------------------------------------------------------------------------------------------

build=${SHUNT_BUILD_DIR-}
if [ -z "$build" ]; then
    headline "Building the program and its plugins (minutes the first time, a second after that)"
    sh tests/support/install.sh
    build=$root/build/dev
    work=$(mktemp -d)
    if [ ! -f "$build/build.ninja" ]; then
        cmake --preset dev >"$work/log" 2>&1 || { cat "$work/log" >&2; die "cmake failed"; }
    fi
    # shellcheck disable=SC2086
    cmake --build "$build" --target shunt shunt_bundled_plugins $targets >"$work/log" 2>&1 || { tail -n 60 "$work/log" >&2; die "the build failed"; }
    rm -rf "$work"
fi
shunt=$build/bin/shunt
[ -x "$shunt" ] || die "there is no program $shunt"
work=$(mktemp -d)
chmod 755 "$work"

# ---- a cluster -------------------------------------------------------------------------------------------------------

start_cluster() {
    mkfifo "$work/commands" "$work/said"
    "$shunt" cluster --brokers 3 <"$work/commands" >"$work/said" 2>&1 &
    cluster=$!
    exec 3>"$work/commands" 4<"$work/said"
    read -r line <&4 || die "the cluster did not start"
    address=${line#name server }
    [ "$line" != "$address" ] || die "the cluster said: $line"
}

# Gives the cluster a command, and waits until it is carried out.
tell() {
    echo "$*" >&3
    read -r line <&4 || die "the cluster has ended"
    case $line in *"ok: "*) ;; *) die "the cluster said: $line" ;; esac
}

stop_cluster() {
    echo quit >&3
    wait "$cluster" || die "the cluster ended badly"
    cluster=""
}
