//! Opens, creates and names everything before the load begins, so that no operation
//! has to. Opens have the rights that the mix needs, and no more.

use smbench_model::action::{Action, SetClass};
use smbench_model::files::ScratchName;
use smbench_model::record::Reclaimed;
use smbench_model::sessions::Caching;
use smbench_model::setting::Advice;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{CreateRequest, access, options};
use smbench_protocol::command::create_context::CreateContext;
use smbench_protocol::command::ioctl::copy_chunk::{RESUME_KEY_OUTPUT_MAX, ResumeKey};
use smbench_protocol::command::ioctl::{IoctlRequest, IoctlResponse, fsctl};
use smbench_protocol::command::lease::LeaseState;
use smbench_protocol::header::Command;
use smbench_protocol::{Dialect, FileId, NtStatus, SessionIndex};

use super::handles::Opener;
use super::state::{ClientSession, SlotObjects};
use crate::drivers::prepare::{
    FilePath, check_dialect, file_path, is_plain, make_kept, open_directory, path, wire_names,
};
use crate::drivers::remains::HeldHandle;
use crate::drivers::site::Site;
use crate::drivers::walking::WalkedDirectory;
use crate::smb::session::caching::Object;
use crate::smb::session::{Session, SessionError};

/// Files that a client has open before its load.
pub(super) struct HeldOpen {
    pub(super) client: ClientSession,
    /// The caching granted for its files.
    pub(super) granted: Vec<Caching>,
    /// The handles that the server was asked to keep.
    pub(super) handles: Box<[HeldHandle]>,
    /// What became of those of its lost session.
    pub(super) reclaimed: Reclaimed,
}

/// Opens, in the client's session, the files that it uses during the load point.
/// `member` is the index of the client in its group. `kept` has the handles of its lost session,
/// if it had one.
pub(super) async fn hold(
    site: &Site,
    client: u32,
    index: SessionIndex,
    member: usize,
    session: &mut Session,
    kept: Option<&[HeldHandle]>,
) -> Result<HeldOpen, SessionError> {
    let actions = site.mix.actions();
    let dialect = session.connection.negotiated().dialect;
    check_dialect(actions, dialect, || session.share())?;
    let asked = site.plan.sessions.caching;
    check_leases(asked, session)?;
    if member == 0 && matches!(asked, Caching::DirectoryLease(_)) {
        try_directory_lease(site, member, session).await?;
    }
    let is_for_macs = |action: &Action| matches!(action, Action::List { aapl: true, .. });
    if actions.iter().any(is_for_macs) {
        ask_for_apple_listings(site, session).await?;
    }
    let mut held = ClientSession {
        client,
        session: index,
        files: Box::default(),
        path: None,
        resume_keys: Box::default(),
        directory: FileId::default(),
    };
    if kept.is_some() {
        remove_undeleted(site, client, session).await?;
    }
    let mut opener = Opener::new(site, client, index, member, kept.unwrap_or_default());
    held.files = opener.open_files(session).await?;
    if actions.iter().any(Action::opens_file) {
        held.path = Some(Box::new(FilePath::new(site, client)?));
    }
    if actions.contains(&Action::CopyChunk) {
        held.resume_keys = resume_keys(site, client, session, &held.files).await?;
    }
    if actions.iter().any(Action::holds_directory) {
        held.directory = open_directory(session, &site.files_in).await?;
    }
    let Opener {
        granted,
        handles,
        reclaimed,
        ..
    } = opener;
    Ok(HeldOpen {
        client: held,
        granted,
        handles: handles.into(),
        reclaimed,
    })
}

/// Removes the files that actions of a client's lost session have made, and not deleted yet.
async fn remove_undeleted(
    site: &Site,
    client: u32,
    session: &mut Session,
) -> Result<(), SessionError> {
    let deletes = |action: &Action| {
        let class = SetClass::Delete;
        *action == Action::SetInfo { class }
    };
    if !site.mix.actions().iter().any(deletes) {
        return Ok(());
    }
    for slot in 0..site.plan.only().outstanding {
        let path = path(site, &ScratchName::Temporary.of(client, slot));
        let doing = format!("remove '{path}'");
        let request = CreateRequest {
            options: options::FILE_NON_DIRECTORY_FILE | options::FILE_DELETE_ON_CLOSE,
            ..CreateRequest::open(path.as_str(), access::DELETE)
        };
        // Most often there is none.
        if let Ok((created, _)) = session.try_create(&doing, &request).await? {
            session.close(&doing, created.file_id).await?;
        }
    }
    Ok(())
}

/// Returns the search pattern of each action; empty if no action lists a directory.
pub(super) fn patterns(site: &Site) -> Result<Box<[WireName]>, SessionError> {
    let actions = site.mix.actions();
    let pattern = |action: &Action| match action {
        Action::QueryDirectory { pattern, .. } | Action::List { pattern, .. } => pattern.clone(),
        Action::Walk { .. } => "*".to_owned(),
        _ => String::new(),
    };
    let patterns: Vec<_> = actions.iter().map(pattern).collect();
    if patterns.iter().all(String::is_empty) {
        Ok(Box::default())
    } else {
        wire_names(&patterns)
    }
}

