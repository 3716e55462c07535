#!/usr/bin/env bash
# CPU per 4 KiB read of smbench beside other clients, in one go: the floor (the
# least a client must do), smb-rs, and Samba's smbtorture. 1, 4, 64 and 512 clients
# have one read in flight each, against a scratch Samba. Client and server share all
# CPUs, or else the client has CPU 0 and the server CPU 1, as if it were elsewhere.
# Also what several requests in flight save, against the embedded server. Programs
# take turns, round by round.
#
#   benches/yardsticks.sh [--rounds N] [--seconds N]
#
# Prints tables and whether the bars hold; exits 1 when one does not. The figures of
# each round stay in benches/results. Where perf works, an extra run of each program
# counts wake-ups, system calls and instructions.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

readonly clients=(1 4 64 512)
# Reads per open of the file that smbtorture replays.
readonly replayed=5000
readonly events=context-switches,raw_syscalls:sys_enter,instructions

option=([rounds]=5 [seconds]=5)
options "$@"
need cargo "cargo (or from rustup.rs)"
need smbd samba
need pdbedit samba-common-bin
need smbtorture samba-testsuite
[ "$(nproc)" -ge 2 ] || die "one CPU: client and server cannot be apart"
build

raws=$scratch/raw
mkdir "$raws"

# raw PROGRAM: the file for what it has to say of this round.
raw() { printf '%s/%s-%s-%s.json' "$raws" "$round" "$cell" "$1"; }

# read_4k PROGRAM SERVER OPTION...: random reads by `smbench run` on one thread.
read_4k() {
  local program=$1 server=$2
  shift 2
  measure "$server" "$bin/smbench" run --quiet --target "${server_url[$server]}" --profile read-4k --threads 1 \
    --duration "${option[seconds]}s" --ramp-up 500ms --ramp-down 200ms \
    --out "$scratch/documents" --json "$(raw "$program")" "$@"
}

# floor PROGRAM SERVER CLIENTS [VARIANT]
floor() {
  measure "$2" "$bin/smbench-floor" "${server_url[$2]}" "$3" "${option[seconds]}" "${@:4}"
  cp "$scratch/said" "$(raw "$1")"
}

# What smbtorture replays.
prepare_replay() {
  awk -v reads="$replayed" 'BEGIN {
    srand(1)
    print "NTCreateX \"\\client1.dat\" 0x40 3 1 0x0"
    print "WriteX 1 1048575 1 1 0x0"
    while (reads-- > 0) print "ReadX 1", int(rand() * 256) * 4096, "4096 4096 0x0"
    print "Close 1 0x0"
  }' >"$scratch/replay"
}

# smbtorture's reads are of SMB1.
readonly lab=("$bin/smbench" lab samba --option 'server min protocol = NT1')
serve shared "${lab[@]}"
serve apart taskset -c 1 "${lab[@]}"
serve embedded "$bin/smbench" lab embedded
prepare_replay
results yardsticks
{
  facts
  printf 'rounds   %d of %d s\n' "${option[rounds]}" "${option[seconds]}"
} | tee "$out/facts.txt"

programs=(native floor smb-rs native-signed smbtorture)
# take_turn PROGRAM REGIME CLIENTS
take_turn() {
  local unsigned=(--clients "$3" --sign off) signed=(--clients "$3" --sign required)
  case $1 in
    native) read_4k "$1" "$2" "${unsigned[@]}" ;;
    native-signed) read_4k "$1" "$2" "${signed[@]}" ;;
    # It signs whatever it does not encrypt.
    smb-rs) read_4k "$1" "$2" "${signed[@]}" --driver smb-rs ;;
    floor) floor "$1" "$2" "$3" ;;
    smbtorture)
      # Its 512 processes take longer to start than the measured time.
      [ "$3" -lt 512 ] || return 0
      prepare_smbtorture "$2"
      smbtorture_nbench "$scratch/replay" "$3" "$(raw smbtorture | sed 's/[.]json$//')"
      ;;
  esac
}

# take_turns REGIME CLIENTS: another program first each time, so that what is left of a program's run meets another.
take_turns() {
  local turn
  cell=$1-$2
  [ "$1" = shared ] || prefix=(taskset -c 0)
  for ((turn = 0; turn < ${#programs[@]}; turn++)); do
    take_turn "${programs[(number + turn) % ${#programs[@]}]}" "$1" "$2"
  done
  prefix=()
}

# count REGIME CLIENTS: counts events, in fifths of the measured time.
count() {
  local program
  cell=$1-$2
  for program in "${programs[@]}"; do
    prefix=(perf stat -I $((option[seconds] * 200)) -x , -e "$events" -o "$(raw "$program" | sed 's/json$/csv/')" --)
    [ "$1" = shared ] || prefix+=(taskset -c 0)
    take_turn "$program" "$1" "$2"
  done
  prefix=()
}

for ((number = 1; number <= option[rounds]; number++)); do
  round=round-$(printf %02d "$number")
  for regime in shared apart; do
    for count in "${clients[@]}"; do
      printf '\rround %d of %d: %s, %d clients ' "$number" "${option[rounds]}" "$regime" "$count" >&2
      take_turns "$regime" "$count"
    done
  done
  cell=window
  for count in 1 16; do
    read_4k "outstanding-$count" embedded --clients 4 --sign off --outstanding "$count"
  done
done
if perf stat -e "$events" true >/dev/null 2>&1; then
  round=counted
  for regime in shared apart; do
    for count in "${clients[@]}"; do
      printf '\rcounting: %s, %d clients %20s' "$regime" "$count" '' >&2
      count "$regime" "$count"
    done
  done
else
  echo "perf cannot count here: no wake-ups and system calls" >&2
fi
printf '\r%40s\r' '' >&2

held=0
"$bin/smbench-yardsticks" "$raws" "$out/figures.csv" >"$out/table.txt" || held=$?
cat "$out/table.txt"
printf '\nfigures of each round: %s\n' "${out#"$PWD"/}"
exit "$held"
