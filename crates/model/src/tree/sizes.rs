//! The sizes of the files of a tree.

use std::f64::consts::TAU;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::shares::{CERTAIN, thresholds};
use crate::random::{Draws, draw};
use crate::units::Size;

/// The largest number of sizes.
const SIZES_MAX: usize = 1000;
/// The largest file in bytes.
const FILE_BYTES_MAX: u64 = 1 << 40;
/// The largest sigma of a lognormal distribution.
const SIGMA_MAX: f64 = 5.0;
/// Number of sigmas above the median of the largest file of a lognormal distribution.
const SIGMAS_MAX: f64 = 4.0;

/// Sizes of files: `4KiB:60,64KiB:30,1MiB:10` as shares of the files, or
/// `lognormal:MEDIAN,SIGMA`, such as `lognormal:16KiB,2`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum TreeSizes {
    /// Sizes and their weights.
    Weights(Vec<(Size, f64)>),
    /// The logarithm of the size has a normal distribution. A size beyond four sigmas is
    /// that of four sigmas.
    Lognormal {
        /// Half of the files are smaller.
        median: Size,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
}

impl Default for TreeSizes {
    fn default() -> Self {
        Self::Weights(vec![(Size(4096), 1.0)])
    }
}

impl TreeSizes {
    pub(super) fn check(&self) -> Result<(), String> {
        let check_size = |size: &Size| match size.0 {
            ..=FILE_BYTES_MAX => Ok(()),
            _ => Err(format!(
                "a file of {size} is too large: at most {} are possible",
                Size(FILE_BYTES_MAX)
            )),
        };
        match self {
            Self::Weights(sizes) => {
                if sizes.is_empty() || sizes.len() > SIZES_MAX {
                    return Err(format!(
                        "{} sizes are not possible: give 1 to {SIZES_MAX}",
                        sizes.len()
                    ));
                }
                sizes.iter().try_for_each(|(size, _)| check_size(size))?;
                let is_weight = |weight: f64| (0.0..=1e12).contains(&weight);
                match sizes.iter().find(|(_, weight)| !is_weight(*weight)) {
                    Some((size, weight)) => Err(format!(
                        "the weight of {size} is {weight}: give a number of 0 or more"
                    )),
                    None if sizes.iter().all(|(_, weight)| *weight == 0.0) => {
                        Err("every size has weight 0: give one of them more".to_owned())
                    }
                    None => Ok(()),
                }
            }
            Self::Lognormal { median, sigma } => {
                if !(0.0..=SIGMA_MAX).contains(sigma) {
                    return Err(format!(
                        "a sigma of {sigma} is not possible: give 0 to {SIGMA_MAX}"
                    ));
                }
                check_size(median)?;
                check_size(&Size(largest(*median, *sigma)))
            }
        }
    }
}

/// Returns the bytes of the largest file of a lognormal distribution.
fn largest(median: Size, sigma: f64) -> u64 {
    scaled(median, sigma * SIGMAS_MAX)
}

fn scaled(median: Size, exponent: f64) -> u64 {
    (median.0 as f64 * exponent.exp()).round() as u64
}

impl FromStr for TreeSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || {
            format!(
                "`{text}` is no list of sizes: give SIZE:WEIGHT,… such as 4KiB:60,1MiB:40, or \
                 lognormal:MEDIAN,SIGMA such as lognormal:16KiB,2"
            )
        };
        let size = |text: &str| text.parse::<Size>().map_err(|error| error.to_string());
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| malformed());
        let sizes = if let Some(rest) = text.trim().strip_prefix("lognormal:") {
            let (median, sigma) = rest.split_once(',').ok_or_else(malformed)?;
            Self::Lognormal {
                median: size(median)?,
                sigma: number(sigma)?,
            }
        } else {
            let one = |part: &str| match part.split_once(':') {
                Some((of, weight)) => Ok((size(of)?, number(weight)?)),
                None => Ok((size(part)?, 1.0)),
            };
            let sizes: Result<Vec<_>, String> = text.split(',').map(one).collect();
            Self::Weights(sizes?)
        };
        sizes.check().map(|()| sizes)
    }
}

impl fmt::Display for TreeSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the space that a size for people has.
        let exact = |size: &Size| format!("{size:#}").replace(' ', "");
        match self {
            Self::Weights(sizes) => {
                for (at, (size, weight)) in sizes.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    write!(f, "{comma}{}:{weight}", exact(size))?;
                }
                Ok(())
            }
            Self::Lognormal { median, sigma } => write!(f, "lognormal:{},{sigma}", exact(median)),
        }
    }
}

impl TryFrom<String> for TreeSizes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TreeSizes> for String {
    fn from(sizes: TreeSizes) -> Self {
        sizes.to_string()
    }
}

