//! The work of a session as counts of actions, sizes, files and pauses.

use std::collections::{BTreeMap, HashMap};

use super::asked::{ATTRIBUTES, bytes_of, command_of, info_name, is_at_end, is_past_end, is_sized};
use super::issued::DistilledCounts;
use super::opens::{DistilledOpen, DistilledOpens, create_action};
use super::pace::SessionPace;
use crate::trace::TraceLine;

/// Files of a session, and different sizes, that are kept.
const FILES_MAX: usize = 10_000;
const SIZES_MAX: usize = 4096;
/// LOCK that unlocks, and one that is exclusive (MS-SMB2 2.2.26.1).
const UNLOCK: u32 = 4;
const EXCLUSIVE: u32 = 2;

/// The work of a session, or of several that are alike.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionWork {
    /// Actions by the lines of their table in a profile.
    pub(super) actions: BTreeMap<String, u64>,
    /// Requests that the profile is compared with.
    pub(super) counts: DistilledCounts,
    /// Bytes of READs and WRITEs.
    pub(super) sizes: BTreeMap<u64, u64>,
    /// READs and WRITEs behind another one of their open, and those at its end.
    pub(super) placed: u64,
    pub(super) sequential: u64,
    /// Files that were read or written, and their bytes.
    pub(super) files: HashMap<u32, u64>,
    /// Files that were open for most of the session.
    pub(super) held_files: u64,
    pub(super) pace: SessionPace,
    opens: DistilledOpens,
    /// Opens with requests of their own that have ended.
    closed: Vec<(DistilledOpen, Option<u64>)>,
    /// The compound whose answers come now.
    compound: Option<u64>,
    parts: Vec<TraceLine>,
    times: Option<(u64, u64)>,
}

impl SessionWork {
    /// Adds a request. They come in the order of their answers.
    pub(super) fn add(&mut self, line: &TraceLine) {
        let command = command_of(line);
        // Sessions and trees are set up before the load, and a CANCEL has no answer.
        if matches!(
            command,
            "negotiate"
                | "session_setup"
                | "logoff"
                | "tree_connect"
                | "tree_disconnect"
                | "cancel"
        ) {
            return;
        }
        self.counts
            .add(command, bytes_of(line).filter(|_| is_sized(command)));
        if line.group != self.compound {
            self.end_compound();
        }
        match line.group {
            Some(group) => {
                self.compound = Some(group);
                self.parts.push(line.clone());
            }
            None => {
                self.timed(std::slice::from_ref(line));
                self.single(line);
            }
        }
    }

    /// Notes when the requests of a frame were in flight. They are one operation of a client.
    fn timed(&mut self, frame: &[TraceLine]) {
        let is_worked_on = |line: &&TraceLine| command_of(line) != "change_notify";
        let answered = frame
            .iter()
            .filter(|line| line.took_ns.is_some())
            .filter(is_worked_on);
        let sent = answered.clone().map(|line| line.at_ns).min();
        let done = answered.map(TraceLine::done_ns).max();
        if let Some((sent, done)) = sent.zip(done) {
            self.pace.add(sent, done);
            let (begin, end) = self.times.unwrap_or((sent, done));
            self.times = Some((begin.min(sent), end.max(done)));
        }
    }

    /// Ends the session.
    pub(super) fn finish(&mut self) {
        self.end_compound();
        for open in self.opens.rest() {
            self.closed.push((open, None));
        }
        let (begin, end) = self.times.unwrap_or_default();
        for (open, closed_ns) in std::mem::take(&mut self.closed) {
            let lasted = closed_ns.unwrap_or(end).saturating_sub(open.begin_ns);
            // The clients of a profile hold their files open.
            if open.is_used && u128::from(lasted) * 2 > u128::from(end - begin) {
                self.held_files += 1;
                self.counts.take_back("create");
                if closed_ns.is_some() {
                    self.counts.take_back("close");
                }
            } else {
                self.did(open.create);
            }
        }
        self.pace.finish();
    }

