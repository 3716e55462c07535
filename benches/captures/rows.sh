# shellcheck shell=bash source=../lab.sh
# The rows of captures.sh. Sourced by it, not run.

# say FORMAT CELL...: a line of the tables.
say() {
  # shellcheck disable=SC2059 # The formats are those below.
  printf "$@" | tee -a "$out/table.txt"
}

# name_of FILE
name_of() { basename "$1" | sed 's/\.pcap.*//'; }

# smb DOCUMENT ARGUMENT...: runs smbench. A load point that is not valid has a document, too.
smb() {
  local document=$1 code=0
  shift
  SMBENCH_PASSWORD=${server_password[samba]} limited "$bin/smbench" run "$@" --target "${server_url[samba]}" --quiet \
    --out "$scratch/out" --json "$document" >"$scratch/said" 2>&1 || code=$?
  [[ $code =~ ^[04]$ && -s $document ]] || return 1
  scrub "$document"
}

# imported ARGUMENT...
imported() { "$bin/smbench" import pcap "$@" >"$scratch/said" 2>&1 || die "no import: $(tail -n 3 "$scratch/said")"; }

# window DOCUMENT: what leaves only the load in an import.
window() { jq -r '.load_points[0] | "--from", .window_opened, "--for", "\(.window_s)s"' "$1"; }

# other COMMAND...: another client. Some tests of smbtorture fail here. What they asked and got is all that counts.
other() { timeout --foreground --kill-after=10 300 "$@" >"$scratch/said" 2>&1 || true; }

# record FILE COMMAND...: captures what the command and the server say to each other.
record() {
  local file=$1
  shift
  : >"$file.said"
  dumpcap -q -i lo -f "tcp port $torture_port" -s 0 -B 256 -w "$file" 2>>"$file.said" &
  server_pid[dumpcap]=$!
  until grep -q '^File:' "$file.said"; do
    kill -0 "${server_pid[dumpcap]}" 2>/dev/null || die "dumpcap failed: $(tail -n 1 "$file.said")"
    sleep 0.1
  done
  "$@" || die "$1 failed: $(tail -n 3 "$scratch/said")"
  # Packets pass through the kernel's buffer before they reach the file.
  sleep 1
  stop_server dumpcap
}

# closure CASE: a run and its replay. Of the capture of the replay the load counts, not its log-ons and its files.
closure() {
  local name=$1 raw=$out/closure-$1 keys=(--nt-password-file "$scratch/password") how load cells
  read -r -a how <<<"${sessions[$name]}"
  record "$scratch/$name.pcap" smb "$raw-run.json" -p netbench-like --clients 4 --loops 1 "${how[@]}"
  imported "$scratch/$name.pcap" "${keys[@]}" --out "$scratch/$name" --json "$raw-recorded.json"
  record "$scratch/$name-again.pcap" smb "$raw-replay.json" -p "trace:$scratch/$name" --clients 1 --loops 1 "${how[@]}"
  mapfile -t load < <(window "$raw-replay.json")
  imported "$scratch/$name-again.pcap" "${keys[@]}" "${load[@]}" --json "$raw-replayed.json"
  jq -rn --arg name "$name" --slurpfile run "$raw-replay.json" --slurpfile recorded "$raw-recorded.json" \
    --slurpfile replayed "$raw-replayed.json" -f "$here/captures/closure.jq" >"$scratch/row"
  IFS=$'\t' read -r -a cells <"$scratch/row"
  say '%-12s %9s  %-16s %-22s %-10s %-16s %s\n' "${cells[@]}"
}

# counts FILE: what tshark counts beside what an import counts. Both are kept. tshark looks at the ports that were connected
# to, or at all of a capture that begins later.
counts() {
  local name ours theirs decode apart
  name=$(name_of "$1") theirs=$out/counts-$name-tshark.tsv ours=$out/counts-$name-smbench.tsv
  tshark -r "$1" -Y 'tcp.flags.syn == 1 && tcp.flags.ack == 0' -T fields -e tcp.dstport >"$scratch/ports" 2>"$scratch/said" ||
    die "tshark: $(tail -n 1 "$scratch/said")"
  [ -s "$scratch/ports" ] || tshark -r "$1" -Y tcp -T fields -e tcp.srcport >"$scratch/ports" 2>"$scratch/said"
  mapfile -t decode < <(sort -u "$scratch/ports" | sed 's/.*/-d\ntcp.port==&,nbss/')
  tshark -r "$1" "${decode[@]}" -Y 'tcp && (smb || smb2)' -T fields -e smb2.cmd -e smb2.flags.response -e smb2.nt_status \
    -e smb.cmd -e smb.wct -e smb.flags.response -e smb.nt_status 2>"$scratch/said" |
    awk -f "$here/captures/tshark.awk" "$scratch/values" - | sort >"$theirs"
  imported "$1" --json "$scratch/summary.json"
  jq -r --rawfile values "$scratch/values" -f "$here/captures/counts.jq" "$scratch/summary.json" | sort >"$ours"
  apart=$(diff "$theirs" "$ours" | grep '^[<>]' | tr '\t\n' ' ;' || true)
  # shellcheck disable=SC2046 # Two numbers.
  say '%-44s %9s %9s  %s\n' "$name" $(awk '{ n[$2 == "request"] += $3 } END { print n[1] + 0, n[0] + 0 }' "$theirs") \
    "$([ -z "$apart" ] && echo holds || echo "falls short: $apart")"
}

