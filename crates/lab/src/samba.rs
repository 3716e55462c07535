//! A real Samba file server with all its files in a temporary folder.
//!
//! Configuration, databases, logs and data are below one folder, which is
//! deleted with the server. The server neither reads nor writes system
//! configuration. It listens on one address, by default on loopback. It runs as
//! the invoking user, root or not, and that user's account is its only account.
//!
//! It needs Linux, and was written for Samba 4.17.
//!
//! Invariant: dropping a [`ScratchSamba`] leaves no process, no folder and no
//! bound port.

mod build;
mod config;
mod judge;
mod launch;
mod options;
mod recycle;
mod remains;

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::{NamedTempFile, TempDir};
use tokio::net::TcpSocket;

pub use self::build::SambaBuild;
use self::build::SambaPrograms;
use self::config::SmbConf;
use self::judge::{check, check_log};
use self::launch::{
    add_account, data_dir, guest_for, invoking_account, launch, log_tail, make_folders,
};
use self::options::with_main_share;
pub use self::options::{SambaKerberos, SambaOptions, SambaShare};
use crate::port::reserve_port;
use crate::process::ProcessGroup;
use crate::{LabError, Password, Tool, require};

/// Name of the share that every instance has.
const MAIN_SHARE: &str = "bench";
/// Prefix of the name of an instance's folder.
const ROOT_PREFIX: &str = "smbench-samba-";
/// Database of the processes that smbd's processes find by name, relative to the root.
const NAMES: &str = "lock/names.tdb";
/// Name of the process that smbd needs for each TREE_CONNECT.
const NOTIFY_DAEMON: &[u8] = b"notify-daemon";
/// Limit for `smbd` to accept connections.
const READY_LIMIT: Duration = Duration::from_secs(20);
/// Interval between two tries to connect to it.
const READY_INTERVAL: Duration = Duration::from_millis(20);
/// Limit for one try. On loopback it succeeds or fails at once.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);

/// A running Samba. Dropping it stops it and deletes its files.
#[derive(Debug)]
pub struct ScratchSamba {
    account: String,
    password: Password,
    address: SocketAddr,
    programs: SambaPrograms,
    // Fields are dropped in this order: the processes end before their folder
    // is deleted, and the port is released last.
    processes: ProcessGroup,
    root: TempDir,
    _reservation: TcpSocket,
}

/// A Samba that has a folder but does not run yet.
#[derive(Debug)]
pub struct PreparedSamba {
    options: SambaOptions,
    programs: SambaPrograms,
    root: TempDir,
}

impl PreparedSamba {
    /// Returns the folder for all files of the server.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Starts the server and returns when it accepts connections.
    ///
    /// # Errors
    /// The errors of [`ScratchSamba::start`].
    pub fn start(self) -> Result<ScratchSamba, LabError> {
        ScratchSamba::start_in(self)
    }
}

impl ScratchSamba {
    /// The line of smb.conf that serves CIFS beside SMB2, for
    /// [`SambaOptions::extra_global`].
    pub const CIFS: &str = "server min protocol = NT1";

    /// Checks that the programs of a scratch Samba are installed.
    ///
    /// # Errors
    /// [`LabError::MissingTool`] with the first missing program and its package.
    pub fn available() -> Result<(), LabError> {
        SambaPrograms::of(None).map(|_| ())
    }

    /// Checks that Samba accepts a line of the global section of `smb.conf`:
    /// that it knows the parameter and can read the value. It is the installed Samba, or
    /// that of a given smbd; without a testparm beside it, the line is checked when the
    /// server starts.
    ///
    /// Parameters with a colon in their names belong to modules. They cannot be
    /// checked, because only the module knows them.
    ///
    /// # Errors
    /// [`LabError::Configuration`] if Samba does not accept the line,
    /// [`LabError::MissingTool`] if testparm is not installed, and
    /// [`LabError::Io`] otherwise.
    pub fn check_line(line: &str, smbd: Option<&Path>) -> Result<(), LabError> {
        let Some(testparm) = SambaPrograms::of(smbd)?.testparm()? else {
            return Ok(());
        };
        let failed = || LabError::io("write a temporary smb.conf");
        let mut file = NamedTempFile::with_prefix(ROOT_PREFIX).map_err(failed())?;
        writeln!(file, "[global]\n{line}").map_err(failed())?;
        check(&testparm, file.path())
    }

