//! Clients that log off and come back: how many in a time, and how they go.
//!
//! Which client leaves when is a function of the seed and the time alone. Each connection
//! leaves once in a period, at a place in it that follows from its number.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::random::{GOLDEN_GAMMA, finalise};
use crate::units::format_duration;

/// The longest time between two leavings of a connection that a plan can ask for.
const PERIOD_MAX: Duration = Duration::from_secs(365 * 24 * 3600);
/// The shortest one.
const PERIOD_MIN: Duration = Duration::from_millis(10);
/// The fraction of the golden ratio. Its multiples are spread evenly over 0 to 1.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// How many clients leave and come back, and how they go.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Churn {
    /// How many clients leave; `None` if none does.
    pub rate: Option<ChurnRate>,
    /// The clients that go without a LOGOFF.
    pub vanish: Option<Vanish>,
}

/// How many clients leave in a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChurnRate {
    /// The clients: a number, or a share in percent.
    pub amount: f64,
    /// What the amount is of.
    pub of: ChurnAmount,
    /// The time in which they leave.
    pub per: ChurnTime,
}

/// What the amount of a rate is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChurnAmount {
    /// Percent of the clients of the load point.
    Percent,
    /// A number of clients.
    Clients,
}

smbench_protocol::named! {
    /// The time of a rate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ChurnTime {
        /// A second.
        Second => "s",
        /// A minute.
        Minute => "min",
        /// An hour.
        Hour => "h",
    }
}

impl ChurnTime {
    const fn seconds(self) -> f64 {
        match self {
            Self::Second => 1.0,
            Self::Minute => 60.0,
            Self::Hour => 3600.0,
        }
    }
}

/// The clients that go without a LOGOFF.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vanish {
    /// Their share of those that leave, in percent: more than 0, at most 100.
    pub percent: f64,
    /// How they go.
    pub how: VanishKind,
}

smbench_protocol::named! {
    /// How a client goes without a LOGOFF.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum VanishKind {
        /// It sends nothing more. Its socket stays open.
        #[default]
        Silence => "silence",
        /// It resets its connection.
        Reset => "reset",
    }
}

/// The text is not a rate of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected clients in a time, such as 5%/min, 2/s or 100/h")]
pub struct UnknownChurn;

/// The text is not a share of clients that vanish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a share of more than 0 to 100 percent, such as 10%, 10%:silence or 10%:reset")]
pub struct UnknownVanish;

/// A problem with these options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChurnProblem {
    /// An option has no meaning unless clients leave.
    #[error("vanish means nothing without churn: give that as well, or drop it")]
    NoChurn,
    /// Clients leave too often or too seldom.
    #[error(
        "churn lets each client leave every {}: give a rate from once in 365 days to once in 10 ms",
        format_duration(*.0)
    )]
    Period(Duration),
    /// Clients with this work cannot leave and come back.
    #[error("churn is not possible {0}: drop it")]
    Work(&'static str),
}

impl FromStr for ChurnRate {
    type Err = UnknownChurn;

    fn from_str(text: &str) -> Result<Self, UnknownChurn> {
        let (amount, per) = text.trim().split_once('/').ok_or(UnknownChurn)?;
        let (amount, of) = match amount.trim().strip_suffix('%') {
            Some(percent) => (percent, ChurnAmount::Percent),
            None => (amount, ChurnAmount::Clients),
        };
        let amount: f64 = amount.trim().parse().map_err(|_| UnknownChurn)?;
        let mut times = ChurnTime::ALL.into_iter();
        let per = times.find(|time| time.name() == per.trim());
        let is_some = amount.is_finite() && amount > 0.0;
        match per.filter(|_| is_some) {
            Some(per) => Ok(Self { amount, of, per }),
            None => Err(UnknownChurn),
        }
    }
}

impl fmt::Display for ChurnRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.of {
            ChurnAmount::Percent => "%",
            ChurnAmount::Clients => "",
        };
        write!(f, "{}{unit}/{}", self.amount, self.per.name())
    }
}

impl FromStr for Vanish {
    type Err = UnknownVanish;

