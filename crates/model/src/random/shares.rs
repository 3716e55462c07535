//! Shares, scaled for comparison with draws.

/// The scaled probability of 100 %. Draws of 63 bits are compared with scaled
/// probabilities, so that 0 % never happens and 100 % always happens.
pub(crate) const CERTAIN: u64 = 1 << 63;

/// Returns the sums of shares of `total`, scaled for comparison with draws.
pub(crate) fn thresholds(shares: impl Iterator<Item = f64>, total: f64) -> Vec<u64> {
    let mut sum = 0.0;
    let mut below: Vec<u64> = shares
        .map(|share| {
            sum += share;
            scaled(sum / total)
        })
        .collect();
    // A rounding error can move the sum of the shares away from 1.
    if let Some(last) = below.last_mut() {
        *last = CERTAIN;
    }
    below
}

fn scaled(share: f64) -> u64 {
    (share * CERTAIN as f64) as u64
}
