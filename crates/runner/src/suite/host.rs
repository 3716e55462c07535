//! A server of a suite: its address or its configuration, and what it does before it answers
//! a FLUSH or a WRITE.
//!
//! A scratch Samba lives for one pass, so that no pass starts with the caches of
//! another. Its folder is noted before anything runs in it. If the suite is killed,
//! the next invocation ends the server and removes the folder. On a tmpfs even an
//! honoured flush writes nothing, so tables name the storage. If the storage or the
//! release of Samba has changed since the study began, nothing more is measured for
//! that server.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_model::cpu::CpuSource;
use smbench_model::secret::Secret;
use smbench_model::sessions::NodeList;
use smbench_model::spec::SessionsSpec;
use smbench_model::target::Target;
use smbench_report::Disclosure;
use smbench_report::study::StudyServerDoc;

use crate::account::GivenServer;
use crate::failure::Failure;
use crate::lab_facts::{Durability, LabFacts};
use crate::request;

/// A server of a suite.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) durability: Durability,
    /// Notes of the suite for readers.
    pub(super) notes: Vec<String>,
    pub(super) kind: HostKind,
    /// Source of the server's CPU time.
    pub(super) cpu: CpuSource,
    /// Options of its sessions that differ from those of the suite.
    pub(super) run: SessionsSpec,
    /// Whether the command line named the server.
    pub(super) named: bool,
}

/// Origin of a server.
#[derive(Clone, Debug)]
pub(super) enum HostKind {
    /// An existing server.
    Given(Box<GivenServer>),
    /// A scratch Samba that is started for each pass, with these lines in
    /// `smb.conf`.
    Samba {
        lines: Vec<String>,
        /// The smbd to start; `None` for the installed one.
        smbd: Option<PathBuf>,
        /// How many smbd serve the folder, each at an address of its own.
        nodes: u8,
    },
}

impl HostKind {
    /// Returns an existing server and its policies. Unless the user has stated them, they
    /// are known only of a server that `lab` has started.
    pub(super) fn existing(server: GivenServer, stated: Durability) -> (Durability, Self) {
        let of_lab = LabFacts::of_environment(&server.target);
        let known = of_lab.map(|facts| facts.durability()).unwrap_or_default();
        (stated.or(known), Self::Given(Box::new(server)))
    }
}

/// A running server.
pub(super) struct StartedServer {
    pub(super) target: Target,
    pub(super) disclosure: Disclosure,
    /// The addresses that clients try in turn; none if there is only one.
    pub(super) nodes: NodeList,
    /// Further smbd over the folder of the scratch Samba. They end before that is deleted.
    _further: Vec<ScratchSamba>,
    /// The scratch Samba, if there is one; dropping it ends the server.
    pub(super) samba: Option<ScratchSamba>,
}

impl Host {
    /// Finds the password, with a prompt if necessary.
    pub(super) fn ask(&mut self) -> Result<(), Failure> {
        if let HostKind::Given(server) = &mut self.kind {
            server.target = server.with_password()?;
        }
        Ok(())
    }

    /// Makes a scratch Samba serve CIFS, unless the suite sets its protocols.
    pub(super) fn serve_cifs(&mut self) {
        if let HostKind::Samba { lines, .. } = &mut self.kind
            && !lines.iter().any(|line| line.contains("min protocol"))
        {
            lines.push(ScratchSamba::CIFS.to_owned());
        }
    }

    /// Returns the server's entry in the study.
    pub(super) fn doc(&self) -> StudyServerDoc {
        let (url, settings, smbd) = match &self.kind {
            HostKind::Given(account) => (Some(account.target.redacted()), Vec::new(), None),
            HostKind::Samba { lines, smbd, .. } => (None, lines.clone(), smbd.as_ref()),
        };
        StudyServerDoc {
            name: self.name.clone(),
            url,
            notes: self.all_notes(),
            settings,
            smbd: smbd.map(|smbd| smbd.display().to_string()),
            client: self.run.lines(),
        }
    }

    /// Starts the server unless it exists.
    ///
    /// Before a server is started, `claimed` is called with its folder. So the
    /// folder can be removed if this process is killed.
    pub(super) fn start(
        &self,
        mut claimed: impl FnMut(&Path) -> Result<(), Failure>,
    ) -> Result<StartedServer, Failure> {
        match &self.kind {
            HostKind::Given(account) => {
                let target = &account.target;
                let mut disclosure = request::disclosure(self.durability);
                if let Some(facts) = LabFacts::of_environment(target) {
                    facts.add_to(&mut disclosure);
                }
                disclosure.notes.extend(self.all_notes());
                Ok(StartedServer {
                    target: target.clone(),
                    disclosure,
                    nodes: NodeList::default(),
                    _further: Vec::new(),
                    samba: None,
                })
            }
            HostKind::Samba { lines, smbd, nodes } => {
                let options = SambaOptions {
                    smbd: smbd.clone(),
                    extra_global: lines.clone(),
                    ..SambaOptions::default()
                };
                let samba = ScratchSamba::prepare(options.clone())?;
                claimed(samba.root())?;
                let samba = samba.start()?;
                let further = (2..=*nodes).map(|node| {
                    let listen = Ipv4Addr::new(127, 0, 0, node);
                    let further = samba.beside(listen, options.clone())?;
                    let further = ScratchSamba::prepare(further)?;
                    claimed(further.root())?;
                    Ok(further.start()?)
                });
                let further: Vec<_> = further.collect::<Result<_, Failure>>()?;
                let (mut target, _) = Target::parse(&samba.url())?;
                target.password = Secret::new(samba.password());
                let facts = LabFacts::of_samba(&samba, lines);
                let mut disclosure = request::disclosure(self.durability);
                facts.add_to(&mut disclosure);
                disclosure.notes.extend(self.all_notes());
                Ok(StartedServer {
                    target,
                    disclosure,
                    nodes: if further.is_empty() {
                        NodeList::default()
                    } else {
                        let all = [&samba].into_iter().chain(&further);
                        NodeList::from_iter(all.map(ScratchSamba::address))
                    },
                    _further: further,
                    samba: Some(samba),
                })
            }
        }
    }

    /// Returns the notes for readers.
    fn all_notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if let HostKind::Samba { nodes: 2.., .. } = self.kind {
            notes.push("several smbd serve one folder, and know nothing of each other".to_owned());
        }
        notes
    }

    /// Returns the target, if a killed run could leave files there.
    pub(super) fn given(&self) -> Option<&Target> {
        match &self.kind {
            HostKind::Given(account) => Some(&account.target),
            HostKind::Samba { .. } => None,
        }
    }
}
