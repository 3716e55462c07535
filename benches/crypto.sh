#!/usr/bin/env bash
# Signing and encrypting messages of 64 KiB beside what openssl makes of the
# same algorithms, in turns, on one core each: the criterion bench `crypto`, and
# `openssl speed` with blocks of 16 KiB.
#
#   benches/crypto.sh [--rounds N] [--seconds N]
#
# Prints a table and whether the bars hold; exits 1 when one does not. Raw
# results stay in benches/results.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

option=([rounds]=5 [seconds]=2)
options "$@"
need cargo "cargo (or from rustup.rs)"
need openssl openssl

# What ours is called, what openssl is asked for, the least ratio.
readonly bars=(
  'encrypt_aes-128-gcm -evp aes-128-gcm 0.7'
  'sign_aes-128-gmac -evp aes-128-gcm 0.7'
  'sign_aes-128-cmac -cmac aes-128-cbc 0.5'
  'encrypt_aes-128-ccm -evp aes-128-ccm 0.5'
)

cd "$here"
cargo bench --locked --quiet -p smbench-benches --bench crypto --no-run
results crypto
{
  facts
  printf 'openssl  %s\n\n' "$(openssl version)"
} | tee "$out/facts.txt"
for ((round = 1; round <= option[rounds]; round++)); do
  printf '\rround %d of %d ' "$round" "${option[rounds]}" >&2
  for bar in "${bars[@]}"; do
    read -r ours flag theirs least <<<"$bar"
    # "test <group>/<name> ... bench: <nanoseconds> ns/iter (+/- <spread>)"
    limited cargo bench --locked --quiet -p smbench-benches --bench crypto -- --noplot \
      --warm-up-time 0.5 --measurement-time "${option[seconds]}" --output-format bencher "${ours/_/ }" |
      awk -v round="$round" -v what="$ours" '
        match($0, /bench: *[0-9,]+ ns/) {
          ns = substr($0, RSTART, RLENGTH)
          gsub(/[^0-9]/, "", ns)
          printf "%d %s smbench %.1f\n", round, what, 65536 * 1000 / ns
        }' >>"$out/figures.txt"
    # "+F:<number>:<name>:<bytes per second>"; criterion counts elapsed time, too.
    limited openssl speed -elapsed -mr -seconds "${option[seconds]}" -bytes 16384 "$flag" "$theirs" 2>/dev/null |
      awk -F : -v round="$round" -v what="$ours" \
        '$1 == "+F" { printf "%d %s openssl %.1f\n", round, what, $NF / 1e6 }' >>"$out/figures.txt"
  done
done
printf '\r%20s\r' '' >&2

held=0
for bar in "${bars[@]}"; do
  read -r ours flag theirs least <<<"$bar"
  printf '%s %s %s %s\n' "$ours" "$flag" "$theirs" "$least"
done | awk '
  # The middle of the values of a row, or between the two in the middle.
  function median(values, n,   i, j, swap) {
    for (i = 2; i <= n; i++)
      for (j = i; j > 1 && values[j - 1] > values[j]; j--) {
        swap = values[j]; values[j] = values[j - 1]; values[j - 1] = swap
      }
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
  }
  NR == FNR { figure[$2, $3, $1] = $4; if ($1 > rounds) rounds = $1; next }
  FNR == 1 { printf "%-22s %14s %14s %8s\n", "64 KiB messages, MB/s", "smbench", "openssl", "ratio" }
  {
    for (round = 1; round <= rounds; round++) {
      mine[round] = figure[$1, "smbench", round]
      other[round] = figure[$1, "openssl", round]
      if (!mine[round] || !other[round]) { print "round " round " lacks " $1; short = 4; exit }
      ratio[round] = mine[round] / other[round]
    }
    met = median(ratio, rounds) >= $4
    if (!met) short = 1
    sub(/_/, " ", $1)
    printf "%-22s %14.0f %14.0f %8.2f  %s: at least %s of openssl speed %s %s\n", $1, median(mine, rounds),
      median(other, rounds), median(ratio, rounds), met ? "holds" : "falls short", $4, $2, $3
  }
  END { exit short }' "$out/figures.txt" - >"$out/table.txt" || held=$?
cat "$out/table.txt"
printf '\nraw results: benches/%s\n' "${out#"$here"/}"
exit "$held"
