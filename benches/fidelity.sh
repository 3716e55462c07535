#!/usr/bin/env bash
# All of Debian's loadfile, once, by one client, on a scratch Samba: whether it
# comes to as many operations of each kind and as many bytes as the file has, and
# to the statuses that it has recorded. The test beside the code replays its head.
#
#   benches/fidelity.sh
#
# Prints a table and whether the bars hold; exits 1 when one does not: no
# operation and no byte more or less, and fewer than 0.1 % of the lines with
# another status than recorded, which are told. The document and the table stay in
# benches/results.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

# Debian's dbench installs it. It is of the GPL, so not part of this project.
readonly loadfile=/usr/share/dbench/client.txt
# What a document calls the operations of a verb.
readonly -A kinds=(
  [NTCreateX]=create [Close]=close [ReadX]=read [WriteX]=write [Flush]=flush [LockX]=lock [UnlockX]=unlock
  [Unlink]=unlink [Rename]=rename_path [Mkdir]=mkdir [Rmdir]=rmdir [Deltree]=deltree [FIND_FIRST]=find_first
  [QUERY_PATH_INFORMATION]=query_path [QUERY_FILE_INFORMATION]=query_file [QUERY_FS_INFORMATION]=query_fs
  [SET_FILE_INFORMATION]=set_file
)

# Far longer than it takes.
option=([seconds]=60)
[ $# -eq 0 ] || die "usage: ${0##*/}" 2
need cargo "cargo (or from rustup.rs)"
need jq jq
need smbd samba
need pdbedit samba-common-bin
[ -r "$loadfile" ] || die "$loadfile not found; install it with: apt-get install dbench"
build

serve samba "$bin/smbench" lab samba
results fidelity
facts | tee "$out/facts.txt"
printf 'file     %s, sha256 %s\n' "$loadfile" "$(sha256sum <"$loadfile" | cut -c 1-64)" | tee -a "$out/facts.txt"
measure samba "$bin/smbench" run --quiet --target "${server_url[samba]}" --profile "loadfile:$loadfile" \
  --clients 1 --loops 1 --out "$scratch/documents" --json "$scratch/document.json"
# Without its histograms.
jq '{plan, server: {software: .server.software}, load_points: [.load_points[] | {valid, window_s, whole, differences}]}' \
  "$scratch/document.json" >"$out/document.json"

# of FILTER: what the document says.
of() { jq -r "$1" "$out/document.json"; }

# What was opened although the file says that it could not be.
strays() {
  of '[.load_points[0].differences[]? | select(.op == "create" and .recorded != "STATUS_SUCCESS"
    and .seen == "STATUS_SUCCESS") | .count] | add // 0'
}

held=0
# bar WHAT EXPECTED FOUND
bar() {
  if [ "$2" = "$3" ]; then
    printf 'holds: %s: %s\n' "$1" "$3"
  else
    printf 'falls short: %s: %s, not %s\n' "$1" "$3" "$2"
    held=1
  fi
}

report() {
  local verb in_file kind carried apart all=0 sum=0 off=0
  printf '\n%-24s %10s %12s %16s\n' verb 'in file' 'carried out' 'not as recorded'
  while read -r verb in_file; do
    kind=${kinds[$verb]-}
    [ -n "$kind" ] || die "$loadfile has a verb that is not known here: $verb"
    apart=$(of "[.load_points[0].differences[]? | select(.op == \"$kind\") | .count] | add // 0")
    carried=$(of "(.load_points[0].whole.$kind.count // 0) + $apart")
    # Handles that the file leaves open are closed at its end, those it could not open at once.
    [ "$verb" != Close ] || carried=$((carried - $(of '.plan.workload.replay.closed') - $(strays)))
    printf '%-24s %10d %12d %16d\n' "$verb" "$in_file" "$carried" "$apart"
    all=$((all + in_file)) sum=$((sum + apart))
    [ "$carried" -eq "$in_file" ] || off=$((off + 1))
  done < <(awk 'NF && $1 !~ /^#/ { count[$1]++ } END { for (verb in count) print verb, count[verb] }' "$loadfile" | sort)
  of '.load_points[0].differences[]? | "not as recorded: \(.op): \(.recorded) -> \(.seen), \(.count) times"'
  printf '\n'
  bar 'verbs carried out more or less often than they are in the file' 0 "$off"
  bar 'load point valid' true "$(of '.load_points[0].valid')"
  bar 'bytes read' "$(awk '$1 == "ReadX" { sum += $4 } END { printf "%d", sum }' "$loadfile")" \
    "$(of '.load_points[0].whole.read.bytes')"
  bar 'bytes written' "$(awk '$1 == "WriteX" { sum += $4 } END { printf "%d", sum }' "$loadfile")" \
    "$(of '.load_points[0].whole.write.bytes')"
  bar "fewer than 0.1 % of $all lines not as recorded" yes "$([ $((sum * 1000)) -lt "$all" ] && echo yes || echo "$sum")"
}

report >"$out/table.txt"
cat "$out/table.txt"
printf '\nraw results: %s\n' "${out#"$PWD"/}"
exit "$held"
