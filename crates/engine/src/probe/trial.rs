//! Trials on a file that the probe creates. They measure the cost of a FLUSH
//! compared with a WRITE. They also find out whether related requests may share a
//! frame, and which oplocks the server grants.
//!
//! The file is in a directory of its own, which is removed afterwards.

use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::files::{FileSet, Layout, Scope};
use smbench_protocol::command::close::CloseRequest;
use smbench_protocol::command::create::{
    CreateRequest, CreateResponse, Disposition, OplockLevel, access, options,
};
use smbench_protocol::command::create_context::{CreateContext, GrantedContexts};
use smbench_protocol::command::flush::FlushRequest;
use smbench_protocol::command::lease::{LeaseKey, LeaseState};
use smbench_protocol::command::query_info::{InfoType, QueryInfoRequest, file_class};
use smbench_protocol::command::write::WriteRequest;
use smbench_protocol::header::Command;
use smbench_protocol::random;
use smbench_protocol::{Dialect, FileId, NtStatus};

use crate::machine::cancel::Cancel;
use crate::machine::clock;
use crate::probe::disk_watch::{
    DiskWatch, FlushPolicy, PolicyFinding, PolicyFindings, WatchedRequest, WritePolicy,
};
use crate::run::error::RunError;
use crate::smb::session::{Endpoint, Session, SessionError, StepFailure, unless};
use crate::smb::share::{ShareSession, Workspace, join, leftover};

/// Number of WRITEs that are timed, and of pairs of WRITE and FLUSH.
const TRIES: usize = 32;
/// Bytes of each WRITE.
const WRITE_LEN: u32 = 4096;
/// Bytes requested of FileStandardInformation (MS-FSCC 2.4.47).
const STANDARD_INFORMATION_LEN: u32 = 24;

/// Leases requested, one after the other.
const LEASES: [LeaseState; 4] = [
    LeaseState::R,
    LeaseState::RH,
    LeaseState::RW,
    LeaseState::RWH,
];

/// Result of a trial: the server's answer, or the reason of a refusal.
pub type Attempt<T> = Result<T, String>;

/// Results of the trials on one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trials {
    /// Service time of WRITEs of [`Trials::WRITE_BYTES`] bytes.
    pub write: TimeSpread,
    /// Service time of FLUSHes, each after one such WRITE.
    pub flush: TimeSpread,
    /// Reaction of the server to a FLUSH, if it can be observed from this machine.
    pub flush_finding: PolicyFinding<FlushPolicy>,
    /// Reaction of the server to a WRITE, if it can be observed from this machine.
    pub write_finding: PolicyFinding<WritePolicy>,
    /// Whether the server answered CREATE, QUERY_INFO and CLOSE in one frame, all
    /// with success (MS-SMB2 3.2.4.1.4).
    pub compound: Attempt<()>,
    /// Each oplock requested on a file that only this session has open, and the
    /// oplock granted (MS-SMB2 2.2.13, 2.2.14).
    pub oplocks: Vec<(OplockLevel, Attempt<OplockLevel>)>,
    /// Each lease requested, and the lease granted (MS-SMB2 2.2.13.2.8); empty
    /// before SMB 2.1.
    pub leases: Vec<(LeaseState, Attempt<LeaseState>)>,
}

impl Trials {
    /// Bytes of each WRITE.
    pub const WRITE_BYTES: u32 = WRITE_LEN;
}

/// Minimum, median and maximum of the times of one repeated action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpread {
    /// Number of repetitions.
    pub count: usize,
    /// Shortest time.
    pub min: Duration,
    /// Median time.
    pub median: Duration,
    /// Longest time.
    pub max: Duration,
}

impl TimeSpread {
    pub(super) fn of(mut times: Vec<Nanos>) -> Self {
        times.sort_unstable();
        let at = |index: usize| times.get(index).copied().unwrap_or(Nanos(0)).into();
        Self {
            count: times.len(),
            min: at(0),
            median: at(times.len() / 2),
            max: at(times.len().saturating_sub(1)),
        }
    }
}

