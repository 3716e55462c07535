#!/usr/bin/env bash
# Thousands of authenticated sessions from one process: 10,000 on the embedded
# server, 4,000 on a scratch Samba, each with an operation outstanding, after
# smaller load points of the same kind, for the slope: bytes per session are
# those that a session adds to the largest resident set of the generator, whose
# servers are other processes.
#
#   benches/scale.sh [--seconds N] [--embedded N] [--samba N] [--threads N]
#
# Prints a table and whether the bars hold; exits 1 when one does not, and 3
# when it could not measure. Raw results stay in benches/results. SMBENCH names
# another binary to measure than the one it builds.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=${SMBENCH:-${CARGO_TARGET_DIR:-$here/../target}/release/smbench}
PATH=$PATH:/usr/sbin:/sbin
declare -A option=([seconds]=10 [embedded]=10000 [samba]=4000 [threads]=2)
readonly bytes_max=8192
lab=

die() {
  printf 'scale.sh: %s\n' "$1" >&2
  exit "${2:-3}"
}
while [ $# -gt 0 ]; do
  name=${1#--}
  [[ $1 == --?* && -v option[$name] && ${2-} =~ ^[1-9][0-9]{0,5}$ ]] ||
    die 'usage: scale.sh [--seconds N] [--embedded N] [--samba N] [--threads N]' 2
  option[$name]=$2
  shift 2
done
command -v jq >/dev/null || die 'jq not found; install it with: apt-get install jq'
command -v smbd >/dev/null || die 'smbd not found; install it with: apt-get install samba'

out=$here/results/$(date -u +%Y-%m-%d)/scale-$(date -u +%H%M%S)
mkdir -p "$out"
scratch=$(mktemp -d)
clean_up() {
  [ -z "$lab" ] || { kill "$lab" && wait "$lab"; } 2>/dev/null || true
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

[ -n "${SMBENCH-}" ] || (cd "$here" && cargo build --release --locked --quiet -p smbench)
{
  if [ -z "${SMBENCH-}" ]; then
    printf 'commit   %s\n' "$(git -C "$here" rev-parse HEAD 2>/dev/null || echo unknown)"
  fi
  printf 'binary   %s\n' "$(sha256sum "$bin" | cut -d ' ' -f 1)"
  printf 'kernel   %s\n' "$(uname -sr)"
  printf 'cpus     %s\n' "$(nproc)"
  printf 'memory   %s\n' "$(awk '/MemTotal/ { print $2, $3 }' /proc/meminfo)"
  printf 'samba    %s\n' "$(smbd --version)"
} | tee "$out/facts.txt"

# measure NAME SESSIONS ARGUMENTS...: one run in a process of its own, since the
# resident set counted is the largest that a process ever had.
measure() {
  local name=$1 sessions=$2 code=0
  shift 2
  timeout --kill-after=10 $((option[seconds] + 540)) "$bin" run "$@" --quiet \
    --profile file-server --file-size 64KiB --clients "$sessions" --threads "${option[threads]}" \
    --duration "${option[seconds]}s" --ramp-up 5s --operation-timeout 120s \
    --out "$scratch/out" --json "$out/$name-$sessions.json" \
    >"$scratch/table" 2>"$scratch/said" || code=$?
  # Where its document was put matters to nobody any more.
  sed '/^result: /d' "$scratch/table" >"$out/$name-$sessions.txt"
  # An invalid run has numbers, too, and the table shows what is wrong with it.
  [ "$code" = 0 ] || [ "$code" = 4 ] || die "$name with $sessions sessions: $(tail -n 3 "$scratch/said")"
}

# row NAME SESSIONS: figures of a run, separated by spaces.
row() {
  jq -r '.load_points[-1] | [.clients, .clients_served, (.setup.sessions_per_s | floor),
    (.ops_per_s | floor), .errors, (.dropouts | length), .client.max_rss_bytes,
    (.latency_ns.p99 / 1e6 | floor)] | join(" ")' "$out/$1-$2.json"
}

few() { echo $(($1 / 20)); }
echo 'embedded server' >&2
measure embedded "$(few "${option[embedded]}")"
measure embedded "${option[embedded]}"
echo 'scratch Samba' >&2
"$bin" lab samba </dev/null >"$scratch/lab" 2>"$scratch/lab.err" &
lab=$!
for ((tries = 0; tries < 300; tries++)); do
  [ "$(wc -l <"$scratch/lab")" -ge 2 ] && break
  kill -0 "$lab" 2>/dev/null || break
  sleep 0.1
done
url=$(sed -n 1p "$scratch/lab")
[ -n "$url" ] || die "the scratch Samba did not start: $(cat "$scratch/lab.err")"
SMBENCH_PASSWORD=$(sed -n 's/^SMBENCH_PASSWORD=//p' "$scratch/lab")
export SMBENCH_PASSWORD
measure samba "$(few "${option[samba]}")" --target "$url"
measure samba "${option[samba]}" --target "$url"

for name in embedded samba; do
  few=$(few "${option[$name]}")
  printf '%s %s\n%s %s\n' "$name" "$(row "$name" "$few")" "$name" "$(row "$name" "${option[$name]}")"
done | awk -v bytes_max="$bytes_max" '
  BEGIN {
    printf "%-9s %9s %9s %10s %9s %7s %8s %9s %9s %14s\n", "server", "sessions", "served",
      "set up/s", "ops/s", "errors", "dropped", "p99 ms", "RSS MiB", "bytes/session"
  }
  {
    each = "-"
    if ($1 == before) each = sprintf("%.0f", ($8 - rss) / ($2 - sessions))
    printf "%-9s %9d %9d %10d %9d %7d %8d %9d %9.1f %14s\n", $1, $2, $3, $4, $5, $6, $7, $9,
      $8 / 1048576, each
    if ($3 < $2 || $6 > 0 || $7 > 0 || (each != "-" && each > bytes_max)) short = 1
    before = $1; sessions = $2; rss = $8
  }
  END {
    print (short ? "falls short" : "holds") ": every session served in the window, no error, at most " \
      bytes_max " bytes per session"
    exit short
  }' | tee "$out/table.txt"