/// The sizes, prepared for drawing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SizeDraws {
    key: u64,
    drawn: SizeRule,
}

#[derive(Clone, Debug, PartialEq)]
enum SizeRule {
    Weights {
        /// Upper bounds of draws. A draw below the n-th bound has the n-th size or an
        /// earlier one.
        below: Box<[u64]>,
        sizes: Box<[u64]>,
    },
    Lognormal {
        median: Size,
        sigma: f64,
    },
}

impl SizeDraws {
    pub(super) fn new(sizes: &TreeSizes, key: u64) -> Self {
        let drawn = match sizes {
            TreeSizes::Weights(sizes) => {
                let sizes = || sizes.iter().filter(|(_, weight)| *weight > 0.0);
                let total = sizes().map(|(_, weight)| weight).sum();
                SizeRule::Weights {
                    below: thresholds(sizes().map(|(_, weight)| *weight), total).into(),
                    sizes: sizes().map(|(size, _)| size.0).collect(),
                }
            }
            &TreeSizes::Lognormal { median, sigma } => SizeRule::Lognormal { median, sigma },
        };
        Self { key, drawn }
    }

    /// Returns the bytes of a file.
    pub(super) fn size(&self, file: u32) -> u64 {
        let random = draw(self.key, file.into());
        match &self.drawn {
            SizeRule::Weights { below, sizes } => {
                let share = random % CERTAIN;
                sizes[below.partition_point(|below| *below <= share)]
            }
            SizeRule::Lognormal { median, sigma } => {
                // Box and Muller: a normal number of two uniform ones.
                let mut draws = Draws::new(random);
                let distance = (-2.0 * (1.0 - draws.unit()).ln()).sqrt();
                let normal = distance * (TAU * draws.unit()).cos();
                scaled(*median, sigma * normal.min(SIGMAS_MAX))
            }
        }
    }

    /// Returns the bytes of the largest file that can be drawn.
    pub(super) fn largest(&self) -> u64 {
        match &self.drawn {
            SizeRule::Weights { sizes, .. } => sizes.iter().copied().max().unwrap_or(0),
            SizeRule::Lognormal { median, sigma } => largest(*median, *sigma),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: u32 = 100_000;

    fn drawn(text: &str) -> Vec<u64> {
        let draws = SizeDraws::new(&text.parse().unwrap(), 5);
        let mut sizes: Vec<_> = (0..FILES).map(|file| draws.size(file)).collect();
        assert!(sizes.iter().all(|&size| size <= draws.largest()));
        sizes.sort_unstable();
        sizes
    }

    #[test]
    fn texts_are_read_and_written() {
        for text in [
            "4KiB:60,64KiB:30,1MiB:10",
            "0B:1",
            "lognormal:16KiB,2",
            "100B:0.5,1B:2",
        ] {
            assert_eq!(text.parse::<TreeSizes>().unwrap().to_string(), text);
        }
        assert_eq!("4k".parse::<TreeSizes>().unwrap().to_string(), "4KiB:1");
        for text in [
            "",
            "4KiB:",
            "4KiB:-1",
            "4KiB:0",
            "4KiB:x",
            "x:1",
            "2000TiB:1",
            "lognormal:4KiB",
            "lognormal:4KiB,9",
            "lognormal:1TiB,5",
            "4KiB:NaN",
            "lognormal:4KiB,NaN",
        ] {
            assert!(text.parse::<TreeSizes>().is_err(), "{text}");
        }
    }

    /// A share of 100,000 draws has a standard deviation of at most 0.16 %.
    #[test]
    fn sizes_have_their_shares() {
        let sizes = drawn("4KiB:60,64KiB:30,1MiB:10,9MiB:0");
        for (size, expected) in [(4096, 0.6), (65_536, 0.3), (1 << 20, 0.1)] {
            let count = sizes.iter().filter(|&&found| found == size).count();
            let found = count as f64 / f64::from(FILES);
            assert!(
                (found - expected).abs() < 0.006,
                "{found} is not {expected}"
            );
        }
    }

    /// 15.87 % of a normal distribution are below minus one sigma, and as many above one.
    #[test]
    fn a_lognormal_distribution_has_its_median_and_its_sigma() {
        let sizes = drawn("lognormal:1MiB,1");
        let share = |exponent: f64| {
            let bound = (1_048_576.0 * exponent.exp()) as u64;
            sizes.partition_point(|&size| size < bound) as f64 / f64::from(FILES)
        };
        for (exponent, expected) in [(-1.0, 0.1587), (0.0, 0.5), (1.0, 0.8413), (2.0, 0.9772)] {
            let found = share(exponent);
            assert!(
                (found - expected).abs() < 0.006,
                "{found} is not {expected}"
            );
        }
    }
}
