#!/usr/bin/env bash
# Captures of smbench and of other clients. Does a replay do again what was captured? Are the counts those of tshark? Do
# statuses come out as recorded? What does an import cost? How punctual is a replay at the recorded times? dumpcap records the
# loopback in front of a scratch Samba.
#
#   benches/captures.sh [--seconds N] [FILE...]                  (as root: it captures)
#
# FILEs are captures of other clients. The script makes more of them with smbclient and smbtorture. TMPDIR needs 16 GB.
#
# Prints a table for each question, and exits 1 when a row falls short. A difference does, and fewer than 99.9 % of the
# statuses as recorded. So does an import at less than 150 MB/s on one CPU, or with 200 MB of memory or more. Of a replay, 99 %
# of the requests must be within 1 ms of their time. Tables, counts and documents stay in benches/results. The captures do not.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
# shellcheck source=captures/rows.sh
source "$here/captures/rows.sh"

readonly cases=(plain signed encrypted cifs)
readonly -A sessions=([plain]='--dialect 3.1.1 --sign off' [signed]='--dialect 3.1.1 --sign required'
  [encrypted]='--dialect 3.1.1 --encrypt required' [cifs]='--dialect cifs')
readonly suites=(create read lock rename compound sharemode streams setinfo dir oplock lease delete-on-close-perms)
# Times that each import is measured. The table has the median.
readonly rounds=3

option=([seconds]=20)
if [ "${1-}" = --seconds ]; then
  options "$1" "${2-}"
  shift 2
fi
strangers=("$@")
for file in "$@"; do [ -r "$file" ] || die "cannot read $file" 2; done
[ "$(id -u)" -eq 0 ] || die "only root can capture: sudo $0"
for program in cargo:cargo jq:jq smbd:samba pdbedit:samba-common-bin smbclient:smbclient smbtorture:samba-testsuite \
  tshark:tshark dumpcap:wireshark-common /usr/bin/time:time; do need "${program%:*}" "${program#*:}"; done
build

results captures
facts | tee "$out/facts.txt"
tshark --version 2>/dev/null | sed -n '1s/^/tshark   /p' | tee -a "$out/facts.txt"
tshark -G values 2>"$scratch/said" | grep -P '^V\tsmb\.(cmd|nt_status)\t' >"$scratch/values"
# Captures of macOS ask for streams of files.
serve samba "$bin/smbench" lab samba --cifs --option 'vfs objects = streams_xattr'
prepare_smbtorture
(umask 077 && printf '%s\n' "${server_password[samba]}" >"$scratch/password")

say '%-12s %9s  %-16s %-22s %-10s %-16s %s\n' sessions requests 'differ' 'bytes read, written' replayed 'statuses differ' ''
for name in "${cases[@]}"; do closure "$name"; done

# tshark reads messages of 128 KiB and more at port 445 only.
seq 12000 >"$scratch/file"
for protocol in SMB2_10 SMB3_11 NT1; do
  record "$scratch/smbclient-$protocol.pcap" other smbclient "$torture_unc" -p "$torture_port" -s "$scratch/smb.conf" \
    -A "$scratch/login" -m "$protocol" --option "client min protocol=$protocol" -c "mkdir d; cd d; put $scratch/file f; \
      allinfo f; get f $scratch/back; ls; rename f g; setmode g +r; setmode g -r; volume; del g; cd ..; rmdir d; get no $scratch/no"
  strangers+=("$scratch/smbclient-$protocol.pcap")
done
for suite in "${suites[@]}"; do
  record "$scratch/smbtorture-$suite.pcap" other smbtorture "$torture_unc" "smb2.$suite" --configfile "$scratch/smb.conf" \
    --smb-ports "$torture_port" --authentication-file "$scratch/login"
  strangers+=("$scratch/smbtorture-$suite.pcap")
done
say '\n%-44s %9s %9s\n' 'messages as tshark counts them' requests answers
for file in "${strangers[@]}"; do counts "$file"; done
operations=0 differing=0
say '\n%-44s %9s %10s %8s\n' 'statuses of a replay' requests operations differ
for file in "${strangers[@]}"; do statuses "$file"; done
say '%-44s %9s %10s %8s  %s\n' 'all: 99.9 % as recorded' '' "$operations" "$differing" \
  "$([ $((differing * 1000)) -le "$operations" ] && echo holds || echo 'falls short')"

say '\n%-44s %8s %8s %9s\n' 'import on one CPU' GB MB/s 'memory MB'
cost 'summary of one capture' "$scratch/plain.pcap"
cost 'trace of one capture' --out="$scratch/imported" "$scratch/plain.pcap"
cost 'summary of all that are not encrypted' "$scratch"/{plain,signed,cifs}{,-again}.pcap
say '\n%-44s %9s %9s %9s\n' 'replay at the recorded times' due late '% in 1 ms'
punctual
printf '\nraw results: %s\n' "${out#"$PWD"/}"
! grep -q 'falls short' "$out/table.txt"
