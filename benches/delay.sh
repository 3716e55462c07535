#!/usr/bin/env bash
# Reads of 4 KiB from a peer that holds every answer for 5 ms: what smbench says
# they took, beside how long the peer had them, on its own clock, from the request
# to the answer. The peer spins; the rest of what a client sees is loopback and
# its own wake-up, and one more where the read is due by the clock.
#
#   benches/delay.sh [--rounds N]
#
# Asks as soon as it is answered, and 100 times per second. Prints fastest and
# median of each round; exits 1 unless every median is within 2 %. The table stays
# in benches/results.
# shellcheck source-path=SCRIPTDIR source=lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

option=([rounds]=5)
options "$@"
need cargo "cargo (or from rustup.rs)"
need chrt util-linux
results delay
facts | tee "$out/facts.txt"

# As it is released, where it matters here; the peer is part of the tests.
optimized=()
for package in smbench-engine smbench-protocol tokio mio hdrhistogram; do
  optimized+=(--config "profile.dev.package.$package.opt-level=3")
done
readonly test=pacing::delays::a_fixed_delay_of_5_ms_is_measured_within_2_percent

reads() {
  cd "$here"
  cargo test --locked --quiet "${optimized[@]}" -p smbench-engine --test servers -- \
    --ignored --exact --nocapture "$@" "$test"
}

said=$(reads --list 2>&1) || die "the test did not build: $(tail -n 20 <<<"$said")"
# A virtual CPU that sleeps takes a tenth of a millisecond and more to wake up, the
# peer's and the client's: loops of idle priority keep them awake, and give way at
# once.
for ((cpu = 0; cpu < $(nproc); cpu++)); do
  chrt --idle 0 timeout $((option[rounds] * 60)) sh -c 'while :; do :; done' &
  server_pid[awake$cpu]=$!
done

held=0
for ((round = 1; round <= option[rounds]; round++)); do
  said=$(reads 2>&1) && ended=0 || ended=1
  measured=$(grep -o 'rate .* ns: .*' <<<"$said") || die "the test did not run: $(tail -n 20 <<<"$said")"
  sed "s/^/round $round: /" <<<"$measured" | tee -a "$out/table.txt"
  [ "$ended" = 0 ] || held=1
done
if [ "$held" = 0 ]; then verdict=holds; else verdict='falls short'; fi
printf '%s: every median within 2 %% of what the peer held\n' "$verdict" | tee -a "$out/table.txt"
printf '\nraw results: %s\n' "${out#"$PWD"/}"
exit "$held"
