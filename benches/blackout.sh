#!/usr/bin/env bash
# How long clients are cut off, as smbench says it and as tshark sees it. For 2.000 s the side of an embedded server refuses
# everything (an element of an nftables set with this time), and its connections are reset. Each client has an address of
# its own. Its gap is the time from its last answer to a READ to the first one after the cut.
#
#   benches/blackout.sh [--rounds N] [--seconds N] [--clients N] [--alone N]      (as root: it makes namespaces)
#
# One smbench has --clients clients. Its document has a histogram of their blackouts, so quantiles are compared. --alone
# more have a process each, whose blackout is compared with its own gap. Prints a line for each round. Exits 1 unless 99 %
# of the blackouts are within 2.00 to 2.05 s, and what is compared is within 10 ms. Raw results stay in benches/results.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

option=([rounds]=5 [seconds]=10 [clients]=50 [alone]=8)
options "$@"
[ "${option[seconds]}" -ge 8 ] || die "--seconds: 8 or more, for clients must come back in the window" 2
need_link
need cargo "cargo (or from rustup.rs)"
need jq jq
need smbd samba
need nft nftables
need tshark tshark
build
shaped_link pfifo
# All addresses of the network for benchmarks (RFC 2544) are of the load.
ip -n "$load_netns" route add local 198.18.0.0/15 dev lo
ip -n "$serve_netns" route add 198.18.0.0/15 via "$load_address"
ip netns exec "$serve_netns" nft 'table inet smbench {
  set refused { type inet_service; flags timeout; }
  chain arriving { type filter hook input priority 0; tcp dport @refused reject with tcp reset; }
}'

address() { printf '198.%d.%d.%d' "$1" $(($2 / 256)) $(($2 % 256)); } # NETWORK CLIENT

# smb DOCUMENT ADDRESSES CLIENTS WINDOW EVENT: sets `command` to this run.
smb() {
  command=(ip netns exec "$load_netns" "$bin/smbench" run "${server_url[embedded]}" --profile read-4k --reconnect 60s
    --quiet --out "$scratch/out" --json "$1" --source-ip "$2" --clients "$3" --duration "$4" --event "$5")
}

# start_alone RAW: starts the clients that have a process each, and waits until all are in their window.
start_alone() {
  local n
  rm -f "$scratch"/begun-*
  for ((n = 1; n <= option[alone]; n++)); do
    smb "$1-alone-$n.json" "$(address 19 "$n")" 1 10m "at 0s: exec touch $scratch/begun-$n"
    "${command[@]}" >/dev/null 2>"$scratch/alone-$n.err" &
    server_pid[alone$n]=$!
  done
  limited sh -c 'until [ "$(find "$0" -name "begun-*" | wc -l)" = "$1" ]; do sleep 0.1; done' "$scratch" "${option[alone]}" ||
    die "clients did not begin: $(cat "$scratch"/alone-*.err)"
}

# run_together RAW: the others, whose event cuts all.
run_together() {
  local code=0 clients=${option[clients]}
  smb "$1.json" "$(address 18 1)-$(address 18 "$clients")" "$clients" "${option[seconds]}s" \
    "at 2s: exec ip netns exec $serve_netns sh $scratch/cut"
  limited "${command[@]}" >"$scratch/said" 2>&1 || code=$?
  [[ $code =~ ^[04]$ && -s $1.json ]] || die "smbench failed with $code: $(tail -n 3 "$scratch/said")"
}

# gaps: the longest time in ms between two answers, of each address.
gaps() {
  tshark -r "$scratch/packets" -T fields -e ip.dst -e frame.time_epoch 2>/dev/null |
    awk '$1 in last && $2 - last[$1] > gap[$1] { gap[$1] = $2 - last[$1] } { last[$1] = $2 }
      END { for (ip in gap) printf "%s %.3f\n", ip, gap[ip] * 1000 }' | sort -k 2n
}

# compared RAW: how many clients came back, how many have a gap, and quantiles of blackouts and gaps in ms. Then their largest
# difference, the largest one of a client alone, and 1 if all is as it must be.
compared() {
  local n
  jq -r '.load_points[0].events[0] | "together \(.clients - .clients_away)", (.blackout_ns // empty |
    "\(.min / 1e6) 0", "\(.p50 / 1e6) .5", "\(.p99 / 1e6) .99", "\(.max / 1e6) 1")' "$1.json" >"$scratch/blackouts"
  for ((n = 1; n <= option[alone]; n++)); do
    jq -r --arg ip "$(address 19 "$n")" '"alone \($ip) \(.load_points[0].events[0].blackout_ns.max / 1e6)"' "$1-alone-$n.json"
  done >>"$scratch/blackouts"
  awk '
    function apart(a, b) { return a > b ? a - b : b - a }
    NR == FNR { if ($1 ~ /^198\.18\./) gap[++n] = $2; else of[$1] = $2; next }
    $1 == "alone" { far = apart($3, of[$2]); if (far > alone) alone = far; next }
    $1 == "together" { back = $2; printf "%d %d", back, n; next }
    {
      at = int($2 * n); if (at < $2 * n || at < 1) at++
      far = apart($1, gap[at]); if (far > most) most = far
      if ($2 == 0) least = $1; else if ($2 == .99) p99 = $1
      printf " %.1f/%.1f", $1, gap[at]
    }
    END { printf " %.1f %.1f %d\n", most, alone, (back == n && least >= 1995 && p99 <= 2050 && most <= 10 && alone <= 10) }' "$1-gaps.txt" "$scratch/blackouts"
}
print() { printf '%5s %5s %5s %15s %15s %15s %15s %6s %6s  %s\n' "$@" | tee -a "$out/table.txt"; }

results blackout
facts | tee "$out/facts.txt"
serve embedded ip netns exec "$serve_netns" "$bin/smbench" lab embedded --listen "$serve_address"
export SMBENCH_PASSWORD=${server_password[embedded]}
port=${server_url[embedded]##*:} port=${port%%/*}
# The server's connections would otherwise stay open.
echo "nft add element inet smbench refused '{ $port timeout 2s }' && { ss -K 'sport = :$port' >/dev/null 2>&1; true; }" >"$scratch/cut"
# Answers to READs.
answers="tcp src port $port and tcp[((tcp[12] & 0xf0) >> 2) + 4 : 4] = 0xfe534d42"
answers+=" and tcp[((tcp[12] & 0xf0) >> 2) + 16 : 2] = 0x0800"
print round back seen 'min: ours/wire' p50 p99 max apart alone ''
for ((round = 1; round <= option[rounds]; round++)); do
  raw=$out/round-$(printf %02d "$round")
  start_alone "$raw"
  capture "$scratch/packets" "$answers" load0
  run_together "$raw"
  stop_capture
  for ((n = 1; n <= option[alone]; n++)); do stop_server "alone$n"; done
  scrub "$raw"*.json
  gaps >"$raw-gaps.txt"
  read -r -a cells <<<"$(compared "$raw")"
  if [ "${cells[8]-}" = 1 ]; then verdict=holds; else verdict='falls short'; fi
  [ "$uncaptured" = 0 ] || verdict+=", the capture lacks $uncaptured packets"
  print "$round" "${cells[@]:0:8}" "$verdict"
done
printf '\nraw results: %s\n' "${out#"$PWD"/}"
! grep -q 'falls short' "$out/table.txt"
