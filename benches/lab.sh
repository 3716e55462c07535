# shellcheck shell=bash
# What the scripts of this folder have in common: options, programs, lab servers,
# links, captures, smbtorture, the facts that head a result. Sourced, not run.
# What it sets is used by those that source it:
# shellcheck disable=SC2034
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../target}
bin=$target/release
PATH=$PATH:/usr/sbin:/sbin
# Numbers have points in them.
export LC_ALL=C

# What a run says of itself is kept here until it ends.
scratch=$(mktemp -d)
namespaces=()
declare -A server_url server_password server_pid

# die TEXT [EXIT CODE]
die() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit "${2:-3}"
}

# need PROGRAM PACKAGE
need() { command -v "$1" >/dev/null || die "$1 not found; install it with: apt-get install $2"; }

# Takes --NAME NUMBER for each NAME in `option`, which has the defaults.
declare -A option
options() {
  local usage name
  usage="usage: ${0##*/}$(for name in "${!option[@]}"; do printf ' [--%s N]' "$name"; done)"
  while [ $# -gt 0 ]; do
    name=${1#--}
    [[ $1 == --?* && -v option[$name] && ${2-} =~ ^[1-9][0-9]{0,5}$ ]] || die "$usage" 2
    option[$name]=$2
    shift 2
  done
}

# limited COMMAND...: ends it when it takes far longer than its measurements,
# of which there are at most ten.
limited() { timeout --foreground --kill-after=10 $((option[seconds] * 20 + 120)) "$@"; }

# serve NAME COMMAND...: starts a lab server and waits until it says where it is.
serve() {
  local name=$1 said=$scratch/$1.out tries
  shift
  # What an earlier one said is not this one's.
  rm -f "$said"
  : >"$said"
  "$@" </dev/null >>"$said" 2>"$said.err" &
  server_pid[$name]=$!
  for ((tries = 0; tries < 300; tries++)); do
    if [ "$(wc -l <"$said")" -ge 2 ]; then
      server_url[$name]=$(sed -n 1p "$said")
      server_password[$name]=$(sed -n 's/^SMBENCH_PASSWORD=//p' "$said")
      return
    fi
    kill -0 "${server_pid[$name]}" 2>/dev/null || break
    sleep 0.1
  done
  die "the $name server did not start: $(cat "$said.err")"
}

# stop_server NAME
stop_server() {
  local pid=${server_pid[$1]}
  unset "server_pid[$1]"
  kill "$pid" 2>/dev/null || return 0
  wait "$pid" 2>/dev/null || true
}

# Undoes whatever a script has set up; devices go with their namespaces.
clean_up() {
  local name
  for name in "${!server_pid[@]}"; do stop_server "$name"; done
  for name in "${namespaces[@]}"; do ip netns delete "$name" 2>/dev/null || true; done
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# TEST-NET-1 (RFC 5737): these exist inside the namespaces only.
readonly load_address=192.0.2.1 serve_address=192.0.2.2
# A burst of 256 KiB takes the largest packet that is handed over at once (64
# KiB) and 2 ms of the rate; 5 ms of queue is what a small switch has.
readonly gigabit=(tbf rate 1gbit burst 256kb latency 5ms)

# shaped_link SHAPER...: a veth pair between two network namespaces, `load_netns` and `serve_netns`, with this queueing
# discipline (tc) at both ends.
shaped_link() {
  local netns
  load_netns=smbench-load-$$ serve_netns=smbench-serve-$$
  namespaces=("$load_netns" "$serve_netns")
  for netns in "${namespaces[@]}"; do
    ip netns add "$netns"
    ip -n "$netns" link set lo up
  done
  veth_pair 0 "$load_address" "$serve_address" "$@"
}

# veth_pair NUMBER LOAD_ADDRESS SERVE_ADDRESS SHAPER...: a pair between the two namespaces, loadNUMBER and serveNUMBER.
veth_pair() {
  local ends=("$load_netns load$1 $2" "$serve_netns serve$1 $3") end netns device address
  ip link add "load$1" netns "$load_netns" type veth peer name "serve$1" netns "$serve_netns"
  shift 3
  for end in "${ends[@]}"; do
    read -r netns device address <<<"$end"
    ip -n "$netns" address add "$address/24" dev "$device"
    ip -n "$netns" link set "$device" up
    tc -n "$netns" qdisc replace dev "$device" root "$@"
  done
}

# capture FILE FILTER INTERFACE...: writes the heads of these packets of the load's side, until `stop_capture`.
capture() {
  local file=$1 filter=$2 said=$scratch/capture.err tries
  shift 2
  : >"$said"
  ip netns exec "$load_netns" dumpcap -q -s 128 -B 64 -f "$filter" "${@/#/--interface=}" -w "$file" 2>"$said" &
  server_pid[capture]=$!
  for ((tries = 0; tries < 100; tries++)); do
    # It names the file once it captures.
    grep -q '^File: ' "$said" && return
    sleep 0.1
  done
  die "dumpcap does not capture: $(cat "$said")"
}

# Ends it, and sets `uncaptured` to the number of packets that the file lacks.
stop_capture() {
  # Packets pass through a buffer of the kernel.
  sleep 0.5
  stop_server capture
  uncaptured=$(sed -n "s|^Packets received/dropped .*': [0-9]*/\([0-9]*\) .*|\1|p" "$scratch/capture.err" |
    awk '{ lost += $1 } END { print lost + 0 }')
}

# need_link: what a link between namespaces needs.
need_link() {
  [ "$(id -u)" -eq 0 ] || die "only root can make network namespaces: sudo $0"
  need ip iproute2
  need tc iproute2
}

# What goes before each measured command, such as taskset.
prefix=()

# measure SERVER COMMAND...: runs it with that server's password; what it says is shown only if it fails.
measure() {
  local server=$1 said=$scratch/said
  shift
  SMBENCH_PASSWORD=${server_password[$server]} limited "${prefix[@]}" "$@" >"$said" 2>&1 ||
    die "$(basename "$1") failed: $(tail -n 20 "$said")"
}

# Builds what is run; results of another build would be of other code.
build() { (cd "$here" && cargo build --release --locked --quiet -p smbench -p smbench-benches); }

# results WHAT: makes the folder for raw results and sets `out`.
results() {
  out=$here/results/$(date -u +%Y-%m-%d)-$1
  # An earlier run of the same day is kept.
  local first=$out n
  for ((n = 2; ; n++)); do
    mkdir -p "$(dirname "$out")"
    mkdir "$out" 2>/dev/null && return
    [ -d "$out" ] || die "cannot make $out"
    out=$first-$n
  done
}

# scrub FILE...: what is kept names no folder of this machine.
scrub() { sed -i "s|$scratch/||g; s|$(cd "$here/.." && pwd)/||g" "$@"; }

# The machine, on standard output.
facts() {
  local changed=""
  git -C "$here" diff --quiet HEAD -- 2>/dev/null || changed=", with changes"
  printf 'date     %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  printf 'machine  %s, %s cores, Linux %s\n' \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)"
  printf 'load     %s before the start\n' "$(cut -d ' ' -f 1-3 /proc/loadavg)"
  printf 'server   Samba %s\n' "$(smbd --version | sed 's/^Version //')"
  printf 'smbench  %s%s, %s\n' \
    "$(git -C "$here" rev-parse --short=12 HEAD 2>/dev/null || echo 'unknown commit')" "$changed" \
    "$(rustc --version)"
}

# prepare_smbtorture [SERVER]: how smbtorture finds the server `samba` or another one, and logs on.
prepare_smbtorture() {
  local server=${1:-samba}
  [[ ${server_url[$server]} =~ ^smb://(.*)@(.*):([0-9]+)/(.*)$ ]] || die "no URL: ${server_url[$server]}"
  torture_unc=//${BASH_REMATCH[2]}/${BASH_REMATCH[4]} torture_port=${BASH_REMATCH[3]}
  (umask 077 && printf 'username = %s\npassword = %s\n' "${BASH_REMATCH[1]}" "${server_password[$server]}" \
    >"$scratch/login")
  : >"$scratch/smb.conf"
}

# smbtorture_nbench FILE CLIENTS RAW: replays a loadfile by smbtorture's bench.nbench for option[seconds]. What it
# has to say goes to RAW.txt, each line with the time; RAW.json has, of its window:
#
#   mb_per_s            as it says itself: 10^6 bytes read and written, as recorded, behind its warm-up (a twentieth of the
#                       time, in whole seconds: none below 20 s, and then log-ons count as well)
#   ops_per_s           lines of the file per second, over all clients
#   cpu_us_per_op       CPU time of all its processes between the same two instants, per line
#   lines_per_client    from the first to the last, the warm-up included
#   not_as_recorded     what it warns of: another status or count than recorded, MKDIR excepted, which it does not look at
#
# It speaks SMB1, with a process per client, and is the only test of smbtorture 4.17 that reads.
smbtorture_nbench() {
  local replay=$1 progs=$2 raw=$3
  limited "${prefix[@]}" smbtorture "$torture_unc" bench.nbench --configfile "$scratch/smb.conf" \
    --smb-ports "$torture_port" --authentication-file "$scratch/login" --max-protocol NT1 \
    --option 'client min protocol=NT1' --loadfile "$replay" --num-progs "$progs" \
    --timelimit "${option[seconds]}" 2>&1 | stamped >"$raw.txt" ||
    die "smbtorture failed: $(tail -n 5 "$raw.txt")"
  scrub "$raw.txt"
  if grep -q 'exiting with status' "$raw.txt"; then
    die "smbtorture lost a client: $(grep -m 1 -B 2 'exiting with status' "$raw.txt")"
  fi
  # Lines: "<clients> <lines per client> <rate> MB/sec ...", behind the stamp, and at the end "Throughput <rate> MB/sec".
  awk -v clients="$progs" '
    $2 == "cpu" { at[++marks] = $1; user[marks] = $3; all[marks] = $3 + $4; lines[marks] = $6 }
    / MB\/sec / { last = $2 == "cpu" ? $6 : $3 }
    / Warning: / { differences++ }
    $2 == "Throughput" { rate = $3 }
    END {
      operations = (lines[2] - lines[1]) * clients
      if (marks != 2 || !rate || operations <= 0) exit 1
      printf "{\"mb_per_s\": %.3f, \"ops_per_s\": %.1f, \"cpu_us_per_op\": %.3f, \"cpu_user_us_per_op\": %.3f, ",
        rate, operations / (at[2] - at[1]), (all[2] - all[1]) * 1e6 / operations, (user[2] - user[1]) * 1e6 / operations
      printf "\"lines_per_client\": %d, \"not_as_recorded\": %d}\n", last, differences
    }' "$raw.txt" >"$raw.json" || die "smbtorture counted nothing: $(tail -n 5 "$raw.txt")"
}

# Writes the time before each line; before those with which the window of smbtorture begins and ends also its CPU time.
stamped() {
  local line now cpu window=before
  while IFS= read -r line; do
    now=$EPOCHREALTIME cpu=
    case $window,$line in
      before,*' execute '*) window=open cpu=$(smbtorture_cpu) ;;
      open,*' cleanup '*) window=closed cpu=$(smbtorture_cpu) ;;
    esac
    printf '%s%s %s\n' "$now" "${cpu:+ cpu $cpu}" "$line"
  done
}

# Seconds of CPU time, user and system, that all processes of smbtorture of this script have had so far, those that have
# ended included (proc_pid_stat(5): fields 14 to 17).
smbtorture_cpu() {
  cat /proc/[0-9]*/stat 2>/dev/null | awk -v hertz="$(getconf CLK_TCK)" '
    BEGIN { getline self <"/proc/self/stat"; split(self, field, " ") }
    $2 == "(smbtorture)" && $5 == field[5] { user += $14 + $16; kernel += $15 + $17 }
    END { printf "%.2f %.2f", user / hertz, kernel / hertz }'
}