    fn from_str(text: &str) -> Result<Self, UnknownVanish> {
        let (share, how) = match text.trim().split_once(':') {
            Some((share, how)) => {
                let mut kinds = VanishKind::ALL.into_iter();
                let how = kinds.find(|kind| kind.name() == how.trim());
                (share, how.ok_or(UnknownVanish)?)
            }
            None => (text, VanishKind::default()),
        };
        let percent = share.trim().strip_suffix('%').ok_or(UnknownVanish)?;
        let percent: f64 = percent.trim().parse().map_err(|_| UnknownVanish)?;
        if percent > 0.0 && percent <= 100.0 {
            Ok(Self { percent, how })
        } else {
            Err(UnknownVanish)
        }
    }
}

impl fmt::Display for Vanish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%:{}", self.percent, self.how.name())
    }
}

impl ChurnRate {
    /// Returns how many clients leave in a second, of this many.
    #[must_use]
    pub fn per_s(&self, clients: u32) -> f64 {
        let amount = match self.of {
            ChurnAmount::Percent => f64::from(clients) * self.amount / 100.0,
            ChurnAmount::Clients => self.amount,
        };
        amount / self.per.seconds()
    }

    /// Returns the time between two leavings of a client, of this many.
    #[must_use]
    pub fn period(&self, clients: u32) -> Duration {
        let seconds = f64::from(clients.max(1)) / self.per_s(clients.max(1));
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

impl Churn {
    /// The largest number of silent connections that are kept in the place of one.
    pub const SILENT_MAX: u32 = 8;

    /// Finds the first problem at this number of clients, with the name of its option.
    pub(crate) fn check(&self, clients: u32) -> Result<(), (&'static str, ChurnProblem)> {
        let Some(rate) = self.rate else {
            return match self.vanish {
                Some(_) => Err(("vanish", ChurnProblem::NoChurn)),
                None => Ok(()),
            };
        };
        let period = rate.period(clients);
        if (PERIOD_MIN..=PERIOD_MAX).contains(&period) {
            Ok(())
        } else {
            Err(("churn", ChurnProblem::Period(period.min(PERIOD_MAX * 100))))
        }
    }

    /// Returns what it adds to a digest, if clients leave.
    pub(super) fn for_digest(&self) -> Option<String> {
        let rate = self.rate?;
        let vanish = self.vanish.map(|vanish| format!(" vanish {vanish}"));
        Some(format!("{rate}{}", vanish.unwrap_or_default()))
    }

    /// Returns how many silent connections stand in the place of one after this time of load,
    /// at most.
    #[must_use]
    pub fn silent(&self, clients: u32, load: Duration) -> u32 {
        match (self.rate, self.vanish) {
            (Some(rate), Some(vanish)) if vanish.how == VanishKind::Silence => {
                let leavings = load.as_secs_f64() / rate.period(clients).as_secs_f64();
                // The conversion saturates.
                (leavings.ceil() as u32 + 1).min(Self::SILENT_MAX)
            }
            _ => 0,
        }
    }
}

/// The leavings of the clients of one connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leavings {
    /// Which share of the period passes before the first one, 0 to 1.
    first: f64,
    period_ns: f64,
    vanish: Option<Vanish>,
    /// Number of connections, which is that of all leavings in a period.
    connections: f64,
    /// From which the leavings without LOGOFF follow.
    shift: f64,
}

impl Leavings {
    /// Returns the leavings of the connection with this number, in a load point of this many
    /// clients and connections. `None` if no client leaves.
    #[must_use]
    pub fn new(
        churn: &Churn,
        seed: u64,
        connection: u32,
        clients: u32,
        connections: u32,
    ) -> Option<Self> {
        let period = churn.rate?.period(clients);
        // 53 bits make a number from 0 to 1.
        let shift = (finalise(seed.wrapping_add(GOLDEN_GAMMA)) >> 11) as f64 / (1_u64 << 53) as f64;
        Some(Self {
            first: (shift + f64::from(connection) * GOLDEN).fract(),
            period_ns: period.as_nanos() as f64,
            vanish: churn.vanish,
            connections: f64::from(connections),
            shift,
        })
    }

    /// Returns the time from the start of the load to the leaving with this number, from 0.
    #[must_use]
    pub fn at_ns(&self, number: u64) -> u64 {
        ((self.first + number as f64) * self.period_ns) as u64
    }