/// Tries things out on `session`'s server. Returns what came of that, or why nothing
/// could be tried, and what remains on the share. Fails only after a cancel.
pub(super) async fn try_out(
    endpoint: &Endpoint,
    session: Session,
    cancel: &Cancel,
) -> Result<(Attempt<Trials>, Option<String>), RunError> {
    let interrupted = |left| Err(RunError::from(SessionError::Interrupted).with_leftover(left));
    // A cancel does not interrupt this step, because the directory may already
    // exist on the share.
    let session = ShareSession::Smb2(Box::new(session));
    let mut workspace = match Workspace::create(endpoint, session).await {
        Ok(workspace) => workspace,
        Err((_, leftover)) if cancel.is_cancelled() => return interrupted(leftover),
        Err((error, leftover)) => return Ok((Err(error.to_string()), leftover)),
    };
    let directory = workspace.directory.clone();
    let tried = match &mut workspace.session {
        ShareSession::Smb2(session) => unless(cancel, on_a_file(&directory, session)).await,
        ShareSession::Cifs(_) => unreachable!("the trials are of SMB2"),
    };
    if tried.is_err() {
        workspace.lose_patience();
    }
    let left = match workspace.remove().await {
        Ok(remains) => remains.leftover(),
        Err(error) => Some(leftover(&directory, &error)),
    };
    match tried {
        Err(SessionError::Interrupted) => interrupted(left),
        tried => Ok((tried.map_err(|error| error.to_string()), left)),
    }
}

async fn on_a_file(directory: &str, session: &mut Session) -> Result<Trials, SessionError> {
    let files = FileSet {
        scope: Scope::Private,
        count: 1,
        size: u64::from(WRITE_LEN),
        layout: Layout::Flat,
    };
    // A name that a later clean-up recognises as the engine's own.
    let path = join(directory, &files.file_name(0, 0));
    let doing = format!("write file '{path}'");
    let rights = access::FILE_WRITE_DATA | access::FILE_APPEND_DATA;
    let request = CreateRequest {
        disposition: Disposition::Create,
        options: options::FILE_NON_DIRECTORY_FILE,
        ..CreateRequest::open(path.as_str(), rights)
    };
    let file_id = session.create(&doing, &request).await?.file_id;
    // This first WRITE is not timed, because it makes the file grow.
    write(session, &doing, file_id).await?;
    let mut writes = Vec::with_capacity(TRIES);
    for _ in 0..TRIES {
        writes.push(write(session, &doing, file_id).await?);
    }
    // These are not timed, because a look at the disk and a pause are between them.
    let mut watch = disk_watch(session, &path);
    for _ in 0..TRIES {
        let Ok(watch) = &mut watch else { break };
        let seen = watch.before();
        let elapsed = write(session, &doing, file_id).await?;
        watch
            .after(WatchedRequest::Write, seen, elapsed.into())
            .await;
    }
    let mut flushes = Vec::with_capacity(TRIES);
    for _ in 0..TRIES {
        write(session, &doing, file_id).await?;
        let seen = watch.as_ref().ok().and_then(DiskWatch::before);
        let begin = clock::now();
        let request = FlushRequest { file_id };
        session
            .expect(&doing, Command::Flush, 0, |out| request.encode(out))
            .await?;
        let elapsed = clock::now().since(begin);
        flushes.push(elapsed);
        if let Ok(watch) = &mut watch {
            watch
                .after(WatchedRequest::Flush, seen, elapsed.into())
                .await;
        }
    }
    let found = match watch {
        Ok(watch) => watch.findings(),
        Err(why) => PolicyFindings::unknown(&why),
    };
    session.close(&doing, file_id).await?;
    let compound = compound(session, &path).await?;
    let oplocks = oplocks(session, &path).await?;
    let mut leases = Vec::new();
    if session.connection.negotiated().dialect >= Dialect::Smb21 {
        for state in LEASES {
            leases.push((state, lease(session, &path, state).await?));
        }
    }
    Ok(Trials {
        write: TimeSpread::of(writes),
        flush: TimeSpread::of(flushes),
        flush_finding: found.flush,
        write_finding: found.write,
        compound,
        oplocks,
        leases,
    })
}

/// Returns a watcher of the disk below the file at `path`, or the reason why there
/// is none.
fn disk_watch(session: &Session, path: &str) -> Result<DiskWatch, String> {
    let stream = session.stream.socket.of_tokio();
    let ends = stream.and_then(|stream| Ok((stream.local_addr()?, stream.peer_addr()?)));
    let (ours, theirs) = ends.map_err(|error| error.to_string())?;
    // Only the name of the run's directory is unique. The server may use other
    // names for the folders above it.
    let mut parts = path.rsplit('\\');
    let (file, directory) = (parts.next(), parts.next());
    let name = join(directory.unwrap_or_default(), file.unwrap_or_default());
    DiskWatch::find(ours, theirs, &name)
}

