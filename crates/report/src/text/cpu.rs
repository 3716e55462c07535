//! What the server's CPUs had to do for it, beside the generator's.

use super::grid::{RowName, grid, or_dash};
use crate::curve::{Curve, Row};
use crate::doc::{ServerCpuDoc, per};
use crate::units::{self, plain};

/// The table; one line where nothing was measured; `None` where nobody looked.
pub(super) fn table(curve: &Curve<'_>) -> Option<String> {
    let mut docs = curve.rows.iter().flat_map(docs);
    let measured = docs.clone().find(|doc| doc.not_measured.is_none());
    let Some(first) = measured else {
        let reason = docs.next()?.not_measured.as_deref()?;
        return Some(format!(
            "CPU of the server: not measured: {}\n",
            plain(reason)
        ));
    };
    let whose = match first.scope.as_deref() {
        Some("machine") => "all that its machine did, as told by ",
        _ => "",
    };
    let mut text = format!(
        "CPU of the server: {whose}{}; {}\n",
        plain(&first.source),
        units::counted(first.cores.unwrap_or(0).into(), "core"),
    );
    let header = vec![
        "clients",
        "cores busy",
        "of all",
        "us/op",
        "Mbit/s per %",
        "ops/s per %",
        "generator cores",
    ];
    text += &grid(
        RowName::Number,
        header,
        curve.rows.iter().map(cells).collect(),
    );
    let mut reasons = docs.filter_map(|doc| doc.not_measured.as_deref());
    if let Some(reason) = reasons.next() {
        text += &format!("-: not measured: {}\n", plain(reason));
    }
    Some(text)
}

fn docs<'a>(row: &'a Row<'_>) -> impl Iterator<Item = &'a ServerCpuDoc> + Clone {
    row.passes
        .iter()
        .filter_map(|pass| pass.server_cpu.as_ref())
}

fn cells(row: &Row<'_>) -> Vec<String> {
    let passes = row.passes.len() as f64;
    // A mean over passes only where each has a value.
    let mean = |of: fn(&ServerCpuDoc) -> Option<f64>| {
        let values: Vec<f64> = docs(row).filter_map(of).collect();
        (values.len() == row.passes.len()).then(|| values.iter().sum::<f64>() / passes)
    };
    let window_s: f64 = row.passes.iter().map(|pass| pass.window_s).sum();
    let busy = |seconds: f64| (window_s > 0.0).then(|| units::cores(seconds / window_s));
    let percent = mean(|doc| doc.percent);
    let for_each = |value: f64| or_dash(percent.map(|percent| units::rate(per(value, percent))));
    let generator_s: f64 = row
        .passes
        .iter()
        .map(|pass| pass.client.cpu_user_s + pass.client.cpu_system_s)
        .sum();
    vec![
        row.clients.to_string(),
        or_dash(mean(|doc| doc.busy_s).and_then(|mean_s| busy(mean_s * passes))),
        or_dash(percent.map(units::percent)),
        or_dash(mean(|doc| doc.us_per_op).map(units::cpu_us)),
        for_each(row.throughput_mbps),
        for_each(row.ops_per_s),
        or_dash(busy(generator_s)),
    ]
}
