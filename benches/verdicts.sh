#!/usr/bin/env bash
# Shows by experiment what smbench says about itself: client-limited, shared CPUs, or neither. Each case takes CPU time from
# the generator, from the server, or from both, in a known way.
#
#   benches/verdicts.sh [--seconds N]       (as root: it makes namespaces; two CPUs or more)
#
# Prints a table of what was done, what was measured and what was said. Exits 1 when a case is not judged as it must be.
# The results stay in benches/results.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

option=([seconds]=5)
options "$@"
need_link
need cargo "cargo (or from rustup.rs)"
need smbd samba
need pdbedit samba-common-bin
need jq jq
need taskset util-linux
build
results verdicts
facts | tee "$out/facts.txt"

# hog NAME CPUS: keeps a CPU of those busy until the case is over.
hog() {
  taskset --cpu-list "$2" timeout 120 sh -c 'while :; do :; done' &
  server_pid[$1]=$!
}

failed=0
printf '%-22s %9s %9s %9s %9s %9s  %s\n' case Mbit/s 'ran %' 'waited %' 'server %' 'all CPUs' said | tee "$out/table.txt"

# judge CASE EXPECTED SERVER COMMAND...: runs smbench by COMMAND, with its options last, and compares the verdict.
judge() {
  local name=$1 expected=$2 server=$3 document=$out/${1// /-}.json said
  shift 3
  measure "$server" "$@" --target "${server_url[$server]}" --duration "${option[seconds]}s" --quiet --out "$scratch/out" --json "$document"
  scrub "$document"
  said=$(jq -r '.load_points[0] | if .generator_limited then "client-limited" elif .generator.shared_cpus then "shared CPUs" else "neither" end' "$document")
  jq -r --arg name "$name" --arg said "$said" '.load_points[0] as $p |
    ($p.generator.workers | max_by(.cpu_share + .waiting_share)) as $w |
    [$name, ($p.throughput_mbps | round), ($w.cpu_share * 100 | round), ($w.waiting_share * 100 | round),
     (($p.server_cpu.percent // null) | if . then round else "-" end), ($p.generator.machine_busy_share * 100 | round),
     $said + (if ($p.latency_noise_ns // {}) == {} then "" else "; latency noise from " + ($p.latency_noise_ns | keys[0]) end)] | @tsv' "$document" |
    while IFS=$'\t' read -r -a cell; do
      printf '%-22s %9s %9s %9s %9s %9s  %s\n' "${cell[@]}"
    done | tee -a "$out/table.txt"
  [ "$said" = "$expected" ] || { printf '  expected: %s\n' "$expected" | tee -a "$out/table.txt"; failed=1; }
}

smb() { local cpus=$1; shift; echo taskset --cpu-list "$cpus" "$bin/smbench" "$@"; }

# The server has CPU 1, the generator CPU 0.
serve quick taskset --cpu-list 1 "$bin/smbench" lab embedded
# smb-rs needs more CPU for an encrypted read than that server.
judge 'saturated worker' client-limited quick $(smb 0 run --profile read-4k --driver smb-rs --verify --encrypt required --threads 1 --clients 16)
stop_server quick
serve apart taskset --cpu-list 1 "$bin/smbench" lab samba
judge 'both have a CPU' neither apart $(smb 0 run --profile read-4k --clients 16)
hog one 0; hog two 0
judge 'starved generator' client-limited apart $(smb 0 run --profile read-4k --clients 16)
stop_server one; stop_server two
hog one 1; hog two 1
judge 'starved server' neither apart $(smb 0 run --profile read-4k --clients 16)
stop_server one; stop_server two
stop_server apart

# All have the same two CPUs.
serve shared taskset --cpu-list 0,1 "$bin/smbench" lab samba
judge 'server on the same CPUs' 'shared CPUs' shared $(smb 0,1 run --profile read-4k --clients 16)
hog one 0,1; hog two 0,1
judge 'busy third process' client-limited shared $(smb 0,1 run --profile read-4k --clients 16)
stop_server one; stop_server two
stop_server shared

# A server elsewhere, behind a link of 100 Mbit/s.
shaped_link tbf rate 100mbit burst 256kb latency 50ms
serve remote ip netns exec "$serve_netns" "$bin/smbench" lab samba --listen "$serve_address"
judge 'slow remote server' neither remote ip netns exec "$load_netns" $(smb 0,1 run --profile file-server --clients 16)

printf '\nraw results: %s\n' "${out#"$PWD"/}"
exit "$failed"
