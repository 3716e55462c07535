//! Carries out the operations of a mix with smb-rs.

use std::sync::Arc;

use smb::{File, Resource, ResourceHandle, SrvCopychunkCopy, SrvCopychunkItem, Tree, UncPath};
use smbench_model::action::{Action, SetClass};
use smbench_model::files::ScratchName;
use smbench_model::kind::OpKind;
use smbench_model::operations::Mix;
use smbench_protocol::command::read::read_flags;

use super::calls::{self, CallOutcome, Ended, arguments, running};
use super::link::{self, Link};
use super::{Caller, Made, Running};
use crate::drivers::driver::Call;
use crate::drivers::prepare::{file_path, held_access, held_files, kept};
use crate::drivers::requests::create::Name;
use crate::drivers::requests::{copied_chunks, create};
use crate::drivers::site::Site;
use crate::smb::session::SessionError;

/// Makes the calls of a mix.
pub(crate) struct MixCaller {
    mix: Arc<Mix>,
    /// State of each member.
    clients: Vec<Client>,
    /// State of each slot, in the order of the members.
    places: Vec<SmbRsSlot>,
    share: Arc<UncPath>,
    /// Size of each file in bytes.
    file_size: u64,
}

/// A client's open files.
struct Client {
    link: Arc<Link>,
    files: Box<[Arc<File>]>,
    /// Path before the names of the files.
    directory: Box<str>,
    /// Number of the client.
    client: u32,
    /// Resume keys of the files as sources of copies; empty if no action copies.
    resume_keys: Box<[[u8; 24]]>,
}

/// State of a slot.
#[derive(Default)]
struct SmbRsSlot {
    /// Open that the CREATE of its action created.
    resource: Option<Arc<Resource>>,
    /// Tree that the TREE_CONNECT of its action connected.
    tree: Option<Tree>,
    /// Its scratch names, in the order of [`ScratchName::ALL`].
    paths: Box<[Arc<str>]>,
}

impl Caller for MixCaller {
    fn new(site: &Site) -> Result<Self, SessionError> {
        Ok(Self {
            mix: Arc::clone(&site.mix),
            clients: Vec::new(),
            places: Vec::new(),
            share: Arc::new(link::share_path(&site.endpoint)?),
            file_size: site.plan.only().workload.files.size,
        })
    }

    /// Opens the files that a client uses during the load point, with the same
    /// rights as the native driver. Creates the entries that must exist for its
    /// slots.
    async fn open(
        &mut self,
        site: &Site,
        client: u32,
        link: &Arc<Link>,
    ) -> Result<(), SessionError> {
        let (plan, endpoint) = (&*site.plan, &site.endpoint);
        let actions = site.mix.actions();
        let path = |name: &str| -> Arc<str> { Arc::from(format!(r"{}\{name}", site.directory)) };
        let (mut files, mut resume_keys) = (Vec::new(), Vec::new());
        for file in held_files(site) {
            let path = file_path(site, client, file);
            let file = link
                .open_file(endpoint, &path, held_access(actions))
                .await?;
            if actions.contains(&Action::CopyChunk) {
                resume_keys.push(link.resume_key(endpoint, &path, &file).await?);
            }
            files.push(Arc::new(file));
        }
        for slot in 0..plan.only().outstanding {
            let mut place = SmbRsSlot::default();
            if actions.iter().any(Action::uses_scratch) {
                let paths = ScratchName::ALL.map(|name| path(&name.of(client, slot)));
                for (name, kind) in kept(actions) {
                    link.make(endpoint, &paths[name as usize], kind).await?;
                }
                place.paths = Box::from(paths);
            }
            self.places.push(place);
        }
        self.clients.push(Client {
            link: Arc::clone(link),
            files: files.into_boxed_slice(),
            directory: site.files_in.as_str().into(),
            client,
            resume_keys: resume_keys.into_boxed_slice(),
        });
        Ok(())
    }

