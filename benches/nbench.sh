#!/usr/bin/env bash
# The same loadfile, replayed by smbench and by Samba's smbtorture (bench.nbench)
# on the same scratch Samba, in turns: operations and MB per second, and CPU of
# the client per operation.
#
#   benches/nbench.sh [--rounds N] [--seconds N] [--cifs 1]
#
# --cifs 1 replays in CIFS, which smbtorture speaks as well.
#
# Prints a table and whether the bars hold; exits 1 when one does not: at least
# smbtorture's MB/s, at most half its CPU per operation (in CIFS with 16 and 60
# clients). In CIFS with 1 and 4 clients, 4 KiB reads take at most 1.10 of the
# CPU of a bare loop. Raw results stay in benches/results.
#
# Both replay the head of Debian's client.txt, over and over, as fast as they can.
# What the file asks for changes on its way (it begins with 20 MB of writes), so a
# window shows the same work only where clients go through all of it, several
# times: the head is the shorter the more clients share the machine, and the
# table says how often each client went through it, what the head consists of, and
# how much an operation moved: a short head is mostly writes. It is cut where no
# handle is open. The file begins with a DELTREE of the client's folder: each time round
# starts from nothing. (At the end of a file smbtorture starts over as well, and
# deletes nothing; see source4/torture/nbench/nbench.c of Samba.)
#
# Alike: opens of files ask for batch oplocks, sessions neither sign nor encrypt,
# one operation is one line of the file, whatever it takes on the wire, MB are
# 10^6 bytes read and written, windows are as long, and what comes before them
# (log-ons, a second under load) is in none of the numbers.
# Not alike: smbtorture has a process per client. It speaks SMB1, and asks for names
# in one request where SMB2 needs a CREATE and a CLOSE as well; smbench begins
# with a share of its own directory, smbtorture with a folder \clients.
#
# Beside them a bare loop reads 4 KiB per operation: with one client each operation is
# a request, a sleep and an answer to all three. smbench does the same on one thread.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

# Debian's dbench installs it. It is of the GPL, so not part of this project.
readonly loadfile=/usr/share/dbench/client.txt
readonly points=(1 4 16 60)
# Lines, at least, of the head that so many clients replay.
readonly -A head_lines=([1]=11900 [4]=11900 [16]=3500 [60]=1000)
# Its work does not change on its way.
readonly floor_seconds=5

option=([rounds]=5 [seconds]=20 [cifs]=0)
options "$@"
dialect=2.0.2..3.1.1
[ "${option[cifs]}" = 0 ] || dialect=cifs
readonly dialect
need cargo "cargo (or from rustup.rs)"
need jq jq
need smbd samba
need pdbedit samba-common-bin
need smbtorture samba-testsuite
[ -r "$loadfile" ] || die "$loadfile not found; install it with: apt-get install dbench"
build

# raw PROGRAM: the files for what it has to say of this round, without an ending.
raw() { printf '%s/round-%02d-%02d-%s' "$out" "$round" "$clients" "$1"; }

# head_for CLIENTS: the name of its head, which is made.
head_for() {
  local head=$scratch/head-${head_lines[$1]}.txt
  [ -e "$head" ] || awk -v least="${head_lines[$1]}" '
    { print }
    $1 == "NTCreateX" && $NF == "NT_STATUS_OK" && !($5 in open) { open[$5]; count++ }
    $1 == "Close" && $2 in open { delete open[$2]; count-- }
    NR >= least && !count { exit }' "$loadfile" >"$head"
  printf '%s' "$head"
}

