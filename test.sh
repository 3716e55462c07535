#!/usr/bin/env bash
# Everything that must hold before a change lands. Runs on a fresh Debian
# machine that has a Rust toolchain and nothing else: installs what is missing
# (as root, or with sudo), then formatting, lints, tests, fuzz targets,
# instruction counts of the hot paths, documentation and, where it is present,
# cargo-deny. Ends non-zero at the first failure.
#
#   test.sh                      all of this
#   test.sh --interop [SERVER..] instead: tries other servers, and writes docs/reference/servers.md.
#                                Downloads them, and needs root. SMBENCH=FILE names the program to try.
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s (after %d s)\n' "$*" "$SECONDS"; }

# Programs that the tests run, and the Debian packages they come from.
needed=(
  cc:build-essential
  c++:build-essential
  smbd:samba
  pdbedit:samba-common-bin
  smbclient:smbclient
  tshark:tshark
  dumpcap:tshark
  krb5kdc:krb5-kdc
  kadmin.local:krb5-admin-server
  kinit:krb5-user
  valgrind:valgrind
  prometheus-node-exporter:prometheus-node-exporter
  chromium:chromium
  dbench:dbench
  fio:fio
  sysbench:sysbench
  pip3:python3-pip
  mpicc:libopenmpi-dev
  mpirun:openmpi-bin
  ip:iproute2
  jq:jq
  strace:strace
  git:git
)
# For servers in virtual machines and chroots.
needed_for_interop=(
  qemu-system-x86_64:qemu-system-x86
  busybox:busybox-static
  cpio:cpio
  depmod:kmod
  mmdebstrap:mmdebstrap
  python3:python3
  setpriv:util-linux
)
# The crate for MPI reads the headers of Open MPI with it.
has_libclang() {
  find /usr/lib \( -name 'libclang.so*' -o -name 'libclang-[0-9]*.so*' \) -print -quit 2>/dev/null | grep -q .
}

# Tests of recycle bins need Samba's module; it is a file and no program.
has_recycle() { compgen -G '/usr/lib/*/samba/vfs/recycle.so' >/dev/null; }

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

install_missing() {
  local missing=() entry
  for entry in "${needed[@]}"; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${entry%%:*}" >/dev/null || missing+=("${entry##*:}")
  done
  has_libclang || missing+=(libclang-dev)
  has_recycle || missing+=(samba-vfs-modules)
  [ "${#missing[@]}" -eq 0 ] && return
  step "install ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# One test captures packets on loopback.
allow_capture() {
  [ "$(id -u)" -eq 0 ] && return
  local dumpcap
  dumpcap=$(command -v dumpcap)
  getcap "$dumpcap" 2>/dev/null | grep -q cap_net_raw && [ -x "$dumpcap" ] && return
  step "allow packet captures"
  as_root chmod a+x "$dumpcap"
  as_root setcap cap_net_raw,cap_net_admin+eip "$dumpcap"
}

# Tries smbench against other servers.
interop() {
  needed+=("${needed_for_interop[@]}")
  install_missing
  if [ -z "${SMBENCH:-}" ]; then
    step "build"
    cargo build --locked --release -p smbench
  fi
  step "servers"
  exec cargo run --locked --quiet -p smbench-lab --example interop -- "$@"
}

if [ "${1:-}" = --interop ]; then
  interop "${@:2}"
fi
if [ $# -gt 0 ]; then
  echo "usage: test.sh [--interop [SERVER...]]" >&2
  exit 2
fi

install_missing
allow_capture
# From here on a test whose program is missing fails instead of being skipped.
export CI=true
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-never}"
# What is built once is built faster without what would speed up the next build, or
# help a debugger.
[ -d target ] ||
  export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false

step "format"
cargo fmt --all --check

# Beside lints: the program that counts instructions. It has a build folder of its own.
gate() { cargo "$1" --locked --quiet --release -p smbench-benches --bin smbench-gate "${@:2}"; }
# What runs beside has a process group of its own, which ends with this script.
set -m
gate build &
building=$!
set +m
trap 'kill -- -"$building" 2>/dev/null || true' EXIT

# Lints and tests share one build: clippy compiles this workspace in place of rustc.
# Its flags are passed on as cargo-clippy does it.
clippy=$(rustup which clippy-driver 2>/dev/null || command -v clippy-driver) || {
  echo "clippy is missing: rustup component add clippy" >&2
  exit 1
}
linted() {
  RUSTC_WORKSPACE_WRAPPER=$clippy CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__ cargo "$@"
}

step "lints"
linted build --locked --workspace --all-targets
wait "$building"

linted test --locked --workspace --quiet --no-run

# Beside tests: documentation, instruction counts, and lints of the library alone. They need the
# build folder, which cargo gives free when the first tests run.
begun=$(mktemp) counts=$(mktemp)
set -m
{
  until [ -s "$begun" ]; do sleep 1; done
  # Nobody reads documentation of what only tests and measures smbench.
  RUSTDOCFLAGS="-D warnings" nice cargo doc --locked --workspace --no-deps --quiet \
    --exclude smbench-benches --exclude smbench-fuzz --exclude smbench-house --exclude smbench-mpi
  nice cargo clippy --locked --quiet -p smbench --no-default-features -- -D warnings
  gate run -- check >"$counts"
} &
building=$!
set +m

step "tests"
# They wait for windows to end and for servers much longer than they compute.
export RUST_TEST_THREADS=$(($(nproc) * 3))
# Fuzz targets replay their seeds; without a fuzzer's instrumentation they do no more.
linted test --locked --workspace --quiet | tee "$begun"
rm "$begun"

step "documentation, instruction counts"
checked=0
wait "$building" || checked=$?
trap - EXIT
cat "$counts"
rm "$counts"
[ "$checked" -eq 0 ] || exit "$checked"

if command -v cargo-deny >/dev/null; then
  step "dependencies"
  cargo deny check
fi

step "all passed"
