//! State of the clients of a group and of their slots. Not here: what changes it.

use smbench_model::files::FileSet;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::ioctl::copy_chunk::ResumeKey;
use smbench_protocol::command::query_directory::DirectoryClass;
use smbench_protocol::connection::TreeId;
use smbench_protocol::handshake::SessionSetup;
use smbench_protocol::{FileId, SessionIndex};

use super::channel_replays::ChannelReplays;
use crate::drivers::listings::Listings;
use crate::drivers::prepare::FilePath;
use crate::drivers::renewals::Renewals;
use crate::drivers::walking::WalkedDirectory;
use crate::smb::session::caching::Cache;

/// State of the clients of a group.
pub(crate) struct GroupState<E> {
    pub(super) encoder: E,
    /// Oplocks and leases granted to the sessions.
    pub(super) cache: Cache,
    /// Listings that clients keep, if leases on directories are asked for.
    pub(super) listings: Option<Box<Listings>>,
    pub(super) renewals: Renewals<RenewalWait>,
    /// Slots whose log-ons wait for a credit.
    pub(super) unfinished: Vec<u32>,
    /// Calls of a lost connection that are sent again; `None` if none was lost.
    pub(super) replays: Option<Box<ChannelReplays>>,
    /// State of each member.
    pub(super) held: Box<[ClientSession]>,
    /// Number of slots of each member.
    pub(super) outstanding: usize,
    /// State of each slot, in the order of the members; empty if no action needs
    /// it.
    pub(super) places: Box<[SlotObjects]>,
}

/// The session of a client and its open files.
pub(crate) struct ClientSession {
    /// Number of the client.
    pub(super) client: u32,
    /// Session index, the same on every connection of the group.
    pub(super) session: SessionIndex,
    /// Open files, private or shared; empty if no action uses them.
    pub(super) files: Box<[FileId]>,
    /// Path of a file; `None` if no action opens files.
    pub(super) path: Option<Box<FilePath>>,
    /// Resume keys of the files as sources of copies; empty if no action copies.
    pub(super) resume_keys: Box<[ResumeKey]>,
    /// The run's directory, if any action uses it.
    pub(super) directory: FileId,
}

/// State of a slot.
#[derive(Default)]
pub(crate) struct SlotObjects {
    /// Open that the CREATE of its action created.
    pub(super) open: FileId,
    /// Tree that the TREE_CONNECT of its action connected.
    pub(super) tree: TreeId,
    /// Oplock of the open.
    pub(super) level: OplockLevel,
    /// What the answer to its request says about caching.
    pub(super) caching: CachingNews,
    /// Number of outstanding answers to its frame of several requests.
    pub(super) due: u8,
    /// Whether an answer of this frame said that the session has expired.
    pub(super) expired: bool,
    /// The information that its listing asks for.
    pub(super) lists: Option<DirectoryClass>,
    /// The directory of a walk that it lists; `None` if clients do not walk.
    pub(super) walked: Option<Box<WalkedDirectory>>,
    /// A further session that is set up or being set up.
    pub(super) further: Option<Further>,
    /// Paths of its scratch names, in the order of
    /// [`ScratchName::ALL`](smbench_model::files::ScratchName::ALL).
    pub(super) paths: Box<[WireName]>,
}

/// What an answer says about caching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CachingNews {
    /// Nothing.
    #[default]
    None,
    /// The oplock or lease that its open was granted.
    Grant,
    /// How far a listing is, or that a directory has changed.
    Listing,
    /// The notification of a watch.
    Watch,
}

impl CachingNews {
    /// Returns what the answer to a CREATE with this oplock level says.
    pub(super) const fn of(asked: OplockLevel) -> Self {
        match asked {
            OplockLevel::None => Self::None,
            _ => Self::Grant,
        }
    }
}

/// A session of a slot, in addition to that of its client.
pub(super) struct Further {
    /// Number of the session's connection.
    pub(super) link: usize,
    pub(super) stage: FurtherStage,
}

/// How far a further session is.
pub(super) enum FurtherStage {
    Opening(Box<SessionSetup>),
    LoggedOn(SessionIndex),
}

/// What a reauthentication waits for.
pub(super) enum RenewalWait {
    /// The answer to a request.
    Answer,
    /// A credit for the next request.
    Credit,
}

impl ClientSession {
    /// Returns the path of a file that an action opens.
    pub(super) fn path(&mut self, files: &FileSet, file: u32) -> &WireName {
        let path = self.path.as_mut();
        path.unwrap_or_else(|| unreachable!("the actions open files"))
            .of(files, file)
    }
}

/// Returns the member to which this session belongs.
pub(super) fn member_of(held: &[ClientSession], session: SessionIndex) -> Option<usize> {
    held.iter().position(|held| held.session == session)
}
