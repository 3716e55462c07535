//! The passes of a study, in the order in which they run.

use smbench_report::study::StudyDoc;

/// One pass of a profile on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    pub(super) server: usize,
    pub(super) profile: usize,
    /// Number of the pass, from 1.
    pub(super) pass: u32,
}

/// Returns every pass in the order in which they run: a pass on each server before
/// the next pass on any.
pub(super) fn slots(study: &StudyDoc) -> Vec<Slot> {
    let mut slots = Vec::new();
    for pass in 1..=study.passes {
        for profile in 0..study.profiles.len() {
            slots.extend((0..study.servers.len()).map(|server| Slot {
                server,
                profile,
                pass,
            }));
        }
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_alternate_between_servers() {
        let order: Vec<_> = {
            let server = |name: &str| smbench_report::study::StudyServerDoc {
                name: name.to_owned(),
                url: None,
                notes: Vec::new(),
                settings: Vec::new(),
                client: Vec::new(),
            };
            let study = StudyDoc {
                schema_version: 1,
                tool: smbench_report::doc::ToolDoc::this(),
                name: String::new(),
                title: String::new(),
                started: String::new(),
                command: Vec::new(),
                profiles: vec!["p".to_owned(), "q".to_owned()],
                load_points: vec![1],
                passes: 2,
                servers: vec![server("a"), server("b")],
                transfers: Vec::new(),
                comparisons: Vec::new(),
            };
            slots(&study).into_iter()
        }
        .map(|slot| (slot.pass, slot.profile, slot.server))
        .collect();
        assert_eq!(
            order,
            [
                (1, 0, 0),
                (1, 0, 1),
                (1, 1, 0),
                (1, 1, 1),
                (2, 0, 0),
                (2, 0, 1),
                (2, 1, 0),
                (2, 1, 1),
            ]
        );
    }
}