async fn write(session: &mut Session, doing: &str, file_id: FileId) -> Result<Nanos, SessionError> {
    let request = WriteRequest {
        file_id,
        offset: 0,
        length: WRITE_LEN,
        flags: 0,
    };
    let begin = clock::now();
    session
        .expect(doing, Command::Write, WRITE_LEN, |out| {
            request.encode(out);
            out.resize(out.len() + WRITE_LEN as usize, 0x5A);
        })
        .await?;
    Ok(clock::now().since(begin))
}

async fn compound(session: &mut Session, path: &str) -> Result<Attempt<()>, SessionError> {
    let doing = format!("open, query and close file '{path}' in one frame");
    let mut create = Vec::with_capacity(256);
    let path_error = |_| SessionError::Path {
        doing: doing.clone(),
    };
    CreateRequest::open(path, access::FILE_READ_ATTRIBUTES)
        .encode(&mut create)
        .map_err(path_error)?;
    let query = QueryInfoRequest {
        info_type: InfoType::File,
        class: file_class::FILE_STANDARD_INFORMATION,
        output_length: STANDARD_INFORMATION_LEN,
        additional: 0,
        file_id: FileId::RELATED,
    };
    let close = CloseRequest {
        file_id: FileId::RELATED,
        flags: 0,
    };
    let replies: [_; 3] = session
        .chain(&doing, |chain| {
            chain
                .request(Command::Create, 1, 0, |out| out.extend_from_slice(&create))
                .request(Command::QueryInfo, 1, 1, |out| query.encode(out))
                .request(Command::Close, 1, 2, |out| close.encode(out))
        })
        .await?;
    let names = [Command::Create, Command::QueryInfo, Command::Close].map(Command::name);
    let refused = replies
        .iter()
        .zip(names)
        .find(|(reply, _)| reply.status != NtStatus::SUCCESS);
    Ok(match refused {
        None => Ok(()),
        Some((reply, name)) => Err(format!("{name} refused with {}", reply.status)),
    })
}

/// Opens the file with each oplock and returns what was granted.
async fn oplocks(
    session: &mut Session,
    path: &str,
) -> Result<Vec<(OplockLevel, Attempt<OplockLevel>)>, SessionError> {
    let levels = [
        OplockLevel::LevelII,
        OplockLevel::Exclusive,
        OplockLevel::Batch,
    ];
    let mut granted = Vec::with_capacity(levels.len());
    for level in levels {
        let opened = open_caching(session, path, level, &[]).await?;
        granted.push((level, opened.map(|(opened, _)| opened.oplock_level)));
    }
    Ok(granted)
}

/// Opens the file with a lease and returns the lease granted: none if the answer
/// has no lease.
async fn lease(
    session: &mut Session,
    path: &str,
    state: LeaseState,
) -> Result<Attempt<LeaseState>, SessionError> {
    let dialect = session.connection.negotiated().dialect;
    let context = CreateContext::lease(dialect, LeaseKey(random()), state);
    let opened = open_caching(session, path, OplockLevel::Lease, &[context]).await?;
    Ok(opened.map(|(_, granted)| match granted.lease {
        Some(lease) => lease.state,
        None => LeaseState::NONE,
    }))
}

/// Opens and closes the file. The inner error is the server's refusal.
async fn open_caching(
    session: &mut Session,
    path: &str,
    oplock: OplockLevel,
    contexts: &[CreateContext],
) -> Result<Attempt<(CreateResponse, GrantedContexts)>, SessionError> {
    let doing = format!("open file '{path}' for caching");
    let request = CreateRequest {
        oplock,
        contexts,
        options: options::FILE_NON_DIRECTORY_FILE,
        ..CreateRequest::open(path, access::FILE_READ_DATA | access::FILE_WRITE_DATA)
    };
    match session.create_with(&doing, &request).await {
        Ok((opened, granted)) => {
            session.close(&doing, opened.file_id).await?;
            Ok(Ok((opened, granted)))
        }
        Err(SessionError::Step {
            source: StepFailure::Refused(status),
            ..
        }) => Ok(Err(format!("refused with {status}"))),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_its_ends_and_its_middle() {
        assert_eq!(TimeSpread::of(Vec::new()), TimeSpread::default());
        let times = [5, 1, 9, 3, 4].map(Nanos).to_vec();
        let expected = TimeSpread {
            count: 5,
            min: Duration::from_nanos(1),
            median: Duration::from_nanos(4),
            max: Duration::from_nanos(9),
        };
        assert_eq!(TimeSpread::of(times), expected);
    }
}