    /// Starts a server and returns when it accepts connections.
    ///
    /// # Errors
    /// - [`LabError::MissingTool`] if Samba is not installed.
    /// - [`LabError::NoSmbd`] if the smbd of the options is none.
    /// - [`LabError::Name`] and [`LabError::ShareTaken`] for unusable share names.
    /// - [`LabError::Configuration`] for additional lines that Samba would ignore.
    /// - [`LabError::Listen`] if the address does not belong to this machine.
    /// - [`LabError::NoAccount`] and [`LabError::Account`] if the invoking user
    ///   cannot be a Samba user.
    /// - [`LabError::TemporaryFolder`] for an unusable `TMPDIR`.
    /// - [`LabError::Samba`] with the end of the log, if `smbd` does not accept
    ///   connections within 20 seconds.
    /// - [`LabError::Io`] otherwise.
    pub fn start(options: SambaOptions) -> Result<Self, LabError> {
        Self::prepare(options)?.start()
    }

    /// Starts a server for a test. If Samba is not installed, it prints a message
    /// and returns `None`.
    ///
    /// # Panics
    /// Panics if the server does not start. Also panics if Samba is not installed
    /// and the environment variable `CI` is set.
    #[must_use]
    #[expect(clippy::print_stderr, reason = "a skipped test has a message")]
    pub fn or_skip(options: SambaOptions) -> Option<Self> {
        if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
            eprintln!("{skip}");
            return None;
        }
        Some(Self::start(options).unwrap_or_else(|error| panic!("{error}")))
    }

    /// Makes the folder of a server before any process runs in it. So the
    /// caller can announce the folder, and it can be deleted even if the caller
    /// is killed later.
    ///
    /// # Errors
    /// [`LabError::MissingTool`], [`LabError::NoSmbd`] and [`LabError::Io`], as for
    /// [`ScratchSamba::start`].
    pub fn prepare(options: SambaOptions) -> Result<PreparedSamba, LabError> {
        let programs = SambaPrograms::of(options.smbd.as_deref())?;
        let root =
            TempDir::with_prefix(ROOT_PREFIX).map_err(LabError::io("make a temporary folder"))?;
        Ok(PreparedSamba {
            options,
            programs,
            root,
        })
    }

    fn start_in(prepared: PreparedSamba) -> Result<Self, LabError> {
        let PreparedSamba {
            options,
            programs,
            root,
        } = prepared;
        let SambaOptions {
            smbd: _,
            password,
            signing,
            listen,
            mut extra_global,
            extra_share,
            shares,
            kerberos,
        } = options;
        if let Some(kerberos) = &kerberos {
            extra_global.extend(kerberos.lines()?);
        }
        let shares = with_main_share(extra_share, shares)?;
        let account = invoking_account()?;
        let password = match password {
            Some(password) => password,
            None => Password::random()?,
        };
        let (reservation, port) = reserve_port(listen).map_err(|source| LabError::Listen {
            addr: SocketAddr::new(listen, 0),
            source,
        })?;
        let sections = make_folders(root.path(), &shares)?;
        let configuration = SmbConf {
            root: root.path(),
            listen,
            port,
            account: &account,
            guest: guest_for(&account),
            signing,
            global_lines: &extra_global,
            shares: &sections,
        }
        .write()?;
        let is_ours = extra_global.is_empty() && shares.iter().all(|share| share.lines.is_empty());
        let testparm = if is_ours { None } else { programs.testparm()? };
        if let Some(testparm) = &testparm {
            check(testparm, &configuration)?;
        }
        add_account(&programs, root.path(), &configuration, &account, &password)?;
        let krb5_conf = kerberos.map(|kerberos| kerberos.configuration);
        let processes = launch(&programs, root.path(), &configuration, krb5_conf.as_deref())?;
        let samba = Self {
            account,
            password,
            address: SocketAddr::new(listen, port),
            programs,
            processes,
            root,
            _reservation: reservation,
        };
        samba.wait_until_ready()?;
        if !is_ours && testparm.is_none() {
            check_log(&samba.log_tail())?;
        }
        Ok(samba)
    }

    /// Returns the share `bench` as a target, such as
    /// `smb://root@127.0.0.1:40123/bench`.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(MAIN_SHARE)
    }

    /// Returns the share called `share` as a target.
    #[must_use]
    pub fn url_of(&self, share: &str) -> String {
        format!("smb://{}@{}/{share}", self.account, self.address())
    }

    /// Returns the account's name, which is the invoking user's.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.account
    }

    /// Returns the account's password.
    #[must_use]
    pub fn password(&self) -> &str {
        self.password.as_str()
    }

    /// Returns the address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the port that the server listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the folder with all files of the server.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns the folder of the share `bench`.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.data_dir_of(MAIN_SHARE)
    }

    /// Returns the folder of the share called `share`.
    #[must_use]
    pub fn data_dir_of(&self, share: &str) -> PathBuf {
        data_dir(self.root.path(), share)
    }

    /// Allows every account of this machine to write into the folder of a
    /// share. This includes the account that represents guests.
    ///
    /// # Errors
    /// [`LabError::Io`] if the system refuses.
    pub fn open_to_all(&self, share: &str) -> Result<(), LabError> {
        let open = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode))
                .map_err(LabError::io(format!("open {}", path.display())))
        };
        let folder = self.data_dir_of(share);
        // The parent folders can be passed through, but not listed.
        for parent in folder.ancestors().skip(1) {
            open(parent, 0o711)?;
            if parent == self.root.path() {
                break;
            }
        }
        open(&folder, 0o777)
    }

    /// Returns the process ids of `smbd` and its children: one child per
    /// connection, and a few helpers.
    #[must_use]
    pub fn server_pids(&self) -> Vec<u32> {
        self.processes.members()
    }

    /// Returns whether `smbd` has ended, so that no request is answered any more.
    #[must_use]
    pub fn has_exited(&self) -> bool {
        self.processes.has_exited()
    }

    /// Returns the end of the log of `smbd`.
    #[must_use]
    pub fn log_tail(&self) -> String {
        log_tail(self.root.path())
    }

    /// Stops the server and deletes its folder.
    ///
    /// # Errors
    /// [`LabError::Io`] if the folder cannot be deleted. The server is stopped
    /// anyway.
    pub fn stop(self) -> Result<(), LabError> {
        let Self {
            processes, root, ..
        } = self;
        drop(processes);
        root.close()
            .map_err(LabError::io("delete the server's folder"))
    }

    /// Waits until the port answers and the notify daemon is known. Only `smbd`
    /// can answer, because the port is reserved. Before that daemon has its name
    /// in the database, smbd refuses each TREE_CONNECT with STATUS_NO_MEMORY.
    fn wait_until_ready(&self) -> Result<(), LabError> {
        let deadline = Instant::now() + READY_LIMIT;
        while Instant::now() < deadline {
            if self.knows_notify_daemon()
                && TcpStream::connect_timeout(&self.address(), CONNECT_LIMIT).is_ok()
            {
                return Ok(());
            }
            if self.processes.has_exited() {
                return Err(self.failure("exited before it was ready".to_owned()));
            }
            thread::sleep(READY_INTERVAL);
        }
        let limit_s = READY_LIMIT.as_secs();
        Err(self.failure(format!("did not accept connections within {limit_s} s")))
    }

    fn knows_notify_daemon(&self) -> bool {
        fs::read(self.root.path().join(NAMES)).is_ok_and(|names| {
            names
                .windows(NOTIFY_DAEMON.len())
                .any(|name| name == NOTIFY_DAEMON)
        })
    }

    fn failure(&self, reason: String) -> LabError {
        LabError::Samba {
            reason,
            log: self.log_tail(),
        }
    }
}
