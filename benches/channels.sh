#!/usr/bin/env bash
# What it costs clients with two connections to lose the path of one. Two veth pairs lead to another network namespace, where
# a scratch Samba is behind both. Each client has a connection over each pair. In the middle of the window the second pair goes
# down, without a reset, and later up again.
#
#   benches/channels.sh [--rounds N] [--seconds N] [--clients N] [--rate N]       (as root: it makes namespaces)
#
# Prints a line for each round: what smbench says, and what tshark sees of the answers on both paths. Exits 1 if a
# client is lost, or if 95 % of the answers of before are not back within a second. During the cut, only the first path may
# have answers. Raw results stay in benches/results.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

# TEST-NET-2 (RFC 5737), for the second pair.
readonly second_load=198.51.100.1 second_serve=198.51.100.2
# Seconds before the cut whose answers are compared.
readonly before=2

option=([rounds]=5 [seconds]=15 [clients]=8 [rate]=2000)
options "$@"
[ "${option[seconds]}" -ge 12 ] || die "--seconds: 12 or more, a third of it for the load before the cut" 2
need_link
need cargo "cargo (or from rustup.rs)"
need jq jq
need smbd samba
need pdbedit samba-common-bin
need tshark tshark
build
shaped_link pfifo
veth_pair 1 "$second_load" "$second_serve" pfifo
# The server has one address. What comes from the second address of the load takes the second pair there. Answers take the
# pair of the address that they go to.
ip -n "$load_netns" rule add from "$second_load" table 100
ip -n "$load_netns" route add "$serve_address" via "$second_serve" dev load1 table 100

# second_pair UP_OR_DOWN: the command that does this to it, and writes down when that was done.
second_pair() {
  printf 'ip -n %s link set serve1 %s && date +%%s.%%N >%s/%s' "$serve_netns" "$1" "$scratch" "$1"
}

# run_once DOCUMENT: a run with the cut after a third of the window, and its end after two thirds.
run_once() {
  local document=$1 third=$((option[seconds] / 3)) code=0
  SMBENCH_PASSWORD=${server_password[samba]} limited ip netns exec "$load_netns" "$bin/smbench" run "${server_url[samba]}" \
    --profile file-server --verify --clients "${option[clients]}" --rate "${option[rate]}" --allow-missed-rate \
    --connections-per-session 2 --source-ip "$load_address,$second_load" --reconnect 60s --duration "${option[seconds]}s" \
    --event "at ${third}s: exec $(second_pair down)" --event "at $((2 * third))s: exec $(second_pair up)" \
    --quiet --out "$scratch/out" --json "$document" >"$scratch/said" 2>&1 || code=$?
  [[ $code =~ ^[04]$ && -s $document ]] || die "smbench failed with $code: $(tail -n 3 "$scratch/said")"
  scrub "$document"
}

# said_by_smbench DOCUMENT: clients lost, connections lost and back, blackouts in ms, requests repeated, operations failed.
said_by_smbench() {
  jq -r '.load_points[0] as $p | $p.events[0] as $cut | ([$p.links[]? | .kind] | group_by(.) |
      map({key: .[0], value: length}) | from_entries) as $links | def ms: if . then . / 1e6 | round else "-" end;
    [([($p.dropouts | length), $cut.clients_away, ($links["link-lost"] // 0)] | max), ($links["channel-lost"] // 0),
      ($links["channel-back"] // 0), ($cut.blackout_ns.p50? | ms), ($cut.blackout_ns.max? | ms), $cut.requests_repeated,
      $cut.operations_failed] | join(" ")' "$1"
}

# seen_by_tshark: ms from the cut until answers are as before, and answers on both paths during the cut. The last figure is ms
# from its end to the next answer on the second path. An answer is the begin of a message; a client has one request in flight.
seen_by_tshark() {
  tshark -r "$scratch/packets" -T fields -e frame.time_epoch -e ip.dst 2>/dev/null | sort -n |
    awk -v down="$(cat "$scratch/down")" -v up="$(cat "$scratch/up")" -v first="$load_address" -v before="$before" '
      { at = $1 - down }
      at < 0 { if (at >= -before) usual += 0.1 / before; next }
      $1 < up {
        if (at - last > silence) { silence = at - last; until = at }
        last = at
        tenth[int(at * 10)]++
        if ($2 == first) on_first++; else on_second++
        next
      }
      $2 != first && !again { again = $1 - up }
      END {
        for (n = int(until * 10); n < (up - down) * 10 && tenth[n] < 0.95 * usual; n++);
        printf "%d %d %d %s\n", (n + 1) * 100, on_first, on_second, again ? int(again * 1000) : "-"
      }'
}

# print CELL...: a line of the table.
print() { printf '%5s %5s %9s %5s %8s %8s %9s %7s %9s %9s %9s %9s  %s\n' "$@" | tee -a "$out/table.txt"; }

results channels
{
  facts
  printf 'load     %d clients, %d operations per second, 2 connections each\n\n' "${option[clients]}" "${option[rate]}"
} | tee "$out/facts.txt"
serve samba ip netns exec "$serve_netns" "$bin/smbench" lab samba --listen "$serve_address" \
  --option 'server multi channel support = yes'
port=${server_url[samba]##*:} port=${port%%/*}
# Messages of SMB2 from the server.
answers="tcp src port $port and tcp[((tcp[12] & 0xf0) >> 2) + 4 : 4] = 0xfe534d42"
print round lost 'conn lost' back 'p50 ms' 'max ms' repeated failed 'as before' 'path 1' 'path 2' 'again ms' ''
for ((round = 1; round <= option[rounds]; round++)); do
  document=$out/round-$(printf %02d "$round").json
  capture "$scratch/packets" "$answers" load0 load1
  run_once "$document"
  stop_capture
  read -r lost conn_lost back p50 max repeated failed <<<"$(said_by_smbench "$document")"
  read -r recovered path1 path2 again <<<"$(seen_by_tshark)"
  verdict=holds
  ((lost == 0 && conn_lost == option[clients] && recovered <= 1000 && path1 > 0 && path2 == 0)) || verdict='falls short'
  [ "$uncaptured" = 0 ] || verdict+=", the capture lacks $uncaptured packets"
  print "$round" "$lost" "$conn_lost" "$back" "$p50" "$max" "$repeated" "$failed" "$recovered" "$path1" "$path2" "$again" "$verdict"
done
printf '\nraw results: %s\n' "${out#"$PWD"/}"
! grep -q 'falls short' "$out/table.txt"
