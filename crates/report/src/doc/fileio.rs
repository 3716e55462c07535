//! A test as `sysbench fileio` runs it, with sysbench's terms.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smbench_model::fileio::{FileOrigin, Fileio, Flushing, RequestSpread};

/// The test that all clients run together, with sysbench's names for its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FileioDoc {
    /// `seqwr`, `seqrewr`, `seqrd`, `rndrd`, `rndwr` or `rndrw`.
    pub test_mode: String,
    /// Bytes of a request before merging.
    pub block_bytes: u64,
    /// Number of blocks that make one sequential request; 0 and 1 both mean one.
    pub merged_requests: u32,
    /// Every file is flushed after each this number of requests; 0 means never.
    pub fsync_freq: u32,
    /// Whether each write is followed by a flush.
    pub fsync_all: bool,
    /// Whether every client flushes every file after the load.
    pub fsync_end: bool,
    /// Number of reads for each write in `rndrw`.
    pub rw_ratio: f64,
    /// `uniform`, `gaussian`, `special`, `pareto` or `zipfian`.
    pub rand_type: String,
    /// Parameter of `gaussian` and `special`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rand_spec_iter: Option<u32>,
    /// Parameter of `special`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rand_spec_pct: Option<u32>,
    /// Parameter of `special`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rand_spec_res: Option<u32>,
    /// Parameter of `pareto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rand_pareto_h: Option<f64>,
    /// Parameter of `zipfian`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rand_zipfian_exp: Option<f64>,
    /// Number of events after which the test ends; 0 means no limit.
    pub events: u64,
    /// Seconds after which the test ends; 0 means no limit.
    pub time_s: f64,
    /// Whether the files were prepared before; otherwise the run made its own.
    pub prepared: bool,
}

impl From<&Fileio> for FileioDoc {
    fn from(test: &Fileio) -> Self {
        let (fsync_all, fsync_freq, fsync_end) = match test.flushing {
            Flushing::EachWrite => (true, 0, false),
            Flushing::Sets { every, at_end } => (false, every.unwrap_or(0), at_end),
        };
        let mut doc = Self {
            test_mode: test.mode.name().to_owned(),
            block_bytes: test.block.0,
            merged_requests: test.merged,
            fsync_freq,
            fsync_all,
            fsync_end,
            rw_ratio: test.rw_ratio,
            rand_type: test.spread.name().to_owned(),
            rand_spec_iter: None,
            rand_spec_pct: None,
            rand_spec_res: None,
            rand_pareto_h: None,
            rand_zipfian_exp: None,
            events: test.events.unwrap_or(0),
            time_s: test.time.map_or(0.0, |time| time.as_secs_f64()),
            prepared: test.home == FileOrigin::Prepared,
        };
        match test.spread {
            RequestSpread::Uniform => {}
            RequestSpread::Gaussian { iterations } => doc.rand_spec_iter = Some(iterations),
            RequestSpread::Special {
                iterations,
                items,
                hits,
            } => {
                doc.rand_spec_iter = Some(iterations);
                doc.rand_spec_pct = Some(items);
                doc.rand_spec_res = Some(hits);
            }
            RequestSpread::Pareto { h } => doc.rand_pareto_h = Some(h),
            RequestSpread::Zipf { exponent } => doc.rand_zipfian_exp = Some(exponent),
        }
        doc
    }
}
