//! Comparisons of runs: `smbench compare`.
//!
//! Every number of a load point that both runs have is compared, in percent of the
//! first run. Each change has the interval of [`crate::change`] and a verdict.
//! Values are those of all other tables ([`crate::metric`]), their noise is that
//! between the valid passes. One pass never gives a verdict. Each
//! comparison is judged separately: of twenty without a difference, about one shows
//! a difference by chance. Not here: the arithmetic ([`crate::change`]), and how
//! results are made.

mod comparison;
mod condition;
mod csv;
mod difference;
mod error;
mod input;
mod judgement;
mod pair;
mod points;
mod text;
mod words;

pub use comparison::Comparison;
pub(crate) use condition::{At, LimitSide, METRICS, Phrase, signed_percent};
pub use condition::{Condition, GrammarError};
pub use csv::write_csv;
pub use difference::Difference;
pub use error::CompareError;
pub use input::{Input, compare};
pub use judgement::Judgement;
pub use pair::{ComparedRun, Pair};
pub use points::{ChangeFigures, ComparedPoint, MetricChange, PointComparison, Verdict};
pub use text::{Depth, render, to_markdown};
