//! Doubts about single values of load points that are valid. Plots draw them around
//! points, and tables mark each value. Not here: what they mean for a whole load point
//! ([`crate::text::cautions`]).

use crate::curve::CurveRow;
use crate::doc::LoadPointDoc;
use crate::percentile::Percentile;
use crate::table::Cell;

/// Doubt about a value that may be quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// There is none.
    None,
    /// The machine that generated the load, and not the server, limited throughput.
    ClientLimited,
    /// The percentile may be too high, because answers were handled late.
    LateAnswers,
    /// The latencies miss a stall at the end of the window.
    Stalled,
}

impl Doubt {
    /// All kinds.
    pub const ALL: [Self; 4] = [
        Self::None,
        Self::ClientLimited,
        Self::LateAnswers,
        Self::Stalled,
    ];

    /// Returns the doubt about throughput. One client-limited pass is enough.
    #[must_use]
    pub fn of_throughput(row: &CurveRow<'_>) -> Self {
        if row.is_generator_limited() {
            Self::ClientLimited
        } else {
            Self::None
        }
    }

    /// Returns the doubt about the mean response time, which is that about the median.
    #[must_use]
    pub fn of_mean(passes: &[&LoadPointDoc]) -> Self {
        Self::of_percentile(passes, Percentile::P50.percent())
    }

    /// Returns the doubt about a percentile of the response times of these passes.
    #[must_use]
    pub fn of_percentile(passes: &[&LoadPointDoc], percent: f64) -> Self {
        let is_late = |lowest: Percentile| lowest.percent() <= percent;
        if passes.iter().any(|pass| pass.stall_ns().is_some()) {
            Self::Stalled
        } else if Percentile::lowest_noisy(passes).is_some_and(is_late) {
            Self::LateAnswers
        } else {
            Self::None
        }
    }

    /// Returns the doubt about a response time in a table: that about its percentile, else
    /// that of a client-limited pass. A limited client answers late, so its response times
    /// are its own in part.
    #[must_use]
    pub fn of_time(passes: &[&LoadPointDoc], percent: f64) -> Self {
        match Self::of_percentile(passes, percent) {
            Self::None if passes.iter().any(|pass| pass.is_client_limited()) => Self::ClientLimited,
            doubt => doubt,
        }
    }

    /// Returns the name in legends; `None` if there is no doubt.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::ClientLimited => Some("client-limited"),
            Self::LateAnswers => Some("late answers"),
            Self::Stalled => Some("stalled"),
        }
    }

    /// Returns the mark of a value in a table.
    #[must_use]
    pub const fn mark(self) -> &'static str {
        match self {
            Self::None => "",
            Self::ClientLimited => "~ ",
            Self::LateAnswers => "^ ",
            Self::Stalled => "* ",
        }
    }

    /// Returns the meaning in the label of a point; `None` if there is no doubt.
    #[must_use]
    pub const fn meaning(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::ClientLimited => Some("client-limited"),
            Self::LateAnswers => Some("may be too high, answers were handled late"),
            Self::Stalled => Some("misses a stall at the end of the window"),
        }
    }

    /// Returns the note below a table that has the mark; `None` if there is no doubt.
    #[must_use]
    pub const fn note(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::ClientLimited => {
                Some("~: client-limited, throughput and response times are not to be trusted")
            }
            Self::LateAnswers => Some("^: may be too high, answers were handled late"),
            Self::Stalled => Some("*: stalled at the end of the window, the latencies miss it"),
        }
    }

    /// Returns the notes on the marks of a table, each once.
    pub fn notes(found: impl IntoIterator<Item = Self>) -> impl Iterator<Item = String> {
        let found: Vec<_> = found.into_iter().collect();
        let kinds = Self::ALL.into_iter();
        let kinds = kinds.filter(move |kind| found.contains(kind));
        kinds.filter_map(|kind| kind.note().map(str::to_owned))
    }

    /// Returns the cell with the mark at its value.
    #[must_use]
    pub fn at(self, cell: Cell) -> Cell {
        cell.marked(self.mark())
    }
}
