#!/usr/bin/env bash
# Makes all files of a release in target/release-files, with their SHA256SUMS:
# Debian packages, a tarball with a static binary, a wheel, a Containerfile, the list of
# dependencies with their licences (SBOM and NOTICE), the manual as a book, and in BUILD the
# compilers. `--again` shows whether the same commit gives the same bytes in another folder.
#
#   release.sh            makes the files
#   release.sh --again    makes them, then again from a clone in another folder, and compares
#   release.sh --check    tries the files that are there: packaging/check.sh
#
# Runs as root on a Debian machine that has a Rust toolchain, or as a user who has the
# packages of `needed`. Tools that Debian lacks go to target/tools.
set -euo pipefail
cd "$(dirname "$0")"
umask 022
export LC_ALL=C TZ=UTC CARGO_INCREMENTAL=0
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

step() { printf '\n== %s\n' "$*"; }
fail() { printf 'release.sh: %s\n' "$*" >&2; exit 1; }

root=$PWD
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$built
files=$root/target/release-files
# What the packages are made of; Cargo.toml of cli and mpi names it.
parts=$root/target/release-parts
tools=$(realpath -m "${SMBENCH_TOOLS:-target/tools}")
machine=$(uname -m)
dynamic=$machine-unknown-linux-gnu
static=$machine-unknown-linux-musl
version=$(cargo metadata --locked --no-deps --format-version 1 |
  grep -o '"name":"smbench","version":"[^"]*"' | cut -d'"' -f8)

# The name of the system that builds.
system=$(. /etc/os-release && echo "$PRETTY_NAME") || system=unknown

# Programs, and the Debian packages they come from.
needed=(cc:build-essential c++:build-essential musl-gcc:musl-tools mpicc:libopenmpi-dev
  dpkg-shlibdeps:dpkg-dev lintian:lintian python3:python3 xz:xz-utils git:git)

install_missing() {
  local missing=() entry
  for entry in "${needed[@]}"; do
    command -v "${entry%%:*}" >/dev/null || missing+=("${entry##*:}")
  done
  python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
  find /usr/lib \( -name 'libclang.so*' -o -name 'libclang-[0-9]*.so*' \) -print -quit |
    grep -q . || missing+=(libclang-dev)
  if [ "${#missing[@]}" -gt 0 ]; then
    step "install ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  fi
  rustc --print target-libdir --target "$static" | xargs test -d || rustup target add "$static"
}

# Puts a crate's command on the PATH. Each version has a folder, so none takes the place of
# another. Tools run for seconds, so they are not optimised.
tool() {
  local folder=$tools/$1-$2
  PATH=$folder/bin:$PATH
  [ -x "$folder/bin/$1" ] && return
  step "install $1 $2"
  CARGO_TARGET_DIR=$tools/build cargo install --locked --quiet --debug --root "$folder" "$1@$2"
}

# Paths of this machine must not get into binaries.
set_flags() {
  local cargo_home=${CARGO_HOME:-$HOME/.cargo} us=$'\x1f' flags=
  local sysroot
  sysroot=$(rustc --print sysroot)
  flags="--remap-path-prefix=$root=/smbench"
  flags+="$us--remap-path-prefix=$built=/target"
  flags+="$us--remap-path-prefix=$cargo_home=/cargo"
  flags+="$us--remap-path-prefix=$sysroot=/rust"
  # Addresses that the loader changes take a bit each. glibc 2.36 and musl 1.2.4 read them.
  flags+="$us-Clink-arg=-Wl,-z,pack-relative-relocs"
  # Runs without /dev: random numbers come from the kernel's call.
  flags+="$us--cfg$us"'getrandom_backend="linux_getrandom"'
  export CARGO_ENCODED_RUSTFLAGS=$flags
  export CFLAGS="-ffile-prefix-map=$root=/smbench -ffile-prefix-map=$built=/target -ffile-prefix-map=$cargo_home=/cargo"
}

build() { cargo build --locked --profile dist "$@"; }

# Man pages, completions, texts for Debian.
make_parts() {
  local smbench=$built/$static/dist/smbench shell date
  mkdir -p "$parts/man" "$parts/completions"
  "$smbench" man "$parts/man"
  for shell in bash zsh fish; do
    "$smbench" completions "$shell" >"$parts/completions/smbench.$shell"
  done
  mdbook build --dest-dir "$parts/book" docs
  date=$(date --rfc-email --date=@"$SOURCE_DATE_EPOCH")
  cat >"$parts/changelog" <<END
smbench ($version-1) unstable; urgency=medium

  * See /usr/share/doc/smbench/changelog.gz.

 -- smbench developers <smbench@packages.debian.org>  $date
END
  cat >"$parts/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: smbench

Files: *
Copyright: 2026 The smbench authors
License: Expat or Apache-2.0
Comment: The notices of the libraries in the binary are in NOTICE beside this file.

License: Expat
$(sed -n '/^Permission/,$p' LICENSE-MIT | sed 's/^$/./; s/^/ /')

License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0 on Debian systems.
END
}

