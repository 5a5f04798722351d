#!/bin/sh
# Copies into /slim what the images need of a Debian system: the C library, a shell and the few tools that the scripts of
# deploy/compose call, each with its shared libraries. There is no package manager, no perl and nothing else that is not
# called, so the images are small and need few patches. /var/lib/dpkg/status.d has the name and version of the package of
# each file, for scanners of known vulnerabilities.
set -eu

tools="sh base64 cat chmod chown cp date head id ls mkdir mv rm sleep sync tar tr"
# The libraries that the programs are linked to, and the resolver's.
libraries="libc.so.6 libgcc_s.so.1 libm.so.6 libresolv.so.2 libssl.so.3 libcrypto.so.3"

slim=/slim
known=$slim/var/lib/dpkg/status.d
mkdir -p "$slim/usr/bin" "$slim/usr/sbin" "$slim/usr/lib" "$slim/usr/lib64" "$slim/etc" "$slim/root" "$slim/run" "$known"
for folder in bin sbin lib lib64; do
    ln -s "usr/$folder" "$slim/$folder"
done
mkdir -m 1777 "$slim/tmp"

copy() {
    target=$slim$(readlink -f "$(dirname "$1")")/$(basename "$1")
    [ ! -e "$target" ] || return 0
    mkdir -p "${target%/*}"
    cp --dereference --preserve=mode,timestamps "$1" "$target"
    real=$(readlink -f "$1")
    # The path in the package, which may be older than the move of /bin and /lib below /usr. Some files are in no package.
    package=$(dpkg --search "$real" 2> /dev/null || dpkg --search "${real#/usr}" 2> /dev/null || true)
    package=${package%%:*}
    [ -z "$package" ] || dpkg --status "$package" > "$known/$package"
}

place() { ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }'; }
# A slim Debian has no OpenSSL. Its package brings the libraries, whatever their packages are called in this version.
[ -n "$(place libssl.so.3)" ] || { apt-get update --quiet && apt-get install --quiet --yes --no-install-recommends openssl; }
with_libraries() {
    copy "$1"
    for library in $(ldd "$1" | grep -o '/[^ ]*'); do
        copy "$library"
    done
}
for library in $libraries; do
    with_libraries "$(place "$library")"
done
# Before version 2.34, the C library needs these for name resolution.
for library in libnss_dns.so.2 libnss_files.so.2; do
    found=$(place "$library")
    [ -z "$found" ] || copy "$found"
done
for tool in $tools; do
    with_libraries "$(command -v "$tool")"
done
for file in /etc/nsswitch.conf /etc/debian_version /usr/lib/os-release; do
    copy "$file"
done
ln -s ../usr/lib/os-release "$slim/etc/os-release"

user='holdfast:x:10001'
{ cat /etc/passwd; echo "$user:10001::/var/lib/holdfast:/usr/sbin/nologin"; } > "$slim/etc/passwd"
{ cat /etc/group; echo "$user:"; } > "$slim/etc/group"
# Its data folder, of which the Dockerfile makes it the owner.
mkdir -p /own/holdfast/data/mail
