#!/usr/bin/env bash
# Makes a Debian package and a tarball with one statically linked binary, in
# target/package. Runs on a Debian machine that has a Rust toolchain; installs
# cargo-deb with cargo if it is missing.
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s\n' "$*"; }

target=x86_64-unknown-linux-gnu
version=$(cargo metadata --no-deps --format-version 1 | grep -o '"name":"smbench","version":"[^"]*"' | cut -d'"' -f8)
out=target/package
built=${CARGO_TARGET_DIR:-target}
rm -rf "$out"
mkdir -p "$out/man" "$out/completions"

command -v cargo-deb >/dev/null || {
  step "install cargo-deb"
  cargo install --locked --quiet cargo-deb
}

step "build"
cargo build --locked --release -p smbench
smbench=$built/release/smbench
"$smbench" man "$out/man"
for shell in bash zsh fish; do
  "$smbench" completions "$shell" >"$out/completions/smbench.$shell"
done
cat >"$out/changelog" <<END
smbench ($version-1) unstable; urgency=medium

  * See /usr/share/doc/smbench/changelog.gz.

 -- smbench developers <smbench@packages.debian.org>  $(date --utc --rfc-email --date=@"${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}")
END

cat >"$out/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: smbench

Files: *
Copyright: 2026 The smbench authors
License: Expat or Apache-2.0

License: Expat
$(sed -n '/^Permission/,$p' LICENSE-MIT | sed 's/^$/./; s/^/ /')

License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0 on Debian systems.
END

step "Debian package"
cargo deb --no-build -p smbench --output "$out/"

# Needs libopenmpi-dev and libclang-dev.
if command -v mpicc >/dev/null; then
  step "Debian package for many machines"
  cargo build --locked --release -p smbench-mpi
  cargo deb --no-build -p smbench-mpi --output "$out/"
else
  echo "smbench-mpi is left out: install libopenmpi-dev and libclang-dev for it" >&2
fi

# A statically linked binary runs on any Linux of this architecture, also without /dev:
# random numbers come from the kernel's call.
step "static binary"
RUSTFLAGS='-C target-feature=+crt-static --cfg getrandom_backend="linux_getrandom"' \
  cargo build --locked --release --target "$target" -p smbench
folder=smbench-$version-linux-x86_64
mkdir "$out/$folder"
strip -o "$out/$folder/smbench" "$built/$target/release/smbench"
cp README.md CHANGELOG.md LICENSE-* "$out/$folder/"
cp -r docs "$out/man" "$out/completions" "$out/$folder/"
tar --sort=name --owner=0 --group=0 -C "$out" -czf "$out/$folder.tar.gz" "$folder"
rm -r "${out:?}/$folder"

command -v lintian >/dev/null && {
  step "lintian"
  lintian --fail-on error "$out"/*.deb
}

step "made"
ls -l "$out"/*.deb "$out"/*.tar.gz
