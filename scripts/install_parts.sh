#!/bin/sh
# Installs the Debian packages named as arguments where they are missing and where it may; says what it did.
# A part that cannot be had must not stop a build: tests that need it say so themselves.
set -u

is_there() {
    dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed
}

missing=
for package in "$@"; do
    is_there "$package" || missing="$missing $package"
done
if [ -z "$missing" ]; then
    echo "parts: nothing to install"
    exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
    echo "parts: without apt-get nothing is installed; missing:$missing"
    exit 0
fi
if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    echo "parts: not root and no sudo without a password; install yourself:$missing"
    exit 0
fi

install() {
    # shellcheck disable=SC2086 # both are lists of words
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends $missing
}

# The package lists may be old or absent, so a failure is tried again with fresh ones.
if said=$(install 2>&1) || { $as_root apt-get update --quiet >/dev/null 2>&1; said=$(install 2>&1); }; then
    echo "parts: installed$missing"
else
    echo "parts: could not be installed:$missing"
    echo "$said" | tail -n 3
fi
exit 0
