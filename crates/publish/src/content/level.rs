//! The load at which the report shows details of each server.

use itertools::Itertools as _;
use smbench_report::Load;
use smbench_report::curve::CurveRow;

use super::profile::{MeasuredServer, ProfileContent};

/// One load point of each server of a profile.
pub(super) struct Level<'a> {
    /// Servers that have such a load point, each with its row.
    pub(super) rows: Vec<(&'a MeasuredServer<'a>, &'a CurveRow<'a>)>,
    /// Whether the number of clients is the same for all servers.
    is_common: bool,
}

impl<'a> Level<'a> {
    /// Chooses the highest number of clients at which all servers have a valid load
    /// point. Without such a number, it is each server's peak, or else its last
    /// load point.
    pub(super) fn of(profile: &'a ProfileContent<'a>) -> Self {
        let servers = || profile.servers.iter();
        let valid = |server: &'a MeasuredServer<'a>, load| {
            server.curve.row(load).filter(|row| row.is_quotable())
        };
        let candidates = servers().flat_map(|server| &server.curve.rows);
        let mut candidates = candidates.map(CurveRow::load).sorted().rev();
        let is_common = |&load: &Load| servers().all(|server| valid(server, load).is_some());
        let common = candidates.find(is_common);
        let rows = servers().filter_map(|server| {
            let row = match common {
                Some(load) => valid(server, load),
                None => server.curve.peak_row().or(server.curve.rows.last()),
            };
            row.filter(|row| row.latency_ns.is_some())
                .map(|row| (server, row))
        });
        let rows = rows.collect_vec();
        Self {
            is_common: common.is_some() || rows.len() == 1,
            rows,
        }
    }

    /// Returns the name of the load: `at 8 clients`.
    pub(super) fn name(&self) -> String {
        match self.rows.first() {
            Some((_, row)) if self.is_common => format!("at {}", row.load()),
            _ => "at each server's peak".to_owned(),
        }
    }

    /// Returns the name of a line: the server, and its clients if they differ
    /// between servers.
    pub(super) fn line(&self, server: &MeasuredServer<'_>, row: &CurveRow<'_>) -> String {
        if self.is_common {
            server.name.to_owned()
        } else {
            format!("{} ({})", server.name, row.load())
        }
    }

    /// Explains why servers are at different loads; `None` if they are not.
    pub(super) fn remark(&self) -> Option<String> {
        (!self.is_common).then(|| {
            "no load point is valid for all servers: each is shown at its peak, or its last load \
             point where it has no peak"
                .to_owned()
        })
    }
}
