//! The range of a search as written, and what holds where nothing is written. `find` and
//! suites share both.

use smbench_model::profile::parse_percent;
use smbench_model::search::Confirmations;

/// The share of failures that ends a search for sessions or log-ons.
pub const UNTIL: &str = "failed >= 1%";
/// How long sessions are held, or a rate of log-ons is measured.
pub const HOLD: &str = "10s";
/// Interval between two ECHO requests of a session.
pub const KEEP_ALIVE: &str = "10s";
/// Clients of a search for log-ons.
pub const LOGON_CLIENTS: u32 = 256;
/// Largest distance between the answer and the next load that does not hold.
pub const PRECISION: &str = "2%";
/// In how many of how many probes the answer must hold.
pub const CONFIRM: &str = "2/3";
/// Highest number of probes.
pub const PROBES: u32 = 40;

/// The range of a search, as written.
#[derive(Clone, Copy, Debug)]
pub struct SearchRange {
    /// Largest distance between the answer and the next load that does not hold, as a share.
    pub precision: f64,
    /// In how many of how many probes the answer must hold.
    pub confirm: Confirmations,
    /// First load to probe.
    pub start: Option<f64>,
    /// Highest load to probe.
    pub max: Option<f64>,
    /// Highest number of probes.
    pub probes: u32,
}

impl Default for SearchRange {
    fn default() -> Self {
        let confirm = parse_confirmations(CONFIRM);
        Self {
            precision: parse_precision(PRECISION)
                .unwrap_or_else(|error| unreachable!("valid default: {error}")),
            confirm: confirm.unwrap_or_else(|error| unreachable!("valid default: {error}")),
            start: None,
            max: None,
            probes: PROBES,
        }
    }
}

/// Parses a precision such as `2%`.
pub fn parse_precision(text: &str) -> Result<f64, &'static str> {
    let percent = parse_percent(text).ok_or("expected a percentage from 0 to 100")?;
    if percent > 0.0 {
        Ok(percent / 100.0)
    } else {
        Err("the precision is more than 0 %")
    }
}

/// Parses how many of how many probes must hold, such as `2/3`.
pub fn parse_confirmations(text: &str) -> Result<Confirmations, String> {
    let numbers = text.split_once('/');
    let numbers = numbers.and_then(|(held, of)| Some((held.parse().ok()?, of.parse().ok()?)));
    match numbers {
        Some((held, of)) if (1..=of).contains(&held) && of <= 100 => Ok(Confirmations { held, of }),
        _ => Err("write it as 2/3: in 2 of 3 probes, at most 100".to_owned()),
    }
}
