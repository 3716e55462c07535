//! The load points of a check-up, and how values are read from their documents.

use crate::doc::{LoadPointDoc, OpDoc, RunDoc};

/// A kind of load. Each is a run of one or two load points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckupStep {
    /// ECHO, one after another.
    Echo,
    /// Log-ons, by one client and by four.
    LogOns,
    /// Sequential reads of 1 MiB with one in flight, by one client and by four.
    Read,
    /// The same with 8 in flight, by one client. Neither signed nor encrypted, if the server
    /// permits that.
    ReadAhead,
    /// The same, signed.
    ReadSigned,
    /// The same, encrypted.
    ReadEncrypted,
    /// Sequential writes of 1 MiB with one in flight, by one client and by four.
    Write,
    /// The same with 8 in flight, by one client.
    WriteBehind,
    /// Random reads of 4 KiB with one in flight, by one client and by 16.
    RandomRead,
    /// The same with 32 in flight, by one client.
    RandomReadDeep,
    /// Random writes of 4 KiB with one in flight, by one client and by 16.
    RandomWrite,
    /// The same with 32 in flight, by one client.
    RandomWriteDeep,
    /// New files that are removed again, by four clients.
    Files,
    /// Small files that are opened, read and closed, by four clients.
    SmallFiles,
    /// Listings of a directory, by four clients.
    Listings,
    /// Writes of 4 KiB, each with a flush.
    Flush,
    /// Lookups of names that do not exist, in an empty folder.
    MissingNames,
    /// The same, in the folder of the URL.
    MissingNamesBeside,
}

/// A step that was carried out, or the reason why it was not.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredStep {
    /// The step.
    pub step: CheckupStep,
    /// Its document, or why there is none.
    pub run: Result<RunDoc, String>,
}

/// Returns the load points of a step with this many clients, over all its passes.
pub(super) fn points(
    measured: &[MeasuredStep],
    step: CheckupStep,
    clients: u32,
) -> impl Iterator<Item = &LoadPointDoc> {
    let of_step = measured.iter().filter(move |of| of.step == step);
    let runs = of_step.filter_map(|of| of.run.as_ref().ok());
    let points = runs.flat_map(|run| &run.load_points);
    points.filter(move |point| point.clients == clients && point.valid)
}

/// Returns the mean of a value over the passes of a step.
pub(super) fn mean(
    measured: &[MeasuredStep],
    step: CheckupStep,
    clients: u32,
    of: impl Fn(&LoadPointDoc) -> Option<f64>,
) -> Option<f64> {
    let values: Vec<f64> = points(measured, step, clients).filter_map(of).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns why a step has no valid load point with this many clients.
pub(super) fn reason(measured: &[MeasuredStep], step: CheckupStep, clients: u32) -> String {
    let mut of_step = measured.iter().filter(|of| of.step == step);
    let reason = of_step.find_map(|of| match &of.run {
        Err(reason) => Some(reason.clone()),
        Ok(run) => {
            let mut points = run.load_points.iter();
            points.find_map(|point| {
                let reason = point.invalid_reason.clone();
                reason.filter(|_| point.clients == clients)
            })
        }
    });
    reason.unwrap_or_else(|| "not measured".to_owned())
}

/// Returns the operations of a kind.
pub(super) fn op<'a>(point: &'a LoadPointDoc, kind: &str) -> Option<&'a OpDoc> {
    point.ops.get(kind).filter(|op| op.count > 0)
}

/// Returns the megabytes per second (10^6) of a load point.
pub(super) fn megabytes(point: &LoadPointDoc) -> f64 {
    point.throughput_mbps / 8.0
}

/// Returns the median service time of a kind in milliseconds.
pub(super) fn median_ms(point: &LoadPointDoc, kind: &str) -> Option<f64> {
    Some(op(point, kind)?.service_ns?.p50 as f64 / 1e6)
}