# The dependencies of the commands, and what their licences require. The tool writes a list
# into the folder of each crate, with the paths of this machine.
make_lists() {
  local entry package folder target
  for entry in "smbench:cli:$static" "smbench-mpi:mpi:$dynamic"; do
    IFS=: read -r package folder target <<<"$entry"
    cargo cyclonedx --quiet --format json --spec-version 1.5 \
      --no-build-deps --target "$target" --override-filename release-sbom
    sed "s#file://$root#file:///smbench#g" "crates/$folder/release-sbom.json" \
      >"$files/$package-$version.cdx.json"
    python3 packaging/notice.py "$package" "$target" >"$parts/NOTICE.$package"
    cp "$parts/NOTICE.$package" "$files/$package-$version.NOTICE"
  done
  find . -path ./target -prune -o -name release-sbom.json -exec rm {} +
}

# What these files were built with.
write_build() {
  local commit
  commit=$(git rev-parse HEAD)
  {
    printf 'commit: %s\nSOURCE_DATE_EPOCH: %s\nsystem: %s\n\n' "$commit" "$SOURCE_DATE_EPOCH" "$system"
    rustc -Vv
    echo
    cc --version | sed -n 1p
  } >"$files/BUILD"
}

make_tarball() {
  local folder=smbench-$version-linux-$machine
  mkdir "$parts/$folder"
  cp "$built/$static/dist/smbench" README.md CHANGELOG.md SECURITY.md LICENSE-* "$parts/$folder/"
  cp "$parts/NOTICE.smbench" "$parts/$folder/NOTICE"
  cp packaging/Containerfile "$parts/$folder/"
  cp -r docs "$parts/book" "$parts/man" "$parts/completions" "$parts/$folder/"
  tar --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime=@"$SOURCE_DATE_EPOCH" -C "$parts" -cf - "$folder" | gzip -n -9 >"$files/$folder.tar.gz"
  cp packaging/Containerfile "$files/"
}

# maturin reads the tag from what the binary needs; a static one suits both kinds of libc.
make_wheel() {
  # One that was moved does not start.
  "$tools/venv/bin/pip" --version >/dev/null 2>&1 || python3 -m venv --clear "$tools/venv"
  # Does nothing where these versions are.
  "$tools/venv/bin/pip" install --quiet --disable-pip-version-check -r packaging/requirements.txt
  cp "$parts/NOTICE.smbench" crates/cli/NOTICE
  "$tools/venv/bin/maturin" build --quiet --locked --profile dist --target "$static" \
    --compatibility manylinux2014 --compatibility musllinux_1_1 \
    --manifest-path crates/cli/Cargo.toml --out "$files"
  rm crates/cli/NOTICE
  "$tools/venv/bin/twine" check --strict "$files"/*.whl
}

# The folders of the crates hold these files only while they are used.
remove_lists() {
  rm -f crates/cli/NOTICE
  find . -path ./target -prune -o -name release-sbom.json -exec rm {} +
  rm -rf "${clone:-}"
}
trap remove_lists EXIT

make_all() {
  rm -rf "$files" "$parts"
  mkdir -p "$files" "$parts"
  step "static binary"
  build --target "$static" -p smbench
  step "binaries for Debian"
  build --target "$dynamic" -p smbench -p smbench-mpi
  step "manual, licences"
  make_parts
  make_lists
  step "packages"
  for package in smbench smbench-mpi; do
    cargo-deb deb --no-build --locked --no-strip --profile dist --target "$dynamic" \
      -p "$package" --output "$files/"
  done
  make_tarball
  make_wheel
  write_build
  lintian --fail-on error --tag-display-limit 0 "$files"/*.deb
  (cd "$files" && sha256sum -- * >"$parts/SHA256SUMS" && mv "$parts/SHA256SUMS" .)
  step "made"
  ls -l "$files"
}

# Builds the commit in a clone, in another folder.
make_again() {
  clone=$(mktemp -d)
  git clone --quiet . "$clone/smbench"
  env -u CARGO_TARGET_DIR -u CARGO_ENCODED_RUSTFLAGS -u CFLAGS SMBENCH_TOOLS="$tools" \
    "$clone/smbench/release.sh"
  diff -r "$files" "$clone/smbench/target/release-files" || fail "two builds differ"
  step "two builds of one commit are equal"
}

case ${1:-} in
  --check) exec packaging/check.sh "$files" ;;
  '' | --again) ;;
  *) echo "usage: release.sh [--again | --check]" >&2; exit 2 ;;
esac
# A killed run leaves its lists.
remove_lists
changes=$(git status --porcelain)
[ -z "$changes" ] || fail "commit first: the files of a release name their commit"
[[ $system == "Debian GNU/Linux 12 "* ]] ||
  printf 'release.sh: warning: built on Debian 12, the packages suit it and newer ones; this is %s\n' "$system" >&2
install_missing
tool cargo-deb 3.8.0
tool cargo-cyclonedx 0.5.9
tool mdbook 0.5.4
set_flags
make_all
if [ "${1:-}" = --again ]; then
  make_again
fi
