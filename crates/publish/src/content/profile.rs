//! The results of one profile, and names that the parts of a report share.

use itertools::Itertools as _;
use smbench_report::RunDoc;
use smbench_report::curve::{Curve, CurveRow};
use smbench_report::load::StageName;
use smbench_report::metric::Metric;
use smbench_report::study::{Study, slug};

/// Results of one profile.
pub(super) struct ProfileContent<'a> {
    pub(super) name: &'a str,
    /// Index of the profile in the study.
    pub(super) number: usize,
    /// First part of its plots' names.
    pub(super) stem: String,
    /// Servers with a result, in the order of the study.
    pub(super) servers: Vec<MeasuredServer<'a>>,
    /// Servers with a search for a limit.
    pub(super) searches: Vec<MeasuredServer<'a>>,
    /// Names of servers that have no result.
    pub(super) missing: Vec<&'a str>,
}

/// A server with its result of one profile.
pub(super) struct MeasuredServer<'a> {
    /// Name of the server in the study.
    pub(super) name: &'a str,
    /// Index of the server in the study. It decides the server's style in all
    /// plots.
    pub(super) number: usize,
    pub(super) run: &'a RunDoc,
    pub(super) curve: Curve<'a>,
}

impl<'a> ProfileContent<'a> {
    pub(super) fn of(study: &'a Study, profile: usize) -> Self {
        let name = study.doc.profile_name(profile);
        let measured = study
            .of_profile(profile)
            .filter(|result| !result.run.load_points.is_empty())
            .map(|result| MeasuredServer {
                name: study.doc.server_name(result.server),
                number: result.server,
                run: &result.run,
                curve: Curve::of(&result.run.load_points),
            });
        let (searches, servers): (Vec<_>, Vec<_>) =
            measured.partition(|server| server.run.find.is_some());
        let has = |server| {
            let mut measured = servers.iter().chain(&searches);
            measured.any(|measured: &MeasuredServer<'_>| measured.number == server)
        };
        // Documents that were not planned together have one profile each.
        let is_planned = !study.doc.command.is_empty();
        let missing = (0..study.doc.servers.len()).filter(|server| is_planned && !has(*server));
        let missing = missing
            .map(|server| study.doc.server_name(server))
            .collect();
        Self {
            name,
            number: profile,
            stem: format!("{:02}-{}", profile + 1, slug(name)),
            servers,
            searches,
            missing,
        }
    }

    /// Returns whether much data was moved. If not, the metric is operations per
    /// second.
    pub(super) fn moves_data(&self) -> bool {
        let mut curves = self.servers.iter().map(|server| server.curve.metric());
        curves.any(|metric| metric == Metric::Throughput)
    }

    /// Returns whether load points are stages, which follow one another in time.
    pub(super) fn is_staged(&self) -> bool {
        self.stage_name().is_some()
    }

    /// Returns what its stages are called; `None` if load points are no stages.
    pub(super) fn stage_name(&self) -> Option<StageName> {
        let mut rows = self.servers.iter().flat_map(|server| &server.curve.rows);
        rows.find_map(|row| Some(row.load().stage?.name))
    }

    /// Returns whether every server has just one load point, which does not make a
    /// line.
    pub(super) fn has_one_point(&self) -> bool {
        let mut servers = self.servers.iter();
        servers.all(|server| server.curve.rows.len() == 1)
    }
}

/// Returns why passes of a row are not valid, each reason once.
pub(super) fn reasons(row: &CurveRow<'_>) -> String {
    let reasons = row
        .invalid
        .iter()
        .map(|pass| pass.invalid_reason.as_deref());
    let reasons = reasons.map(|text| text.unwrap_or("no reason given"));
    reasons.unique().join("; ")
}

/// Returns why the generator was the limit of a row, each reason once; `None` if it
/// was not the limit.
pub(super) fn limits(row: &CurveRow<'_>) -> Option<String> {
    let limited = row.passes.iter().filter(|pass| pass.is_client_limited());
    let reasons = limited.map(|pass| pass.generator.as_ref()?.reason.as_deref());
    let reasons = reasons.map(|text| text.unwrap_or("no reason given"));
    let reasons = reasons.unique().join("; ");
    (!reasons.is_empty()).then_some(reasons)
}

pub(super) fn clients(clients: u32) -> String {
    smbench_report::units::counted(clients.into(), "client")
}
