#!/usr/bin/env bash
# CPU per 4 KiB read of smbench beside other clients, in one go: the floor (the
# least a client must do), smb-rs, and Samba's smbtorture, 64 clients with one
# read in flight each against a scratch Samba; and what several requests in
# flight save, against the embedded server. Programs take turns, round by round.
#
#   benches/yardsticks.sh [--rounds N] [--seconds N]
#
# Prints a table and whether the bars hold; exits 1 when one does not. Raw
# results stay in benches/results.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

readonly clients=64
# Reads per open of the file that smbtorture replays.
readonly replayed=5000

option=([rounds]=5 [seconds]=5)
options "$@"
need cargo "cargo (or from rustup.rs)"
need smbd samba
need pdbedit samba-common-bin
need smbtorture samba-testsuite
build

# raw PROGRAM: the file for what it has to say of this round.
raw() { printf '%s/round-%02d-%s.json' "$out" "$round" "$1"; }

# read_4k PROGRAM SERVER OPTION...: random reads by `smbench run` on one thread.
read_4k() {
  local program=$1 server=$2
  shift 2
  measure "$server" "$bin/smbench" run --quiet --target "${server_url[$server]}" --profile read-4k --threads 1 \
    --duration "${option[seconds]}s" --ramp-up 500ms --ramp-down 200ms \
    --out "$scratch/documents" --json "$(raw "$program")" "$@"
}

floor() {
  measure samba "$bin/smbench-floor" "${server_url[samba]}" "$clients" "${option[seconds]}"
  cp "$scratch/said" "$(raw floor)"
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
serve samba "$bin/smbench" lab samba --option 'server min protocol = NT1'
serve embedded "$bin/smbench" lab embedded
prepare_smbtorture
prepare_replay
results yardsticks
facts | tee "$out/facts.txt"

programs=(native floor smb-rs native-signed smbtorture outstanding-1 outstanding-16)
take_turn() {
  case $1 in
    native) read_4k "$1" samba --clients "$clients" --sign off ;;
    native-signed) read_4k "$1" samba --clients "$clients" --sign required ;;
    # It signs whatever it does not encrypt.
    smb-rs) read_4k "$1" samba --clients "$clients" --sign required --driver smb-rs ;;
    floor) floor ;;
    smbtorture) smbtorture_nbench "$scratch/replay" "$clients" "$(raw smbtorture | sed 's/[.]json$//')" ;;
    outstanding-*) read_4k "$1" embedded --clients 4 --sign off --outstanding "${1#outstanding-}" ;;
  esac
}

for ((round = 1; round <= option[rounds]; round++)); do
  printf '\rround %d of %d ' "$round" "${option[rounds]}" >&2
  # Another one first each time: what is left of a program's run meets another.
  for ((turn = 0; turn < ${#programs[@]}; turn++)); do
    take_turn "${programs[(round + turn) % ${#programs[@]}]}"
  done
done
printf '\r%20s\r' '' >&2

held=0
"$bin/smbench-yardsticks" "$out" >"$out/table.txt" || held=$?
cat "$out/table.txt"
printf '\nraw results: %s\n' "${out#"$PWD"/}"
exit "$held"
