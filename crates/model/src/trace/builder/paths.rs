//! Paths of a trace. Each is stored once, with its node in the name space.

use std::collections::HashMap;

use crate::trace::prepared::Names;
use crate::trace::{PathNumber, StepError, Template, path};

/// Characters that search patterns may contain, but names may not (MS-FSCC 2.1.5).
const WILDCARDS: [char; 6] = ['*', '?', '<', '>', '"', '|'];

/// The paths of a trace.
#[derive(Default)]
pub(super) struct Paths {
    pub(super) templates: Vec<Template>,
    /// Paths by name, with their nodes in the name space.
    known: HashMap<String, (PathNumber, u32)>,
    /// Nodes by name in lower case, because names ignore case.
    folded: HashMap<String, u32>,
    /// The topmost paths of a client's own. Everything below them belongs to that
    /// client.
    pub(super) own: Vec<PathNumber>,
    /// Whether only the first part of a path is the client's.
    is_below_client: bool,
}

impl Paths {
    /// Returns paths of which only the first part can be the client's.
    pub(super) fn below_client() -> Self {
        Self {
            is_below_client: true,
            ..Self::default()
        }
    }

    /// Returns the path with this name, and its node among `names`.
    pub(super) fn find(
        &mut self,
        name: &str,
        names: &mut Names,
    ) -> Result<(PathNumber, u32), StepError> {
        if let Some(&known) = self.known.get(name) {
            return Ok(known);
        }
        let path = self.find_clean(&clean(name)?, names);
        self.known.insert(name.to_owned(), path);
        Ok(path)
    }

    /// Forgets what finds a path by its name.
    pub(super) fn forget(&mut self) {
        self.known = HashMap::new();
        self.folded = HashMap::new();
    }

    fn find_clean(&mut self, name: &str, names: &mut Names) -> (PathNumber, u32) {
        if let Some(&known) = self.known.get(name) {
            return known;
        }
        let above = name.rsplit_once('\\').map(|(above, _)| above);
        let above = above.map(|above| self.find_clean(above, names));
        let template = if self.is_below_client {
            Template::below_client(name)
        } else {
            Template::new(name)
        };
        let path = PathNumber(self.templates.len() as u32);
        let is_own = |path: PathNumber| self.templates[path.0 as usize].is_own();
        let is_above_own = above.is_some_and(|(path, _)| is_own(path));
        let folded = name.to_lowercase();
        // A search pattern stands for files with other names, so no file is made
        // for it.
        let is_pattern = name.contains(WILDCARDS);
        if template.is_own() && !is_above_own && !is_pattern && !self.folded.contains_key(&folded) {
            self.own.push(path);
        }
        self.templates.push(template);
        let node = match (name.is_empty(), self.folded.get(&folded)) {
            (_, Some(&node)) => node,
            (is_root, None) => {
                let node = names.add(above.map(|(_, node)| node), path);
                if is_root || is_pattern {
                    names.appeared(node);
                }
                self.folded.insert(folded, node);
                node
            }
        };
        self.known.insert(name.to_owned(), (path, node));
        (path, node)
    }
}

/// Returns the name in the form in which it is stored.
pub(super) fn clean(name: &str) -> Result<String, StepError> {
    path::clean(name).map_err(|why| StepError::Name {
        name: name.chars().take(80).flat_map(char::escape_debug).collect(),
        why,
    })
}