    /// Returns the number of the first leaving after this time.
    #[must_use]
    pub fn next_after_ns(&self, passed_ns: u64) -> u64 {
        let periods = passed_ns as f64 / self.period_ns - self.first;
        // The conversion saturates at 0.
        let mut number = periods.floor().max(0.0) as u64;
        while self.at_ns(number) <= passed_ns {
            number += 1;
        }
        number
    }

    /// Returns how the clients vanish at the leaving with this number; `None` if they log off.
    #[must_use]
    pub fn vanish(&self, number: u64) -> Option<VanishKind> {
        let vanish = self.vanish?;
        // Its number among the leavings of all connections, by time.
        let among = (self.first + number as f64) * self.connections;
        let share = vanish.percent / 100.0;
        ((self.shift + among * share).fract() < share).then_some(vanish.how)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn churn(rate: &str, vanish: Option<&str>) -> Churn {
        Churn {
            rate: Some(rate.parse().unwrap()),
            vanish: vanish.map(|text| text.parse().unwrap()),
        }
    }

    #[test]
    fn rates_and_shares_read_back() {
        for (text, per_s) in [
            ("5%/min", 1.0 / 6.0),
            ("2/s", 2.0),
            ("0.5%/h", 1.0 / 3600.0),
        ] {
            let rate: ChurnRate = text.parse().unwrap();
            assert_eq!(rate.to_string(), text);
            assert!((rate.per_s(200) - per_s).abs() < 1e-12, "{text}");
        }
        for text in ["", "5%", "5/day", "0/s", "-1/s", "nan/s", "/s", "5%%/s"] {
            assert_eq!(text.parse::<ChurnRate>(), Err(UnknownChurn), "{text}");
        }
        for (text, written) in [("10%", "10%:silence"), ("100%:reset", "100%:reset")] {
            assert_eq!(text.parse::<Vanish>().unwrap().to_string(), written);
        }
        for text in ["", "10", "0%", "101%", "10%:", "10%:fin", "nan%"] {
            assert_eq!(text.parse::<Vanish>(), Err(UnknownVanish), "{text}");
        }
    }

    #[test]
    fn leavings_are_spread_evenly_and_follow_from_the_seed() {
        // 100 clients, and 10 of them each second.
        let churn = churn("10%/s", Some("25%:reset"));
        let of =
            |seed| (0..100).map(move |group| Leavings::new(&churn, seed, group, 100, 100).unwrap());
        for seed in 0..20 {
            let mut each_s = [0_u32; 40];
            let (mut all, mut vanished) = (0, 0);
            for leavings in of(seed) {
                for number in 0..4 {
                    each_s[(leavings.at_ns(number) / 1_000_000_000) as usize] += 1;
                    all += 1;
                    vanished += u32::from(leavings.vanish(number).is_some());
                }
            }
            assert!(
                each_s.iter().all(|count| (8..=12).contains(count)),
                "{each_s:?}"
            );
            assert_eq!(all, 400);
            assert!((90..=110).contains(&vanished), "{vanished}");
        }
        assert!(of(1).eq(of(1)));
        assert!(of(1).ne(of(2)));
    }

    #[test]
    fn a_leaving_that_is_past_is_left_out() {
        let leavings = Leavings::new(&churn("1/s", None), 7, 3, 10, 10).unwrap();
        for number in 0..5 {
            let at = leavings.at_ns(number);
            assert_eq!(leavings.next_after_ns(at), number + 1);
            assert_eq!(leavings.next_after_ns(at - 1), number);
        }
        assert_eq!(leavings.vanish(0), None);
    }

    #[test]
    fn options_that_mean_nothing_are_named() {
        let lone = Churn {
            vanish: Some("10%".parse().unwrap()),
            ..Churn::default()
        };
        assert_eq!(lone.check(10), Err(("vanish", ChurnProblem::NoChurn)));
        assert!(churn("1000/s", None).check(1).is_err());
        assert_eq!(churn("5%/min", Some("10%")).check(1000), Ok(()));
        let minute = Duration::from_secs(60);
        assert_eq!(churn("5%/min", Some("10%")).silent(1000, minute), 2);
        assert_eq!(
            churn("1000%/s", Some("10%")).silent(1000, minute),
            Churn::SILENT_MAX
        );
        assert_eq!(churn("5%/min", Some("10%:reset")).silent(1000, minute), 0);
    }
}