    fn begin(
        &mut self,
        call: &Call,
        buffers: &mut Vec<Vec<u8>>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Running {
        let files = &self.clients[call.member].files;
        let file = || Arc::clone(&files[call.operation.file as usize]);
        match call.operation.kind {
            OpKind::Read => {
                let flags = match self.mix.action(&call.operation) {
                    Action::Read { unbuffered: true } => read_flags::UNBUFFERED,
                    _ => 0,
                };
                calls::read(call, file(), flags, buffers)
            }
            OpKind::Write => calls::write(call, file(), data),
            OpKind::Flush | OpKind::FinalFlush => calls::flush(call.slot, file()),
            _ => self.begin_other(call),
        }
    }

    fn keep(&mut self, slot: u32, made: Made) {
        let place = &mut self.places[slot as usize];
        match made {
            Made::Nothing => {}
            Made::Resource(made) => place.resource = Some(Arc::new(made)),
            Made::Tree(made) => place.tree = Some(made),
        }
    }

    async fn close(&self, member: usize) -> smb::Result<()> {
        for file in &self.clients[member].files {
            file.close().await?;
        }
        Ok(())
    }
}

impl MixCaller {
    /// Begins a call that moves no data of the client.
    fn begin_other(&mut self, call: &Call) -> Running {
        let slot = call.slot;
        let client = &self.clients[call.member];
        let action = self.mix.action(&call.operation);
        match call.operation.kind {
            OpKind::Create => {
                let name = match create::name(action) {
                    Name::File => {
                        let name = self
                            .mix
                            .files()
                            .file_name(client.client, call.operation.file);
                        Arc::from(format!(r"{}\{name}", client.directory))
                    }
                    Name::Scratch(name) => {
                        Arc::clone(&self.places[slot as usize].paths[name as usize])
                    }
                };
                let arguments = arguments(&create::request(action, "", &[]));
                calls::create(slot, &client.link, name, arguments)
            }
            OpKind::Close => {
                let resource = self.places[slot as usize].resource.take();
                running(slot, async move {
                    handle(&opened(resource)).close().await?;
                    Ok(CallOutcome::default())
                })
            }
            OpKind::QueryFile | OpKind::QueryFs | OpKind::QuerySecurity => {
                let file = Arc::clone(&client.files[call.operation.file as usize]);
                let Action::QueryInfo { class } = *action else {
                    unreachable!("{action:?} asks nothing");
                };
                running(
                    slot,
                    async move { calls::query(file.handle(), class).await },
                )
            }
            OpKind::SetFile => {
                let file = Arc::clone(&client.files[call.operation.file as usize]);
                let (size, class) = (self.file_size, set_class(action));
                running(slot, async move {
                    calls::set(file.handle(), class, size, "").await
                })
            }
            OpKind::Rename | OpKind::Delete => {
                let SmbRsSlot {
                    resource, paths, ..
                } = &self.places[slot as usize];
                let (resource, class) = (resource.clone(), set_class(action));
                let renamed = Arc::clone(&paths[ScratchName::Renamed as usize]);
                running(slot, async move {
                    calls::set(handle(&opened(resource)), class, 0, &renamed).await
                })
            }
            OpKind::CopyChunk => {
                let resource = self.places[slot as usize].resource.clone();
                let request = copy(client, call);
                running(slot, async move {
                    let copied = handle(&opened(resource)).fsctl(request).await?;
                    Ok(CallOutcome::moved(copied.total_bytes_written))
                })
            }
            OpKind::TreeConnect => {
                let (link, share) = (Arc::clone(&client.link), Arc::clone(&self.share));
                running(slot, async move {
                    let tree = link.session.tree_connect(&share).await?;
                    Ok(CallOutcome::made(Made::Tree(tree)))
                })
            }
            OpKind::TreeDisconnect => {
                let tree = self.places[slot as usize].tree.take();
                running(slot, async move { disconnect(tree).await })
            }
            // A plan for this driver has no other kinds.
            kind => unreachable!("smb-rs is not asked to {}", kind.name()),
        }
    }
}

async fn disconnect(tree: Option<Tree>) -> Ended {
    let Some(tree) = tree else {
        unreachable!("only what was connected is disconnected");
    };
    tree.disconnect().await?;
    Ok(CallOutcome::default())
}

fn opened(resource: Option<Arc<Resource>>) -> Arc<Resource> {
    resource.unwrap_or_else(|| unreachable!("only what was opened is worked on"))
}

fn handle(resource: &Resource) -> &ResourceHandle {
    match resource {
        Resource::File(file) => file.handle(),
        Resource::Directory(directory) => &directory.handle,
        Resource::Pipe(pipe) => pipe.handle(),
    }
}

fn set_class(action: &Action) -> SetClass {
    match action {
        Action::SetInfo { class } => *class,
        other => unreachable!("{other:?} sets nothing"),
    }
}

fn copy(client: &Client, call: &Call) -> SrvCopychunkCopy {
    let chunks = copied_chunks(&call.operation).map(|chunk| SrvCopychunkItem {
        source_offset: chunk.source,
        target_offset: chunk.target,
        length: chunk.length,
    });
    SrvCopychunkCopy {
        source_key: client.resume_keys[call.operation.file as usize],
        chunks: chunks.collect(),
    }
}
