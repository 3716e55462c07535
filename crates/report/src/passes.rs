//! Joins passes that were measured separately into one document.
//!
//! Not here: averages ([`crate::curve`]).

use smbench_model::record::add_clause;

use crate::curve::{Curve, CurveRow};
use crate::doc::{
    CurveDoc, FindDoc, LoadPointDoc, MachineDoc, OutcomeDoc, PeakDoc, RepeatsDoc, RunDoc,
    ServerLocation, SoakDoc,
};

/// Note for passes on machines that differ in more than the number of usable CPUs.
/// Different numbers of CPUs have a note of their own.
const OTHER_MACHINE: &str = "not the same machine generated the load of all passes, or it \
                             changed in between: no pass names its machine";

impl RunDoc {
    /// Renumbers all load points to pass `repeat`, from 1.
    #[must_use]
    pub fn as_pass(mut self, repeat: u32) -> Self {
        for point in &mut self.load_points {
            point.repeat = repeat;
        }
        self.summarised()
    }

    /// Returns whether another document has further passes of this result. It then has
    /// the same label, work, server and client, and is not a copy.
    pub(crate) fn has_more_passes_in(&self, other: &Self) -> bool {
        let is_alike = match (&self.find, &other.find) {
            (None, None) => true,
            (Some(own), Some(other)) => own.is_for_same_limit_as(other),
            _ => false,
        };
        is_alike
            && self.label.is_some()
            && self.label == other.label
            && self.plan.profile == other.plan.profile
            && self.plan.digest == other.plan.digest
            && self.is_of_same_server_as(other)
            // Older documents do not say which tree was used.
            && self.server.tree.zip(other.server.tree).is_none_or(|(one, two)| one == two)
            && !other
                .load_points
                .iter()
                .any(|point| self.has_measured(point))
    }

    /// Returns whether two documents are of the same server in the same sessions, and
    /// of the same client.
    pub(crate) fn is_of_same_server_as(&self, other: &Self) -> bool {
        self.plan.sessions == other.plan.sessions
            && self.server.has_same_terms_as(&other.server)
            && self.is_beside(other)
    }

