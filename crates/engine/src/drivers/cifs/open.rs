//! Opens, creates and names everything before the load begins, so that no operation has to.

use smbench_model::action::Action;
use smbench_model::files::ScratchName;
use smbench_model::sessions::Caching;
use smbench_protocol::Dialect;
use smbench_protocol::cifs::FileNumber;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{CreateRequest, OplockLevel, options};

use super::group::{CifsClient, CifsPlace, oplock_of};
use crate::drivers::prepare::{
    FilePath, check_dialect, file_path, held_access, held_files, is_plain, make_kept,
    open_directory, path, wire_names,
};
use crate::drivers::requests::recorded::wire_name;
use crate::drivers::site::Site;
use crate::drivers::walking::WalkedDirectory;
use crate::smb::session::SessionError;
use crate::smb::session::cifs::{CifsSession, number_of};

/// Opens, in the client's session, the files that it uses during the load point.
pub(super) async fn hold(
    site: &Site,
    client: u32,
    session: &mut CifsSession,
    granted: &mut Vec<Caching>,
    oplocks: &mut Vec<(FileNumber, OplockLevel)>,
) -> Result<CifsClient, SessionError> {
    let actions = site.mix.actions();
    check_dialect(actions, Dialect::Cifs, || session.share())?;
    let mut files = Vec::new();
    let caching = site.plan.sessions.caching;
    for file in held_files(site) {
        let path = file_path(site, client, file);
        let request = CreateRequest {
            options: options::FILE_NON_DIRECTORY_FILE,
            oplock: oplock_of(caching),
            ..CreateRequest::open(path.as_str(), held_access(actions))
        };
        let doing = format!("open file '{path}'");
        let created = session.create(&doing, &request).await?;
        if caching != Caching::None {
            oplocks.push((created.file, created.oplock));
            granted.push(Caching::granted(created.oplock, None));
        }
        files.push(created.file);
    }
    Ok(CifsClient {
        session: session.current,
        files: files.into_boxed_slice(),
        path: if actions.iter().any(Action::opens_file) {
            Some(Box::new(FilePath::new(site, client)?))
        } else {
            None
        },
        directory: if actions.iter().any(Action::holds_directory) {
            number_of(open_directory(session, &site.files_in).await?)
        } else {
            FileNumber::default()
        },
    })
}

/// Returns the search pattern of each action, with the path of the run's directory.
pub(super) fn patterns(site: &Site) -> Result<Box<[WireName]>, SessionError> {
    let pattern = |action: &Action| match action {
        Action::QueryDirectory { pattern, .. } => format!(r"{}\{pattern}", site.files_in),
        _ => String::new(),
    };
    let patterns: Vec<_> = site.mix.actions().iter().map(pattern).collect();
    wire_names(&patterns)
}

/// Returns the pattern of names of each action that lists a directory to its end.
pub(super) fn names(site: &Site) -> Result<Box<[WireName]>, SessionError> {
    let pattern = |action: &Action| match action {
        Action::List { pattern, .. } => pattern.clone(),
        _ => "*".to_owned(),
    };
    let patterns: Vec<_> = site.mix.actions().iter().map(pattern).collect();
    wire_names(&patterns)
}

/// Makes a place for each slot of a client; none if no action needs it.
pub(super) async fn places(
    site: &Site,
    client: u32,
    session: &mut CifsSession,
) -> Result<Vec<CifsPlace>, SessionError> {
    let actions = site.mix.actions();
    let mut places = Vec::new();
    if actions.iter().all(is_plain) {
        return Ok(places);
    }
    for slot in 0..site.plan.only().outstanding {
        let mut place = CifsPlace {
            walked: WalkedDirectory::of(site)?,
            ..CifsPlace::default()
        };
        if actions.iter().any(Action::uses_scratch) {
            let paths = ScratchName::ALL.map(|name| path(site, &name.of(client, slot)));
            make_kept(actions, &paths, session).await?;
            place.paths = wire_names(&paths)?;
            place.renamed = wire_name(&ScratchName::Renamed.of(client, slot))?;
        }
        places.push(place);
    }
    Ok(places)
}
