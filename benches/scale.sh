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
# when it could not measure. Raw results stay in benches/results.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

readonly bytes_max=8192
option=([seconds]=10 [embedded]=10000 [samba]=4000 [threads]=2)
options "$@"
need cargo "cargo (or from rustup.rs)"
need jq jq
need smbd samba
need pdbedit samba-common-bin
build
results scale
{
  facts
  printf 'binary   sha256 %s\n' "$(sha256sum "$bin/smbench" | cut -d ' ' -f 1)"
  printf 'memory   %s\n' "$(awk '/MemTotal/ { print $2, $3 }' /proc/meminfo)"
} | tee "$out/facts.txt"

# count NAME SESSIONS ARGUMENTS...: one run in a process of its own, since the
# resident set counted is the largest that a process ever had.
count() {
  local name=$1 sessions=$2 code=0
  shift 2
  timeout --kill-after=10 $((option[seconds] + 540)) "$bin/smbench" run "$@" --quiet \
    --profile file-server --file-size 64KiB --clients "$sessions" --threads "${option[threads]}" \
    --duration "${option[seconds]}s" --ramp-up 5s --operation-timeout 120s \
    --out "$scratch/out" --json "$out/$name-$sessions.json" \
    >"$scratch/table" 2>"$scratch/said" || code=$?
  # Where its document was put matters to nobody any more.
  sed '/^result: /d' "$scratch/table" >"$out/$name-$sessions.txt"
  scrub "$out/$name-$sessions".*
  # An invalid run has numbers, too, and the table shows what is wrong with it.
  [ "$code" = 0 ] || [ "$code" = 4 ] || die "$name with $sessions sessions: $(tail -n 3 "$scratch/said")"
}

# row NAME SESSIONS: figures of a run, separated by spaces.
row() {
  jq -r '.load_points[-1] | [.clients, .clients_served, (.setup.sessions_per_s | floor),
    (.ops_per_s | floor), .errors, (.dropouts | length), .client.max_rss_bytes,
    (.latency_ns.p99 / 1e6 | floor), .valid] | join(" ")' "$out/$1-$2.json"
}

few() { echo $(($1 / 20)); }
echo 'embedded server' >&2
count embedded "$(few "${option[embedded]}")"
count embedded "${option[embedded]}"
echo 'scratch Samba' >&2
serve samba "$bin/smbench" lab samba
export SMBENCH_PASSWORD=${server_password[samba]}
count samba "$(few "${option[samba]}")" --target "${server_url[samba]}"
count samba "${option[samba]}" --target "${server_url[samba]}"

for name in embedded samba; do
  few=$(few "${option[$name]}")
  printf '%s %s\n%s %s\n' "$name" "$(row "$name" "$few")" "$name" "$(row "$name" "${option[$name]}")"
done | awk -v bytes_max="$bytes_max" '
  BEGIN {
    printf "%-9s %9s %9s %10s %9s %7s %8s %9s %9s %14s\n", "server", "sessions", "served",
      "ready/s", "ops/s", "errors", "dropped", "p99 ms", "RSS MiB", "bytes/session"
  }
  {
    each = "-"
    if ($1 == before) each = sprintf("%.0f", ($8 - rss) / ($2 - sessions))
    printf "%-9s %9d %9d %10d %9d %7d %8d %9d %9.1f %14s\n", $1, $2, $3, $4, $5, $6, $7, $9,
      $8 / 1048576, each
    if ($10 != "true") { invalid = 1; print "not a valid load point: see its table" }
    if ($3 < $2 || $6 > 0 || $7 > 0 || invalid || (each != "-" && each > bytes_max)) short = 1
    before = $1; sessions = $2; rss = $8
  }
  END {
    print (short ? "falls short" : "holds") ": every session served in the window, no error, at most " \
      bytes_max " bytes per session"
    exit short
  }' | tee "$out/table.txt"
