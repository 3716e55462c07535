# shellcheck shell=bash
# What yardsticks.sh and gigabit.sh have in common: options, programs, lab
# servers, the facts that head a result. Sourced, not run.
# What it sets is used by those that source it:
# shellcheck disable=SC2034
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../target}
bin=$target/release
PATH=$PATH:/usr/sbin:/sbin

# What a run says of itself is kept here until it ends.
scratch=$(mktemp -d)
namespaces=()
declare -A server_url server_password server_pid

# die TEXT [EXIT CODE]
die() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit "${2:-3}"
}

# need PROGRAM PACKAGE
need() { command -v "$1" >/dev/null || die "$1 not found; install it with: apt-get install $2"; }

# Takes --NAME NUMBER for each NAME in `option`, which has the defaults.
declare -A option
options() {
  local usage name
  usage="usage: ${0##*/}$(for name in "${!option[@]}"; do printf ' [--%s N]' "$name"; done)"
  while [ $# -gt 0 ]; do
    name=${1#--}
    [[ $1 == --?* && -v option[$name] && ${2-} =~ ^[1-9][0-9]{0,5}$ ]] || die "$usage" 2
    option[$name]=$2
    shift 2
  done
}

# limited COMMAND...: ends it when it takes far longer than its measurements,
# of which there are at most ten.
limited() { timeout --foreground --kill-after=10 $((option[seconds] * 20 + 120)) "$@"; }

# serve NAME COMMAND...: starts a lab server and waits until it says where it is.
serve() {
  local name=$1 said=$scratch/$1.out tries
  shift
  "$@" </dev/null >"$said" 2>"$said.err" &
  server_pid[$name]=$!
  for ((tries = 0; tries < 300; tries++)); do
    if [ "$(wc -l <"$said")" -ge 2 ]; then
      server_url[$name]=$(sed -n 1p "$said")
      server_password[$name]=$(sed -n 's/^SMBENCH_PASSWORD=//p' "$said")
      return
    fi
    kill -0 "${server_pid[$name]}" 2>/dev/null || break
    sleep 0.1
  done
  die "the $name server did not start: $(cat "$said.err")"
}

# stop_server NAME
stop_server() {
  local pid=${server_pid[$1]}
  unset "server_pid[$1]"
  kill "$pid" 2>/dev/null || return 0
  wait "$pid" 2>/dev/null || true
}

# Undoes whatever a script has set up; devices go with their namespaces.
clean_up() {
  local name
  for name in "${!server_pid[@]}"; do stop_server "$name"; done
  for name in "${namespaces[@]}"; do ip netns delete "$name" 2>/dev/null || true; done
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# measure SERVER COMMAND...: runs it with that server's password; what it says is shown only if it fails.
measure() {
  local server=$1 said=$scratch/said
  shift
  SMBENCH_PASSWORD=${server_password[$server]} limited "$@" >"$said" 2>&1 ||
    die "$(basename "$1") failed: $(tail -n 20 "$said")"
}

# Builds what is run; results of another build would be of other code.
build() { (cd "$here" && cargo build --release --locked --quiet -p smbench -p smbench-benches); }

# results WHAT: makes the folder for raw results and sets `out`.
results() {
  out=$here/results/$(date -u +%Y-%m-%d)-$1
  # An earlier run of the same day is kept.
  local first=$out n
  for ((n = 2; ; n++)); do
    mkdir -p "$(dirname "$out")"
    mkdir "$out" 2>/dev/null && return
    [ -d "$out" ] || die "cannot make $out"
    out=$first-$n
  done
}

# The machine, on standard output.
facts() {
  local changed=""
  git -C "$here" diff --quiet HEAD -- 2>/dev/null || changed=", with changes"
  printf 'date     %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  printf 'machine  %s, %s cores, Linux %s\n' \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)"
  printf 'load     %s before the start\n' "$(cut -d ' ' -f 1-3 /proc/loadavg)"
  printf 'server   Samba %s\n' "$(smbd --version | sed 's/^Version //')"
  printf 'smbench  %s%s, %s\n' \
    "$(git -C "$here" rev-parse --short=12 HEAD 2>/dev/null || echo 'unknown commit')" "$changed" \
    "$(rustc --version)"
}
