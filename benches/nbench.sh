#!/usr/bin/env bash
# The same loadfile, replayed by smbench and by Samba's smbtorture (bench.nbench)
# on the same scratch Samba, in turns: MB/s and CPU of the client per operation.
#
#   benches/nbench.sh [--rounds N] [--seconds N]
#
# Prints a table and whether the bars hold; exits 1 when one does not: at least
# smbtorture's MB/s, at most half its CPU per operation. Raw results stay in
# benches/results.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

# Debian's dbench installs it. It is of the GPL, so not part of this project.
readonly loadfile=/usr/share/dbench/client.txt
readonly points=(1 4 16 60)

option=([rounds]=3 [seconds]=10)
options "$@"
need cargo "cargo (or from rustup.rs)"
need jq jq
need smbd samba
need pdbedit samba-common-bin
need smbtorture samba-testsuite
[ -r "$loadfile" ] || die "$loadfile not found; install it with: apt-get install dbench"
build

# raw PROGRAM: the file for what it has to say of this round.
raw() { printf '%s/round-%02d-%02d-%s.json' "$out" "$round" "$clients" "$1"; }

# Opens ask for batch oplocks, as smbtorture's do. What the two count is not the same part of the file: ours begins after all
# log-ons and a twentieth of the time, smbtorture's at its start, and a short run sees only the head, which moves most data.
smbench_replay() {
  measure samba "$bin/smbench" run --quiet --target "${server_url[samba]}" --profile "loadfile:$loadfile" \
    --clients "$clients" --sign off --oplock batch --duration "${option[seconds]}s" \
    --ramp-up "$((option[seconds] * 50))ms" --ramp-down 200ms \
    --out "$scratch/documents" --json "$scratch/document.json"
  # MB as smbtorture has them, 10^6 bytes. The document with its histograms is large.
  jq '.load_points[0] | {valid, mb_per_s: (.throughput_mbps / 8), ops_per_s,
      cpu_us_per_op: .client.cpu_us_per_op,
      cpu_user_us_per_op: (.client.cpu_user_s * 1e6 / ([.ops[].count] | add)),
      not_as_recorded: ([.differences[]?.count] | add // 0)}' "$scratch/document.json" >"$(raw smbench)"
}

# It speaks SMB1, with a process for each client, and asks for batch oplocks. Its
# CPU time has its log-ons and its warm-up in it, and so have its operations.
smbtorture_replay() {
  local log took
  log=$(raw smbtorture) log=${log%.json}.txt
  local TIMEFORMAT='%U %S'
  took=$({ time limited smbtorture "$torture_unc" bench.nbench --configfile "$scratch/smb.conf" \
    --smb-ports "$torture_port" --authentication-file "$scratch/login" --max-protocol NT1 \
    --option 'client min protocol=NT1' --loadfile "$loadfile" --num-progs "$clients" \
    --timelimit "${option[seconds]}" >"$log" 2>&1; } 2>&1) || die "smbtorture failed: $(tail -n 5 "$log")"
  # Lines: "<clients> <operations per client> <rate> MB/sec ...", and at the end "Throughput <rate> MB/sec".
  awk -v took="$took" -v clients="$clients" '
    BEGIN { split(took, cpu, " ") }
    $4 == "MB/sec" { operations = $2 * clients }
    $1 == "Throughput" { rate = $2 }
    END {
      if (!operations || !rate) exit 1
      printf "{\"mb_per_s\": %.3f, \"cpu_us_per_op\": %.3f, \"cpu_user_us_per_op\": %.3f}\n",
        rate, (cpu[1] + cpu[2]) * 1e6 / operations, cpu[1] * 1e6 / operations
    }' "$log" >"$(raw smbtorture)" || die "smbtorture counted nothing: $(tail -n 5 "$log")"
}

prepare_smbtorture() {
  [[ ${server_url[samba]} =~ ^smb://(.*)@(.*):([0-9]+)/(.*)$ ]] || die "no URL: ${server_url[samba]}"
  torture_unc=//${BASH_REMATCH[2]}/${BASH_REMATCH[4]} torture_port=${BASH_REMATCH[3]}
  (umask 077 && printf 'username = %s\npassword = %s\n' "${BASH_REMATCH[1]}" "${server_password[samba]}" \
    >"$scratch/login")
  : >"$scratch/smb.conf"
}

# median FIELD PROGRAM CLIENTS: over rounds.
median() {
  jq -s --arg field "$1" '[.[] | .[$field]] | sort | .[length / 2 | floor]' "$out"/round-*-"$(printf %02d "$3")-$2.json"
}

# ratio FIELD CLIENTS: smbench's to smbtorture's of the same round, the median over rounds.
ratio() {
  for ((round = 1; round <= option[rounds]; round++)); do
    clients=$2
    jq -n --arg field "$1" --slurpfile one "$(raw smbench)" --slurpfile other "$(raw smbtorture)" \
      '$one[0][$field] / $other[0][$field]'
  done | jq -s 'sort | .[length / 2 | floor]'
}

serve samba "$bin/smbench" lab samba --option 'server min protocol = NT1'
prepare_smbtorture
results nbench
facts | tee "$out/facts.txt"
printf 'file     %s, sha256 %s\n' "$loadfile" "$(sha256sum <"$loadfile" | cut -c 1-64)" | tee -a "$out/facts.txt"

for ((round = 1; round <= option[rounds]; round++)); do
  for clients in "${points[@]}"; do
    printf '\rround %d of %d, %2d clients ' "$round" "${option[rounds]}" "$clients" >&2
    # Another one first each time: what is left of a program's run meets another.
    if ((round % 2)); then
      smbench_replay
      smbtorture_replay
    else
      smbtorture_replay
      smbench_replay
    fi
  done
done
printf '\r%30s\r' '' >&2

held=0
# bar WHAT CLIENTS RATIO CONDITION: whether the ratio is as it must be.
bar() {
  if awk -v ratio="$3" "BEGIN { exit !(ratio $4) }"; then
    printf 'holds: %s at %s clients: %.2f times smbtorture'\''s\n' "$1" "$2" "$3"
  else
    printf 'falls short: %s at %s clients: %.2f times smbtorture'\''s, bar %s\n' "$1" "$2" "$3" "$4"
    held=1
  fi
}

{
  printf '\n%8s %12s %12s %7s %12s %12s %7s %9s\n' clients 'MB/s' 'smbtorture' ratio 'us CPU/op' smbtorture ratio different
  for clients in "${points[@]}"; do
    at=$clients
    printf '%8d %12.1f %12.1f %7.2f %12.1f %12.1f %7.2f %9d\n' "$at" \
      "$(median mb_per_s smbench "$at")" "$(median mb_per_s smbtorture "$at")" "$(ratio mb_per_s "$at")" \
      "$(median cpu_us_per_op smbench "$at")" "$(median cpu_us_per_op smbtorture "$at")" \
      "$(ratio cpu_us_per_op "$at")" "$(median not_as_recorded smbench "$at")"
  done
  printf '\n'
} | tee "$out/table.txt"
for clients in "${points[@]}"; do
  at=$clients
  bar 'MB/s' "$at" "$(ratio mb_per_s "$at")" '>= 1.0'
  bar 'client CPU per operation' "$at" "$(ratio cpu_us_per_op "$at")" '<= 0.5'
done > >(tee -a "$out/table.txt")
wait $! 2>/dev/null || true
printf '\nraw results: %s\n' "${out#"$PWD"/}"
exit "$held"