    /// Returns whether two documents are of the same server and of the same client, whatever was
    /// negotiated.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let (one, two) = (&self.server, &other.server);
        let is_embedded = one.place == ServerLocation::Embedded;
        one.place == two.place
            && (is_embedded || one.url == two.url)
            && one.flush == two.flush
            // Older documents do not say what is known of writes.
            && one.write.zip(two.write).is_none_or(|(one, two)| one == two)
            && self.plan.generator == other.plan.generator
            && self.tool == other.tool
    }

    /// Returns whether a load point with the same figures is among those of this
    /// document.
    fn has_measured(&self, point: &LoadPointDoc) -> bool {
        let mut own = self.load_points.iter();
        own.any(|known| {
            let repeat = known.repeat;
            *known
                == LoadPointDoc {
                    repeat,
                    ..point.clone()
                }
        })
    }

    /// Adds the passes of another document of the same plan, numbered after its own.
    pub(crate) fn add_passes(&mut self, mut other: Self) {
        // A search numbers the probes of a load. As a pass, all have its number.
        if self.is_single_search() {
            *self = self.clone().as_pass(1);
        }
        let own = self.load_points.iter().map(|point| point.repeat).max();
        let own = own.unwrap_or(0);
        if other.is_single_search() {
            other = other.as_pass(own.saturating_add(1));
        } else {
            for point in &mut other.load_points {
                point.repeat = point.repeat.saturating_add(own);
            }
            let joined = other.find.iter_mut().flat_map(|find| &mut find.passes);
            joined.for_each(|pass| pass.pass = pass.pass.saturating_add(own));
        }
        if let Some(joined) = Self::pooled(vec![self.clone(), other]) {
            *self = joined;
        }
    }

    /// Joins the load points of several documents of the same plan and server.
    /// Returns `None` without documents. The rest comes from the first document,
    /// with these exceptions:
    ///
    /// - The outcome is the first one that is not "complete". Conditions are left out.
    /// - [`ServerDoc::otherwise`](crate::doc::ServerDoc::otherwise) lists how the server differed in other
    ///   documents.
    /// - A note says if another machine generated the load of some passes.
    /// - Trends of soaks are left out, because each pass has its own.
    /// - Searches are joined as in [`FindDoc::pooled`](crate::doc::FindDoc::pooled).
    /// - The generator's number of CPUs is left out if it differs, because no share
    ///   of them would be right.
    #[must_use]
    pub fn pooled(passes: Vec<Self>) -> Option<Self> {
        let finds = passes
            .iter()
            .map(Self::as_found)
            .collect::<Option<Vec<_>>>();
        let mut passes = with_judged_probes(passes).into_iter();
        let mut all = passes.next()?;
        all.find = finds.map_or(all.find, FindDoc::pooled);
        // They were judged on one document.
        all.conditions.clear();
        for pass in passes {
            all.soak = None;
            all.server.add_pass(&pass.server);
            let mut notes = all.server.notes.iter();
            if is_from_elsewhere(&all, &pass) && !notes.any(|note| note == OTHER_MACHINE) {
                all.server.notes.push(OTHER_MACHINE.to_owned());
            }
            let differ = |(of_all, of_pass)| of_all != of_pass;
            if all
                .generator_cpus()
                .zip(pass.generator_cpus())
                .is_some_and(differ)
            {
                all.machine = all.machine.map(|machine| MachineDoc {
                    cpus: None,
                    ..machine
                });
                let note = "not all passes had as many CPUs to generate their load: the \
                            share of them that was used is not known";
                all.server.notes.push(note.to_owned());
            }
            all.load_points.extend(pass.load_points);
            if all.outcome == OutcomeDoc::Complete {
                (all.outcome, all.outcome_reason) = (pass.outcome, pass.outcome_reason);
            }
            add_clause(&mut all.leftover, pass.leftover);
            all.recycle_bins.extend(pass.recycle_bins);
            add_clause(&mut all.space_kept, pass.space_kept);
            add_clause(&mut all.space_unchecked, pass.space_unchecked);
        }
        let passes = all.load_points.iter().map(|point| point.repeat).max();
        all.plan.repeat = passes.unwrap_or(1);
        Some(all.summarised())
    }

    /// Returns a document that was saved under load with what follows from its load points.
    pub(crate) fn completed(self) -> Self {
        let soak = SoakDoc::of(&self);
        Self { soak, ..self }.summarised()
    }

    fn summarised(mut self) -> Self {
        (self.repeats, self.peak, self.curve) = summary(&self.load_points);
        // The probes of a search are no curve.
        self.curve = self.curve.filter(|_| self.find.is_none());
        self
    }

    /// Returns the number of passes.
    #[must_use]
    pub fn passes(&self) -> u32 {
        if self.is_single_search() {
            return 1;
        }
        let passes = self.load_points.iter().map(|point| point.repeat);
        passes.max().unwrap_or(1)
    }

    fn is_single_search(&self) -> bool {
        let find = self.find.as_ref();
        find.is_some_and(|find| find.passes.is_empty())
    }

    /// Returns the number of the pass, and what its search has found.
    fn as_found(&self) -> Option<(u32, FindDoc)> {
        let pass = self.load_points.first().map_or(1, |point| point.repeat);
        Some((pass, self.find.clone()?))
    }
}

/// Leaves out load points of searches that were cut off before they were judged, except
/// those of the last one. So probe N stays load point N when they are joined.
fn with_judged_probes(mut passes: Vec<RunDoc>) -> Vec<RunDoc> {
    let followed = passes.len().saturating_sub(1);
    for pass in passes.iter_mut().take(followed) {
        if let Some(find) = &pass.find {
            pass.load_points.truncate(find.probes.len());
        }
    }
    passes
}

/// Returns whether two runs were generated on machines that differ in more than the
/// number of usable CPUs, as far as both are known.
fn is_from_elsewhere(all: &RunDoc, pass: &RunDoc) -> bool {
    let apart_from_cpus = |machine: &MachineDoc| MachineDoc {
        cpus: None,
        ..machine.clone()
    };
    let machines = all.machine.as_ref().zip(pass.machine.as_ref());
    machines.is_some_and(|(all, pass)| !apart_from_cpus(all).is_same(&apart_from_cpus(pass)))
}

/// Derives means, the peak and the overall response time from several load points.
pub(crate) fn summary(
    load_points: &[LoadPointDoc],
) -> (Vec<RepeatsDoc>, Option<PeakDoc>, Option<CurveDoc>) {
    let curve = Curve::of(load_points);
    // At one rate, the number of clients is no load. Units have a rate each.
    let counts_units = |point: &LoadPointDoc| point.units.is_some();
    let is_curve = |point: &LoadPointDoc| {
        point.rate.is_some() || point.rated().is_none() || counts_units(point)
    };
    let is_curve = load_points.iter().all(is_curve);
    let overall = is_curve.then(|| curve.overall()).flatten();
    let repeats = curve.rows.iter().filter_map(CurveRow::pooled).collect();
    (repeats, curve.peak(), overall)
}