    /// Adds the work of another session, which is finished as well.
    pub(super) fn join(&mut self, other: Self) {
        for (action, count) in other.actions {
            *self.actions.entry(action).or_default() += count;
        }
        for (size, count) in other.sizes {
            *self.sizes.entry(size).or_default() += count;
        }
        for (file, bytes) in other.files {
            let known = self.files.entry(file).or_default();
            *known = bytes.max(*known);
        }
        self.counts.join(&other.counts);
        self.placed += other.placed;
        self.sequential += other.sequential;
        self.held_files += other.held_files;
        self.pace.join(&other.pace);
    }

    pub(super) fn requests(&self) -> u64 {
        self.counts.commands.values().sum()
    }

    pub(super) fn action_count(&self) -> u64 {
        self.actions.values().sum()
    }

    fn did(&mut self, action: impl Into<String>) {
        *self.actions.entry(action.into()).or_default() += 1;
    }

    /// Counts a size that an action of a profile draws.
    fn sized(&mut self, line: &TraceLine) {
        let Some(bytes) = bytes_of(line) else { return };
        if self.sizes.len() < SIZES_MAX || self.sizes.contains_key(&bytes) {
            *self.sizes.entry(bytes).or_default() += 1;
        }
    }

    /// Ends a compound: one that a profile can have is an action, others are single requests.
    fn end_compound(&mut self) {
        self.compound = None;
        let parts = std::mem::take(&mut self.parts);
        self.timed(&parts);
        let commands: Vec<_> = parts.iter().map(command_of).collect();
        let is_done = |line: &TraceLine| line.status.as_deref() == Some("STATUS_SUCCESS");
        let action = match (&commands[..], &parts[..]) {
            (["create", "read", "close"], _) => Some("op = \"create_read_close\"".to_owned()),
            (["create", "query_info", "close"], [_, one, _]) => info_name(one)
                .map(|class| format!("op = \"create_query_close\"\nclass = \"{class}\"")),
            (["create", "set_info", "close"], [_, one, _]) => info_name(one)
                .filter(|class| ATTRIBUTES.contains(&class.as_str()))
                .map(|class| format!("op = \"create_set_close\"\nclass = \"{class}\"")),
            _ => None,
        };
        let is_missing =
            |line: &&TraceLine| line.status.as_deref() == Some("STATUS_OBJECT_NAME_NOT_FOUND");
        match action {
            // The rest of the compound fails with its CREATE.
            Some(_) if parts.first().filter(is_missing).is_some() => {
                self.did("op = \"lookup_missing\"");
            }
            Some(action) if is_done(&parts[0]) => {
                if let [create, read, _] = &parts[..]
                    && command_of(read) == "read"
                {
                    self.sized(read);
                    let opened = create.create.as_ref().and_then(|create| create.size);
                    self.moved(read, read.path.or(create.path), opened.unwrap_or(0));
                }
                self.did(action);
            }
            _ => parts.iter().for_each(|line| self.single(line)),
        }
    }

