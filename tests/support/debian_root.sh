# A Debian 12 to try things in: shell functions, to be read in with `.` by a script that has die(). As root, in a mount
# namespace of its own, so that what is mounted ends with it.

# make_debian_root TARGET LOGS: the least of a Debian, with this machine's own package sources, apt's network settings and
# local CA certificates; its own /proc, /sys and /dev are mounted.
make_debian_root() {
    mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "bookworm" { print $2; exit }')
    [ -n "$mirror" ] || die "this machine's apt has no source for bookworm"
    debootstrap --variant=minbase --include=ca-certificates bookworm "$1" "$mirror" >"$2/debootstrap.log" 2>&1 ||
        die "debootstrap failed: $(tail -n 20 "$2/debootstrap.log")"

    # The machine's way to its package registries.
    rm -f "$1/etc/apt/sources.list"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list; do
        [ ! -f "$file" ] || cp "$file" "$1$file"
    done
    apt-config dump Acquire --format '%F "%v";%n' | grep -E 'Proxy|::(http|https)::' >"$1/etc/apt/apt.conf.d/90machine" || true
    for file in /etc/resolv.conf /etc/hosts "$HOME/.m2/settings.xml"; do
        if [ -f "$file" ]; then
            mkdir -p "$(dirname "$1$file")"
            cp -L "$file" "$1$file"
        fi
    done
    mkdir -p "$1/usr/local/share/ca-certificates"
    cp -R /usr/local/share/ca-certificates/. "$1/usr/local/share/ca-certificates/"
    mount_debian_root "$1"
    in_root "$1" / update-ca-certificates >"$2/certificates.log" 2>&1 || die "update-ca-certificates: $(cat "$2/certificates.log")"
}

mount_debian_root() { # TARGET
    mount -t proc proc "$1/proc"
    mount --bind /sys "$1/sys"
    mount --rbind /dev "$1/dev"
    mount -t tmpfs tmpfs "$1/dev/shm"
}

in_root() { # TARGET FOLDER COMMAND...
    root_target=$1 root_folder=$2
    shift 2
    env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI=true DEBIAN_FRONTEND=noninteractive \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} ${no_proxy:+"no_proxy=$no_proxy"} \
        chroot "$root_target" sh -c 'cd "$0" && exec "$@"' "$root_folder" "$@" </dev/null
}