/// Makes a place for each slot of a client; none if no action needs it.
pub(super) async fn places(
    site: &Site,
    client: u32,
    session: &mut Session,
) -> Result<Vec<SlotObjects>, SessionError> {
    let actions = site.mix.actions();
    let mut places = Vec::new();
    if actions.iter().all(is_plain) {
        return Ok(places);
    }
    for slot in 0..site.plan.only().outstanding {
        let mut place = SlotObjects {
            walked: WalkedDirectory::of(site)?,
            ..SlotObjects::default()
        };
        if actions.iter().any(Action::uses_scratch) {
            let paths = ScratchName::ALL.map(|name| path(site, &name.of(client, slot)));
            make_kept(actions, &paths, session).await?;
            place.paths = wire_names(&paths)?;
        }
        places.push(place);
    }
    Ok(places)
}

/// Requests the resume key of each file as the source of copies.
async fn resume_keys(
    site: &Site,
    client: u32,
    session: &mut Session,
    files: &[FileId],
) -> Result<Box<[ResumeKey]>, SessionError> {
    let mut keys = Vec::with_capacity(files.len());
    for (file, &file_id) in (0..).zip(files) {
        let path = file_path(site, client, file);
        let doing = format!("get ready to copy file '{path}'");
        let request = IoctlRequest {
            code: fsctl::FSCTL_SRV_REQUEST_RESUME_KEY,
            file_id,
            input: &[],
            output_max: RESUME_KEY_OUTPUT_MAX,
        };
        let reply = session
            .call(&doing, Command::Ioctl, 0, |out| request.encode(out))
            .await?;
        keys.push(match reply.status {
            NtStatus::SUCCESS => IoctlResponse::decode(&reply.message)
                .and_then(|response| ResumeKey::decode(response.output))
                .map_err(|error| session.malformed(&doing, error))?,
            // The copies will fail, each with its own status.
            _ => ResumeKey([0; 24]),
        });
    }
    Ok(keys.into_boxed_slice())
}

/// Refuses leases if the dialect or the server does not have them.
fn check_leases(asked: Caching, session: &Session) -> Result<(), SessionError> {
    let negotiated = session.connection.negotiated();
    let (what, needs, least, offered, lack) = match asked {
        Caching::None | Caching::Oplock(_) => return Ok(()),
        Caching::Lease(_) => (
            "a lease",
            "2.1 or later",
            Dialect::Smb21,
            negotiated.offers_leases(),
            Advice("offers no leases; give @oplock another value"),
        ),
        Caching::DirectoryLease(_) => (
            "a lease on a directory",
            "3.0 or later",
            Dialect::Smb30,
            negotiated.offers_directory_leases(),
            NO_DIRECTORY_LEASES,
        ),
    };
    let at = session.share();
    if negotiated.dialect < least {
        return Err(SessionError::NotInDialect {
            what,
            needs,
            dialect: negotiated.dialect,
            at,
        });
    }
    if !offered {
        return Err(SessionError::Lacks { lack, at });
    }
    Ok(())
}

/// Asks for listings with what a Mac shows of a file, as a Mac does after it has connected to a
/// share. Refuses a server that has none.
async fn ask_for_apple_listings(site: &Site, session: &mut Session) -> Result<(), SessionError> {
    let doing = format!("open directory '{}' as a Mac", site.files_in);
    let request = CreateRequest {
        options: options::FILE_DIRECTORY_FILE,
        contexts: &[CreateContext::AppleServerQuery],
        ..CreateRequest::open(site.files_in.as_str(), access::FILE_READ_ATTRIBUTES)
    };
    let (created, contexts) = session.create_with(&doing, &request).await?;
    session.close(&doing, created.file_id).await?;
    if contexts.apple_listings {
        Ok(())
    } else {
        Err(SessionError::Lacks {
            lack: NO_LISTINGS_FOR_MACS,
            at: session.share(),
        })
    }
}

const NO_DIRECTORY_LEASES: Advice = Advice(
    "grants no leases on directories (Samba has them from 4.22 on, with smb3 directory leases = \
     yes); give @oplock another value",
);
const NO_LISTINGS_FOR_MACS: Advice = Advice(
    "has no listings for Macs, readdirattr of the create context AAPL (Samba has them with \
     vfs_fruit); leave out aapl",
);

/// Asks for a lease on the directory of the files, and refuses a server that grants none.
async fn try_directory_lease(
    site: &Site,
    member: usize,
    session: &mut Session,
) -> Result<(), SessionError> {
    let object = Object::Directory(0);
    let (oplock, lease) = session.cache.request(member, object, None);
    let rights = access::FILE_LIST_DIRECTORY | access::SYNCHRONIZE;
    let doing = format!("open directory '{}' with a lease", site.files_in);
    let (created, contexts) = session
        .create_with(
            &doing,
            &CreateRequest {
                options: options::FILE_DIRECTORY_FILE,
                oplock,
                contexts: lease.as_slice(),
                ..CreateRequest::open(site.files_in.as_str(), rights)
            },
        )
        .await?;
    session.close(&doing, created.file_id).await?;
    let granted = Caching::granted(
        created.oplock_level,
        contexts.lease.map(|lease| lease.state),
    );
    match granted {
        Caching::Lease(state) if state.contains(LeaseState::RH) => Ok(()),
        _ => Err(SessionError::Lacks {
            lack: NO_DIRECTORY_LEASES,
            at: session.share(),
        }),
    }
}
