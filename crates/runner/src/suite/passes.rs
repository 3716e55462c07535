//! The passes of a study, in the order in which they run.

use smbench_report::study::StudyDoc;

/// One pass of a profile on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PassId {
    pub(super) server: usize,
    pub(super) profile: usize,
    /// Number of the pass, from 1.
    pub(super) number: u32,
}

/// Returns every pass in the order in which they run: a pass on each server before
/// the next pass on any.
pub(super) fn all_passes(study: &StudyDoc) -> Vec<PassId> {
    let mut passes = Vec::new();
    for number in 1..=study.passes {
        for profile in 0..study.profiles.len() {
            passes.extend((0..study.servers.len()).map(|server| PassId {
                server,
                profile,
                number,
            }));
        }
    }
    passes
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
                smbd: None,
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
                searches: Vec::new(),
                comparisons: Vec::new(),
            };
            all_passes(&study).into_iter()
        }
        .map(|pass| (pass.number, pass.profile, pass.server))
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
