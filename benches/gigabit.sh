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

option=([rounds]=5 [seconds]=5)
options "$@"
[ "${option[seconds]}" -ge 4 ] || die "--seconds: 4 or more, for there must be something to count" 2
need_link
need cargo "cargo (or from rustup.rs)"
need smbd samba
need pdbedit samba-common-bin
need iperf3 iperf3
build
shaped_link "${gigabit[@]}"

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
  printf 'link     veth, %s in both directions\n\n' "${gigabit[*]}"
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