    /// Adds a request that is no part of an action with others before it.
    fn single(&mut self, line: &TraceLine) {
        let command = command_of(line);
        let is_done = line.status.as_deref() == Some("STATUS_SUCCESS");
        if let Some(open) = self.opens.get(line)
            && !matches!(command, "create" | "close" | "query_directory")
        {
            open.is_used = true;
        }
        match command {
            "create" => self.opened(line),
            "close" => {
                if let Some(open) = self.opens.end(line) {
                    self.closed(open, line.at_ns);
                }
            }
            "read" | "write" if !is_at_end(line) => {
                self.sized(line);
                self.placed(line);
                let open = self.opens.get(line).map(|open| (open.path, open.bytes));
                let (path, bytes) = open.unwrap_or_default();
                self.moved(line, line.path.or(path), bytes);
                self.did(format!("op = \"{command}\""));
            }
            "lock" if line.flags.unwrap_or(0) & UNLOCK == 0 => {
                let mut action = "op = \"lock\"".to_owned();
                if line.flags.unwrap_or(0) & EXCLUSIVE != 0 {
                    action += "\nexclusive = true";
                }
                if is_past_end(line) {
                    action += "\npast_end = true";
                }
                self.did(action);
            }
            "flush" | "echo" => self.did(format!("op = \"{command}\"")),
            "query_info" => {
                if let Some(class) = info_name(line) {
                    self.did(format!("op = \"query_info\"\nclass = \"{class}\""));
                }
            }
            "set_info" if is_done => self.set(line),
            "query_directory" => {
                if let Some(open) = self.opens.get(line) {
                    open.list(line);
                }
            }
            "change_notify" => self.did("op = \"change_notify\""),
            "ioctl" => match line.level {
                Some(0x0014_40f2) => self.changed(line, "op = \"copy_chunk\"".to_owned()),
                Some(0x0014_01fc) => self.did("op = \"query_interfaces\""),
                _ => {}
            },
            _ => {}
        }
    }

    fn opened(&mut self, line: &TraceLine) {
        let Some(create) = &line.create else { return };
        match line.status.as_deref() {
            Some("STATUS_SUCCESS") if line.handle.is_some() => self.opens.begin(line, create),
            Some("STATUS_SUCCESS") => self.did(create_action(create)),
            Some("STATUS_OBJECT_NAME_NOT_FOUND") => self.did("op = \"lookup_missing\""),
            _ => {}
        }
    }

    fn set(&mut self, line: &TraceLine) {
        match info_name(line) {
            Some(class) if ATTRIBUTES.contains(&class.as_str()) => {
                self.did(format!("op = \"set_info\"\nclass = \"{class}\""));
            }
            Some(class) => {
                self.changed(line, format!("op = \"set_info\"\nclass = \"{class}\""));
            }
            None => {}
        }
    }

    /// Notes an action that has an open of its own. A second one of the open is counted
    /// apart.
    fn changed(&mut self, line: &TraceLine, action: String) {
        match self.opens.get(line) {
            Some(open) if open.change.is_none() => open.change = Some(action),
            _ => self.did(action),
        }
    }

    fn closed(&mut self, open: DistilledOpen, at_ns: u64) {
        if let Some(action) = open.change {
            self.did(action);
        } else if open.listed > 0 {
            let class = open.listing.as_deref().unwrap_or("id_both_directory");
            if open.is_listed {
                self.did(format!("op = \"list\"\nclass = \"{class}\""));
            } else {
                let action = format!("op = \"query_directory\"\nclass = \"{class}\"");
                *self.actions.entry(action).or_default() += open.listed;
                self.did(open.create);
            }
        } else if open.is_used && self.closed.len() < FILES_MAX {
            self.closed.push((open, Some(at_ns)));
        } else {
            self.did(open.create);
        }
    }

    /// Notes whether a READ or a WRITE begins where the one before it ends.
    fn placed(&mut self, line: &TraceLine) {
        let (Some(offset), Some(open)) = (line.offset, self.opens.get(line)) else {
            return;
        };
        let end = offset.saturating_add(bytes_of(line).unwrap_or(0));
        if let Some(before) = open.end.replace(end) {
            self.placed += 1;
            self.sequential += u64::from(before == offset);
        }
    }

    /// Notes the file of a READ or a WRITE, and how long it is at least: it had `opened` bytes.
    fn moved(&mut self, line: &TraceLine, path: Option<u32>, opened: u64) {
        let end = line
            .offset
            .unwrap_or(0)
            .saturating_add(bytes_of(line).unwrap_or(0));
        let Some(path) = path else { return };
        if self.files.len() < FILES_MAX || self.files.contains_key(&path) {
            let known = self.files.entry(path).or_default();
            *known = end.max(opened).max(*known);
        }
    }
}