smbench_replay() {
  measure samba "$bin/smbench" run --quiet --target "${server_url[samba]}" --profile "loadfile:$(head_for "$clients")" \
    --clients "$clients" --dialect "$dialect" --sign off --oplock batch --duration "${option[seconds]}s" --ramp-up 1s --ramp-down 200ms \
    --out "$scratch/documents" --json "$scratch/document.json"
  # The document with its histograms is large.
  jq --argjson clients "$clients" '.load_points[0] | {valid, mb_per_s: (.throughput_mbps / 8), ops_per_s,
      cpu_us_per_op: .client.cpu_us_per_op,
      cpu_user_us_per_op: (.client.cpu_user_s * 1e6 / (.ops_per_s * .window_s)),
      lines_per_client: ((([.whole | del(.oplock_break) | .[].count] | add) + ([.differences[]?.count] | add // 0))
        / $clients | floor),
      not_as_recorded: ([.differences[]?.count] | add // 0)}' "$scratch/document.json" >"$(raw smbench).json"
  jq -e .valid "$(raw smbench).json" >/dev/null ||
    die "smbench's load point is not valid: $(jq -r '.load_points[0].invalid_reason' "$scratch/document.json")"
}

# What the kernel asks of any client for a request, a sleep and an answer.
floor() {
  local in_cifs=()
  [ "$dialect" != cifs ] || in_cifs=(cifs)
  measure samba "$bin/smbench-floor" "${server_url[samba]}" "$clients" "$floor_seconds" "${in_cifs[@]}"
  cp "$scratch/said" "$(raw floor).json"
}

# The same reads by smbench.
reads() {
  measure samba "$bin/smbench" run --quiet --target "${server_url[samba]}" --profile read-4k --threads 1 \
    --clients "$clients" --dialect "$dialect" --sign off --duration "${floor_seconds}s" --ramp-up 500ms \
    --ramp-down 200ms --out "$scratch/documents" --json "$scratch/document.json"
  jq '.load_points[0] | {ops_per_s, cpu_us_per_op: .client.cpu_us_per_op,
      cpu_user_us_per_op: (.client.cpu_user_s * 1e6 / (.ops_per_s * .window_s))}' "$scratch/document.json" \
    >"$(raw reads).json"
}

# Of an even number of values: the middle between the two.
readonly median='def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2; '

# over_rounds PROGRAM FIELD: its median.
over_rounds() {
  jq -s --arg field "$2" "$median"'[.[] | .[$field]] | median' \
    "$out"/round-*-"$(printf %02d "$clients")-$1.json"
}

# kb_per_operation PROGRAM: the median; alike where both have gone through the same lines as often.
kb_per_operation() {
  jq -s "$median"'[.[] | .mb_per_s * 1000 / .ops_per_s] | median' "$out"/round-*-"$(printf %02d "$clients")-$1.json"
}

# share VERB: of the lines of the head, in percent.
share() { awk -v verb="$1" '$1 == verb { count++ } END { printf "%.1f", count * 100 / NR }' "$(head_for "$clients")"; }

# ratio PROGRAM FIELD [OTHER]: the program's to the other's (smbtorture's) of the same round, the median over rounds.
ratio() {
  for ((round = 1; round <= option[rounds]; round++)); do
    jq -n --arg field "$2" --slurpfile one "$(raw "$1").json" --slurpfile other "$(raw "${3:-smbtorture}").json" \
      '$one[0][$field] / $other[0][$field]'
  done | jq -s "$median median"
}

# loops PROGRAM: how often each of its clients went through the head.
loops() {
  awk -v lines="$(over_rounds "$1" lines_per_client)" -v head="$(wc -l <"$(head_for "$clients")")" \
    'BEGIN { printf "%.1f", lines / head }'
}

serve samba "$bin/smbench" lab samba --option 'server min protocol = NT1'
prepare_smbtorture
results "nbench-${dialect/2.0.2..3.1.1/smb2}"
facts | tee "$out/facts.txt"
printf 'dialect  %s\n' "$dialect" | tee -a "$out/facts.txt"
printf 'file     %s, sha256 %s\n' "$loadfile" "$(sha256sum <"$loadfile" | cut -c 1-64)" | tee -a "$out/facts.txt"
if [ "${option[seconds]}" -lt 20 ]; then
  printf 'note     below 20 s smbtorture has no warm-up: log-ons are in its MB/s\n' | tee -a "$out/facts.txt"
fi

for ((round = 1; round <= option[rounds]; round++)); do
  for clients in "${points[@]}"; do
    printf '\rround %d of %d, %2d clients ' "$round" "${option[rounds]}" "$clients" >&2
    # Another one first each time: what is left of a program's run meets another. Nothing that one wrote is left for the
    # other to wait for.
    programs=(smbench smbtorture floor reads)
    for ((turn = 0; turn < ${#programs[@]}; turn++)); do
      sync
      case ${programs[(round + turn) % ${#programs[@]}]} in
        smbench) smbench_replay ;;
        floor) floor ;;
        reads) reads ;;
        smbtorture) smbtorture_nbench "$(head_for "$clients")" "$clients" "$(raw smbtorture)" ;;
      esac
    done
  done
done
printf '\r%30s\r' '' >&2

# table PROGRAM TITLE FIELD DECIMALS [OTHER]: the program beside the other (smbtorture).
table() {
  local other=${5:-smbtorture}
  printf '\n%s\n%8s %12s %12s %7s\n' "$2" clients "$1" "$other" ratio
  for clients in "${points[@]}"; do
    printf "%8d %12.$4f %12.$4f %7.2f\n" "$clients" "$(over_rounds "$1" "$3")" "$(over_rounds "$other" "$3")" \
      "$(ratio "$1" "$3" "$other")"
  done
}

held=0
# bar WHAT PROGRAM FIELD CONDITION OTHER CLIENTS...: whether the ratio is as it must be, at each number of clients.
bar() {
  local what=$1 program=$2 field=$3 condition=$4 other=$5 value
  for clients in "${@:6}"; do
    value=$(ratio "$program" "$field" "$other")
    if awk "BEGIN { exit !($value $condition) }"; then
      printf 'holds: %s at %s clients: %.2f times that of %s\n' "$what" "$clients" "$value" "$other"
    else
      printf 'falls short: %s at %s clients: %.2f times that of %s, bar %s\n' "$what" "$clients" "$value" "$other" \
        "$condition"
      held=1
    fi
  done
}

report() {
  printf '\nmedians over %d rounds; ratios are those within a round, and their median\n' "${option[rounds]}"
  table smbench 'operations per second' ops_per_s 0
  table smbench 'MB per second' mb_per_s 1
  table smbench 'us of CPU of the client per operation' cpu_us_per_op 1
  table smbench 'us of it in user mode; the rest is the kernel, on their behalf' cpu_user_us_per_op 1
  table floor 'for comparison: us of CPU per 4 KiB read of a bare loop, beside an operation of smbtorture' \
    cpu_us_per_op 1
  table reads 'us of CPU per 4 KiB read of smbench on one thread, beside a bare loop' cpu_us_per_op 1 floor
  printf '\n%-8s %6s %8s %8s %9s %21s %21s %21s\n' clients lines WriteX ReadX 'MB moved' 'loops of each client' \
    'kB per operation' 'lines not as recorded'
  printf '%8s %6s %8s %8s %9s %10s %10s %10s %10s %10s %10s\n' '' '' 'of lines' 'of lines' 'per loop' \
    smbench smbtorture smbench smbtorture smbench smbtorture
  for clients in "${points[@]}"; do
    printf '%8d %6d %6s %% %6s %% %9.1f %10s %10s %10.1f %10.1f %10.0f %10.0f\n' "$clients" "$(wc -l <"$(head_for "$clients")")" \
      "$(share WriteX)" "$(share ReadX)" \
      "$(awk '$1 == "WriteX" || $1 == "ReadX" { bytes += $5 } END { print bytes / 1e6 }' "$(head_for "$clients")")" \
      "$(loops smbench)" "$(loops smbtorture)" "$(kb_per_operation smbench)" "$(kb_per_operation smbtorture)" \
      "$(over_rounds smbench not_as_recorded)" "$(over_rounds smbtorture not_as_recorded)"
  done
  printf 'of smbench: MKDIR of what is there already, once in a loop of each client, which smbtorture does not look at\n\n'
  bar 'MB/s' smbench mb_per_s '>= 1.0' smbtorture "${points[@]}"
  local halved=("${points[@]}")
  if [ "$dialect" = cifs ]; then
    halved=(16 60)
    bar 'client CPU per read' reads cpu_us_per_op '<= 1.10' floor 1 4
  fi
  bar 'client CPU per operation' smbench cpu_us_per_op '<= 0.5' smbtorture "${halved[@]}"
}

report >"$out/table.txt"
cat "$out/table.txt"
printf '\nraw results: %s\n' "${out#"$PWD"/}"
exit "$held"
