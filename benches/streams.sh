#!/usr/bin/env bash
# How many streams a server carries without a late frame, where the answer is known: through 1 Gbit/s it is the number of
# streams that iperf3's goodput has room for. A veth pair between two network namespaces, shaped in both directions (tc
# tbf), and a scratch Samba behind it; `smbench find clients` says the number, for four built-in formats.
#
#   benches/streams.sh [--rounds N] [--seconds N]                (as root: it makes namespaces)
#   benches/streams.sh --samba SMBD [--rounds N] [--seconds N]
#
# With an smbd of Samba 4.24, the module aio_ratelimit limits the share in place of the link, to three limits. The module
# counts each tree connect by itself, so clients do not share a limit. A limit therefore carries one client, which reads n
# times as many frames per second, as an editor does that plays n streams.
#
# Prints a line for each format or limit of each round, and exits 1 when one falls short: on the link, a number that is not
# the expected one; under a limit, one that is more than one stream away. Raw results stay in benches/results.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

# The goodput is far from a multiple of each: 4.5, 3.4, 2.4 and 2.25 streams. One stream too many is a tenth of it or more, so
# four frames of buffer are used up within 10 s.
readonly formats=(stream-2k-4-8bit stream-2k-4 stream-uhd-2-8bit stream-4k-2-8bit)
# What one stream of the limits reads per second, in frames of 2K with 8 bits; and one and a half, two and a half and three
# and a half times its bytes. All are below the goodput of the link.
readonly frames=4 limits=(39813120 66355200 92897280)
# The most streams that are tried under a limit.
readonly streams_max=8
# A frame in a thousand may be late, which in a probe is none.
readonly slo='late < 0.1%'
# Seconds of iperf3 in each direction.
readonly iperf_seconds=10

smbd='' arguments=()
while [ $# -gt 0 ]; do
  if [ "$1" = --samba ]; then
    [[ -x ${2-} && -f $2 ]] || die "--samba: give the path of an smbd" 2
    smbd=$2
    shift 2
  else
    arguments+=("$1")
    shift
  fi
done
option=([rounds]=5 [seconds]=20)
options "${arguments[@]}"
[ "${option[seconds]}" -ge 15 ] || die "--seconds: 15 or more, for the buffers of streams must run empty" 2
need_link
need cargo "cargo (or from rustup.rs)"
need jq jq
need smbd samba
need pdbedit samba-common-bin
need iperf3 iperf3
build
shaped_link "${gigabit[@]}"

# smb DOCUMENT ARGUMENT...: runs smbench on its side of the link. A load that is too high is part of an answer.
smb() {
  local document=$1 code=0
  shift
  SMBENCH_PASSWORD=${server_password[samba]} limited ip netns exec "$load_netns" "$bin/smbench" "$@" \
    --target "${server_url[samba]}" --duration "${option[seconds]}s" --quiet --out "$scratch/out" --json "$document" \
    >"$scratch/said" 2>&1 || code=$?
  [[ $code =~ ^[014]$ && -s $document ]] || die "smbench $1 failed with $code: $(tail -n 3 "$scratch/said")"
  scrub "$document"
}

# serve_samba OPTION...
serve_samba() {
  serve samba ip netns exec "$serve_netns" "$bin/smbench" lab samba --listen "$serve_address" "$@"
}

# print CELL...: a line of the table.
print() { printf '%-20s %6s %12s %14s %8s %9s %6s  %s\n' "$@" | tee -a "$out/table.txt"; }

# row WHAT CAPACITY DOCUMENT FOUND APART: the line of a format or a limit. CAPACITY is in bytes per second. FOUND is null
# without an answer, and may be this far from the expected number.
row() {
  local cells
  jq -r --arg what "$1" --arg round "$round" --argjson capacity "$2" --argjson found "$4" --argjson apart "$5" '
    (.plan.stream | .frame_bytes * .frames_per_s) as $rate | ($capacity / $rate) as $room |
    ($room | floor) as $expected | (if $found == null then "falls short, no answer: \(.find.end)"
      elif ($found - $expected | fabs) <= $apart then "holds" else "falls short" end) as $said |
    [$what, $round, ($rate / 1e4 | round / 100), ($capacity / 1e4 | round / 100), ($room * 100 | round / 100), $expected,
      ($found // "-"), $said] | @tsv' "$3" >"$scratch/row"
  IFS=$'\t' read -r -a cells <"$scratch/row"
  print "${cells[@]}"
}

# through_link: one round of all formats.
through_link() {
  local capacity format document found
  serve_samba
  measure samba ip netns exec "$load_netns" "$bin/smbench-gigabit" iperf3 "$serve_netns" "$serve_address" "$iperf_seconds"
  cp "$scratch/said" "$raw-iperf3.jsonl"
  capacity=$(jq 'select(.direction == "down") | .goodput_mbps * 125000' "$raw-iperf3.jsonl")
  for format in "${formats[@]}"; do
    document=$raw-$format.json
    smb "$document" find clients --profile "$format" --slo "$slo"
    found=$(jq '.find | if .end == "never_held" then 0 else .result end' "$document")
    row "$format" "$capacity" "$document" "$found" 0
  done
  stop_server samba
}

# under_limit LIMIT: one round of a limit, in bytes per second.
under_limit() {
  local limit=$1 streams found=0 document first=''
  serve_samba --smbd "$smbd" --option 'vfs objects = aio_ratelimit' --option "aio_ratelimit:read_bw_limit = $limit"
  for ((streams = 1; streams <= streams_max; streams++)); do
    document=$raw-limit-$limit-streams-$streams.json
    smb "$document" run --profile "stream-2k-$((streams * frames))-8bit" --clients 1
    first=${first:-$document}
    jq -e '.load_points[0] | .valid and (.streams.late_share // 1) < 0.001' "$document" >"$scratch/held" || break
    found=$streams
  done
  row "limit $limit" "$limit" "$first" "$found" 1
  stop_server samba
}

results streams
{
  facts
  printf 'link     veth, %s in both directions\n' "${gigabit[*]}"
  [ -z "$smbd" ] || printf 'limited  %s, vfs_aio_ratelimit\n' "$("$smbd" --version)"
  printf 'probes   %d s each, %s\n\n' "${option[seconds]}" "$slo"
} | tee "$out/facts.txt"
print 'format or limit' round 'stream MB/s' 'capacity MB/s' room expected found ''
for ((round = 1; round <= option[rounds]; round++)); do
  raw=$out/round-$(printf %02d "$round")
  if [ -z "$smbd" ]; then through_link; else for limit in "${limits[@]}"; do under_limit "$limit"; done; fi
done
printf '\nraw results: %s\n' "${out#"$PWD"/}"
! grep -q 'falls short' "$out/table.txt"
