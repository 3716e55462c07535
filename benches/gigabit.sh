#!/usr/bin/env bash
# What smbench gets through 1 Gbit/s from one box, and what it costs: a veth
# pair between two network namespaces, shaped in both directions (tc tbf), a
# scratch Samba and then the embedded server behind it, iperf3 as the yardstick
# on the same link, and then sequential 64 KiB reads and the file-server profile
# with 1 to 64 clients on one thread.
#
#   benches/gigabit.sh [--rounds N] [--seconds N]       (as root: it makes namespaces)
#
# Prints tables of medians over rounds, shares being those of iperf3 just before,
# and whether the bars hold; exits 1 when one does not with either server. Goodput is application data; link rates are bytes of Ethernet frames as
# the shapers count them. Raw results stay in benches/results.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

readonly clients=1,2,4,8,16,32,64
# TEST-NET-1 (RFC 5737): these exist inside the namespaces only.
readonly load_address=192.0.2.1 serve_address=192.0.2.2
# A burst of 256 KiB takes the largest packet that is handed over at once (64
# KiB) and 2 ms of the rate; 5 ms of queue is what a small switch has.
readonly shaper=(tbf rate 1gbit burst 256kb latency 5ms)

option=([rounds]=5 [seconds]=5)
options "$@"
[ "${option[seconds]}" -ge 4 ] || die "--seconds: 4 or more, for there must be something to count" 2
[ "$(id -u)" -eq 0 ] || die "only root can make network namespaces: sudo $0"
need cargo "cargo (or from rustup.rs)"
need smbd samba
need pdbedit samba-common-bin
need iperf3 iperf3
need ip iproute2
need tc iproute2
build

load_netns=smbench-load-$$ serve_netns=smbench-serve-$$
namespaces=("$load_netns" "$serve_netns")

# end NETNS DEVICE ADDRESS: one end of the link.
end() {
  ip -n "$1" link set lo up
  ip -n "$1" address add "$3/24" dev "$2"
  ip -n "$1" link set "$2" up
  tc -n "$1" qdisc replace dev "$2" root "${shaper[@]}"
}

for name in "${namespaces[@]}"; do ip netns add "$name"; done
ip link add load0 netns "$load_netns" type veth peer name serve0 netns "$serve_netns"
end "$load_netns" load0 "$load_address"
end "$serve_netns" serve0 "$serve_address"

# on_link SERVER FILE WHAT...: smbench-gigabit in the load's namespace; appends what it found to FILE.
on_link() {
  local server=$1 file=$2
  shift 2
  measure "$server" ip netns exec "$load_netns" "$bin/smbench-gigabit" "$@"
  cat "$scratch/said" >>"$file"
}

results gigabit
{
  facts
  printf 'link     veth, %s in both directions\n\n' "${shaper[*]}"
} | tee "$out/facts.txt"
for ((round = 1; round <= option[rounds]; round++)); do
  # Another one first each time.
  servers=(samba embedded)
  for ((turn = 0; turn < 2; turn++)); do
    server=${servers[(round + turn) % 2]}
    raw=$out/round-$(printf %02d "$round")-$server
    printf '\rround %d of %d, %-9s' "$round" "${option[rounds]}" "$server" >&2
    serve "$server" ip netns exec "$serve_netns" "$bin/smbench" lab "$server" --listen "$serve_address"
    on_link "$server" "$raw-iperf3.jsonl" iperf3 "$serve_netns" "$serve_address" "${option[seconds]}"
    for profile in "$here/gigabit/sequential-64k.toml" file-server; do
      on_link "$server" "$raw.jsonl" load "$serve_netns" "${server_url[$server]}" "$profile" "$clients" \
        "${option[seconds]}" "${server_pid[$server]}"
    done
    stop_server "$server"
  done
done
printf '\r%30s\r' '' >&2

held=0
"$bin/smbench-gigabit" table "$out" >"$out/table.txt" || held=$?
cat "$out/table.txt"
printf '\nraw results: %s\n' "${out#"$PWD"/}"
exit "$held"