# statuses FILE: replays a capture with the clients that it has, and names each status that is not as recorded.
statuses() {
  local name cells
  name=$(name_of "$1")
  imported "$1" --out "$scratch/trace-$name"
  if smb "$out/statuses-$name.json" -p "trace:$scratch/trace-$name" --clients 1 --loops 1; then
    jq -r --arg name "$name" '.plan.workload.replay.lines as $lines | .load_points[0] | [$name, $lines, .replayed.operations,
      .replayed.differing, ([.differences[]? | "\(.op): \(.recorded) -> \(.seen), \(.count)"] | join("; "))] | @tsv' \
      "$out/statuses-$name.json" >"$scratch/row"
    IFS=$'\t' read -r -a cells <"$scratch/row"
    operations=$((operations + cells[2])) differing=$((differing + cells[3]))
    say '%-44s %9s %10s %8s  %s\n' "${cells[@]:0:4}" "${cells[4]-}"
  else
    grep -q 'no operation that can be replayed' "$scratch/said" || die "no replay: $(tail -n 3 "$scratch/said")"
    say '%-44s %9s\n' "$name" 'nothing to replay'
  fi
}

# cost WHAT OPTION... FILE...: what an import costs on one CPU, with its files in the page cache.
cost() {
  local what=$1 bytes round cells
  shift
  bytes=$(cat "${@/#--out=*//dev/null}" | wc -c)
  for ((round = 0; round < rounds; round++)); do
    rm -rf "$scratch/imported"
    taskset -c "$(($(nproc) - 1))" /usr/bin/time -f '%e %M' -o "$scratch/time-$round" "$bin/smbench" import pcap "$@" \
      >"$scratch/said" 2>&1 || die "no import: $(tail -n 3 "$scratch/said")"
  done
  sort -n "$scratch"/time-* | awk -v bytes="$bytes" -v rounds="$rounds" -v OFS='\t' '
    { seconds[NR] = $1; if ($2 * 1.024e-3 > memory) memory = $2 * 1.024e-3 }
    END { rate = bytes / 1e6 / seconds[int((rounds + 1) / 2)]
      print bytes / 1e9, rate, memory, (rate >= 150 && memory < 200 ? "holds" : "falls short") }' >"$scratch/row"
  IFS=$'\t' read -r -a cells <"$scratch/row"
  say '%-44s %8.2f %8.0f %9.0f  %s\n' "$what" "${cells[@]}"
}

# punctual: a load at a fixed rate, which leaves the server time, and its replay at the recorded times.
punctual() {
  local load cells
  record "$scratch/paced.pcap" smb "$out/timing-run.json" -p file-server --file-size 1MiB --clients 4 --rate 500 \
    --duration "${option[seconds]}s"
  mapfile -t load < <(window "$out/timing-run.json")
  imported "$scratch/paced.pcap" "${load[@]}" --out "$scratch/paced"
  smb "$out/timing-replay.json" -p "trace:$scratch/paced" --clients 1 --loops 1 --timing recorded ||
    die "no replay: $(tail -n 3 "$scratch/said")"
  jq -r '.load_points[0] | .generator_limited as $limited | .offered | [.operations, .late,
    (1e4 * (1 - .late / .operations) | round / 100), (if .late * 100 <= .operations then "holds"
      elif $limited then "falls short: the generator was the limit" else "falls short" end)] | @tsv' \
    "$out/timing-replay.json" >"$scratch/row"
  IFS=$'\t' read -r -a cells <"$scratch/row"
  say '%-44s %9s %9s %9s  %s\n' 'file-server, 500 operations per second' "${cells[@]}"
}
