//! One number for a whole curve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The curve of mean response time by operations per second. It has the load points in
/// ascending order of load, up to the one with the most operations per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CurveDoc {
    /// Overall response time in nanoseconds: the area under the curve, divided by its
    /// range of operations per second. No point is added at the origin. `null` if the
    /// curve is not valid.
    pub ort_ns: Option<f64>,
    /// Number of load points on the curve.
    pub points: u32,
    /// Operations per second at the first load point of the curve.
    pub ops_per_s_from: f64,
    /// Operations per second at the last load point of the curve.
    pub ops_per_s_to: f64,
    /// Whether all gaps between the loads, that before the first included, are within 30 %
    /// of the highest load divided by the number of load points. A load is a number of
    /// clients, or a rate where load points differ in it.
    pub even: bool,
    /// Whether the curve may be quoted.
    pub valid: bool,
    /// Why the curve is not valid; `null` if it is.
    pub reason: Option<String>,
    /// The load point of the highest load that may be quoted and reached its rate. Other
    /// load points may have had more operations per second. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rightmost: Option<CurvePointDoc>,
}

/// A load point of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CurvePointDoc {
    /// Number of clients.
    pub clients: u32,
    /// Rate that was asked for, where load points differ in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Number of units. Absent unless load points count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<u32>,
    /// Operations per second.
    pub ops_per_s: f64,
    /// Mean response time in nanoseconds.
    pub latency_mean_ns: f64,
}
