//! The parameters of a CREATE, and what is refused because it cannot be repeated or
//! makes no sense.

use smbench_protocol::command::create::Disposition as D;

use super::table::Parameters;
use super::{CreateOption, CreateParameters, CreateSubject};

/// Reads the parameters of a CREATE. Without a disposition it opens a file that the
/// client works on; otherwise a scratch name.
pub(super) fn read(given: &mut Parameters) -> Result<CreateParameters, String> {
    let disposition = given.optional("disposition")?;
    let subject = match (given.flag("directory")?, disposition) {
        (true, _) => CreateSubject::ScratchDirectory,
        (false, Some(_)) => CreateSubject::ScratchFile,
        (false, None) => CreateSubject::WorkFile,
    };
    let disposition = match subject {
        CreateSubject::WorkFile => D::Open,
        _ => disposition.unwrap_or(D::Create),
    };
    let delete_on_close = given.optional("delete_on_close")?;
    let opening = CreateParameters {
        subject,
        disposition,
        delete_on_close: delete_on_close.unwrap_or(disposition == D::Create),
        durable: given.flag("durable")?,
        query_on_disk_id: given.flag("query_on_disk_id")?,
        write_through: given.flag("write_through")?,
        unbuffered: given.flag("unbuffered")?,
        attributes: given.optional("attributes")?.unwrap_or_default(),
        options: given.optional("options")?.unwrap_or_default(),
    };
    match objection(&opening) {
        Some((parameter, problem)) => Err(given.refuse(parameter, problem)),
        None => Ok(opening),
    }
}

/// Returns why a CREATE cannot be repeated or makes no sense: the parameter and the
/// reason.
fn objection(opening: &CreateParameters) -> Option<(&'static str, &'static str)> {
    let CreateParameters {
        subject,
        disposition,
        delete_on_close,
        ..
    } = *opening;
    let is_directory = subject == CreateSubject::ScratchDirectory;
    let is_work_file = subject == CreateSubject::WorkFile;
    if delete_on_close && is_work_file {
        return Some((
            "delete_on_close",
            "the client's own file would go: give a disposition, which makes it a scratch file",
        ));
    }
    if !opening.attributes.is_empty() && is_work_file {
        return Some((
            "attributes",
            "only a new file gets them: give a disposition that makes one, such as create",
        ));
    }
    // MS-SMB2 2.2.13.
    if [CreateOption::SequentialOnly, CreateOption::RandomAccess]
        .iter()
        .all(|option| opening.options.contains(option))
    {
        return Some((
            "options",
            "beside random_access servers ignore sequential_only: drop one or the other",
        ));
    }
    match disposition {
        D::Create if !delete_on_close => Some((
            "delete_on_close",
            "a name can be created once only: leave it true, or take open_if",
        )),
        D::Open | D::Overwrite if delete_on_close => Some((
            "delete_on_close",
            "what is gone cannot be opened again: leave it false, or take create",
        )),
        // MS-FSA 2.1.5.1.1: directories are not overwritten.
        D::Supersede | D::Overwrite | D::OverwriteIf if is_directory => {
            Some(("disposition", "a directory takes open, create or open_if"))
        }
        _ if is_directory && (opening.durable || opening.unbuffered || opening.write_through) => {
            Some((
                "directory",
                "durable, unbuffered and write_through are for files: drop one or the other",
            ))
        }
        _ => None,
    }
}
