//! What a replay expects to find: files and directories that are opened, asked
//! about or deleted before anything has made them.
//!
//! dbench has clients make what they miss when they open it. Here it is there
//! before the load begins, so that no operation is one that was not recorded.

/// What is there before a client begins, each after the directory it is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Population {
    /// Indices of paths.
    pub(crate) made: Vec<(u32, Made)>,
    /// Indices of the paths below which everything is one client's alone.
    pub(crate) own: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Directory,
    /// With so many bytes.
    File(u64),
}

impl Population {
    pub(super) fn bytes(&self) -> u64 {
        let bytes = |(_, made): &(u32, Made)| match made {
            Made::Directory => 0,
            Made::File(size) => *size,
        };
        let sum = self.made.iter().map(bytes);
        sum.fold(0, u64::saturating_add)
    }

    pub(super) fn files(&self) -> u32 {
        let files = self.made.iter();
        files
            .filter(|(_, made)| matches!(made, Made::File(_)))
            .count() as u32
    }
}

/// Whether something is there, as far as the records before tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Unknown,
    /// Since this record.
    There(u64),
    Gone(u64),
}

/// A name, whatever its case.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    parent: Option<u32>,
    /// The path that had it first.
    path: u32,
    state: State,
    /// The record that deleted it and all below it.
    deleted_tree: u64,
    /// Where in the population what has this name now is: not once it was emptied,
    /// or deleted and made anew.
    made: Option<usize>,
    /// The end of what was read and written of it since it was empty.
    end: u64,
}

/// The name space of a client while its records are looked through.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    nodes: Vec<Node>,
    now: u64,
    population: Population,
}

impl Names {
    /// A name that has not been seen before.
    pub(super) fn add(&mut self, parent: Option<u32>, path: u32) -> u32 {
        self.nodes.push(Node {
            parent,
            path,
            ..Node::default()
        });
        (self.nodes.len() - 1) as u32
    }

    /// Goes on to the next record.
    pub(super) const fn pass(&mut self) {
        self.now += 1;
    }

    fn node(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }

    fn state(&self, at: u32) -> State {
        let mut state = self.nodes[at as usize].state;
        let mut above = Some(at);
        while let Some(at) = above {
            let node = &self.nodes[at as usize];
            let since = match state {
                State::Unknown => 0,
                State::There(since) | State::Gone(since) => since,
            };
            if node.deleted_tree > since {
                state = State::Gone(node.deleted_tree);
            }
            above = node.parent;
        }
        state
    }

    /// It was found, or its parent was. Where its directory came only with the
    /// records it cannot have been there before them, so nothing is made for it: the
    /// replay goes otherwise there.
    pub(super) fn found(&mut self, at: u32, made: Made) {
        self.parent_found(at);
        match (self.state(at), self.made(at)) {
            (State::Unknown, _) => {
                self.appeared(at);
                let Node { parent, path, .. } = self.nodes[at as usize];
                if parent.is_none_or(|parent| self.was_there(parent)) {
                    self.population.made.push((path, made));
                    let place = self.population.made.len() - 1;
                    self.node(at).made = Some(place);
                }
            }
            // What others are in is a directory, whatever it was taken for.
            (_, Some(place)) if made == Made::Directory => {
                self.population.made[place].1 = made;
            }
            // Nobody knows how it came back: with a directory that was renamed, perhaps.
            // It is not what was there before.
            (State::Gone(_), _) => self.appeared(at),
            _ => {}
        }
    }

    /// It was opened, or made if it was not there. Unless it is known to be gone
    /// it is taken to have been there, with what is read of it.
    pub(super) fn found_or_made(&mut self, at: u32, made: Made) {
        match self.state(at) {
            State::Gone(_) => self.created(at),
            State::Unknown | State::There(_) => self.found(at, made),
        }
    }

    /// It was made, or emptied. A directory that is there already stays as it is:
    /// of old files nobody knows that it could not be made.
    pub(super) fn created(&mut self, at: u32) {
        self.parent_found(at);
        let made = self.made(at).map(|place| self.population.made[place].1);
        if made != Some(Made::Directory) {
            self.appeared(at);
        }
    }

    /// What had the one name has the other one.
    pub(super) fn renamed(&mut self, from: u32, to: u32) {
        // Another case alone is the same name.
        if from == to {
            return;
        }
        let (end, made) = (self.end(from), self.made(from));
        self.vanished(from);
        self.created(to);
        let to = self.node(to);
        (to.end, to.made) = (end, made);
    }

    /// Whether it is made for a replay, under this name.
    fn was_there(&self, at: u32) -> bool {
        let path = self.nodes[at as usize].path;
        self.made(at)
            .is_some_and(|place| self.population.made[place].0 == path)
    }

    pub(super) fn parent_found(&mut self, at: u32) {
        if let Some(parent) = self.nodes[at as usize].parent {
            self.found(parent, Made::Directory);
        }
    }

    /// It is there from now on, with nothing in it.
    pub(super) fn appeared(&mut self, at: u32) {
        let now = self.now;
        let node = self.node(at);
        (node.state, node.made, node.end) = (State::There(now), None, 0);
    }

    /// Neither it nor anything below it is there any more.
    pub(super) fn vanished(&mut self, at: u32) {
        let now = self.now;
        let node = self.node(at);
        (node.state, node.deleted_tree) = (State::Gone(now), now);
    }

    /// Data up to `end` was there to be read; of what is deleted as well, while it is
    /// open.
    pub(super) fn read_to(&mut self, at: u32, end: u64) {
        let known = self.nodes[at as usize].end;
        if let (Some(place), true) = (self.nodes[at as usize].made, end > known)
            && let Made::File(size) = &mut self.population.made[place].1
        {
            *size = end;
        }
        self.written_to(at, end);
    }

    pub(super) fn written_to(&mut self, at: u32, end: u64) {
        let node = self.node(at);
        node.end = node.end.max(end);
    }

    /// Its place among what is made for a replay, if it still is that.
    pub(super) fn made(&self, at: u32) -> Option<usize> {
        match self.state(at) {
            State::There(_) => self.nodes[at as usize].made,
            State::Unknown | State::Gone(_) => None,
        }
    }

    /// The end of a file, as far as is known.
    pub(super) fn end(&self, at: u32) -> u64 {
        self.nodes[at as usize].end
    }

    pub(super) fn into_population(self) -> Population {
        self.population
    }
}
