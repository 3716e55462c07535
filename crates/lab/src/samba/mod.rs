//! A real Samba file server with everything it owns in a temporary folder.
//!
//! Configuration, databases, logs and data live below one folder that goes away
//! with the server; no system configuration is read or written and one address, of
//! loopback unless told otherwise, is listened on. It runs as whoever starts it, root or not: the invoking
//! account is the one Samba account. Needs Linux; written against Samba 4.17.
//!
//! Invariant: dropping a [`ScratchSamba`] leaves no process, no folder and no
//! bound port.

mod config;
mod remains;

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::{User, geteuid};
use tempfile::TempDir;
use tokio::net::TcpSocket;

use self::config::{Config, FOLDERS, ShareSection};
use crate::options::check_name;
use crate::port::reserve_port;
use crate::process::ProcessGroup;
use crate::{LabError, Password, ShareAccess, Signing, Tool};

/// Name of the share every instance has.
const MAIN_SHARE: &str = "bench";
/// How the name of the folder begins that holds all of an instance.
const ROOT_PREFIX: &str = "smbench-samba-";
/// Section names of `smb.conf` that are no further shares (smb.conf(5)).
const SPECIAL_SECTIONS: [&str; 4] = [MAIN_SHARE, "global", "homes", "printers"];
/// How long `smbd` may take until it accepts connections.
const READY_LIMIT: Duration = Duration::from_secs(20);
/// How often it is tried meanwhile.
const READY_INTERVAL: Duration = Duration::from_millis(20);
/// How long one try may take; on loopback it succeeds or fails at once.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
/// What smbd prints, relative to the root.
const STARTUP_LOG: &str = "log/startup.log";
/// What smbd logs before it has read in smb.conf where to log.
const EARLY_LOG: &str = "log/log.smbd";
/// How much of the end of a log an error carries, in bytes.
const LOG_TAIL_BYTES: u64 = 4096;

/// How a [`ScratchSamba`] is set up.
#[derive(Debug, Clone)]
pub struct SambaOptions {
    /// Password of the account; a random one when absent.
    pub password: Option<Password>,
    /// Whether sessions must sign.
    pub signing: Signing,
    /// The address of this machine to listen on.
    pub listen: IpAddr,
    /// Further lines of the global section of `smb.conf`.
    pub extra_global: Vec<String>,
    /// Further lines of the section of the main share, `bench`.
    pub extra_share: Vec<String>,
    /// Shares beside `bench`.
    pub shares: Vec<SambaShare>,
    /// Tickets to be taken, beside passwords.
    pub kerberos: Option<SambaKerberos>,
}

impl Default for SambaOptions {
    fn default() -> Self {
        Self {
            password: None,
            signing: Signing::Optional,
            listen: Ipv4Addr::LOCALHOST.into(),
            extra_global: Vec::new(),
            extra_share: Vec::new(),
            shares: Vec::new(),
            kerberos: None,
        }
    }
}

/// What a server needs to take Kerberos tickets; see
/// [`ScratchKdc::samba`](crate::ScratchKdc::samba).
#[derive(Debug, Clone)]
pub struct SambaKerberos {
    /// Realm of its users.
    pub realm: String,
    /// File with the keys of its services.
    pub keytab: PathBuf,
    /// The `krb5.conf` to use instead of the system's.
    pub configuration: PathBuf,
}

impl SambaKerberos {
    /// Lines of the global section of `smb.conf`.
    fn lines(&self) -> Result<[String; 3], LabError> {
        Ok([
            format!("realm = {}", self.realm),
            "kerberos method = dedicated keytab".to_owned(),
            format!("dedicated keytab file = {}", config::plain(&self.keytab)?),
        ])
    }
}

/// A share of a [`ScratchSamba`], with a folder of its own.
#[derive(Debug, Clone)]
pub struct SambaShare {
    /// Name of the share.
    pub name: String,
    /// What clients may do.
    pub access: ShareAccess,
    /// Further lines of its section of `smb.conf`.
    pub lines: Vec<String>,
}

/// A running Samba; dropping it stops it and deletes everything it had.
#[derive(Debug)]
pub struct ScratchSamba {
    account: String,
    password: Password,
    address: SocketAddr,
    // Fields drop in this order: the processes end before their folder goes, and
    // the port is given up last.
    processes: ProcessGroup,
    root: TempDir,
    _reservation: TcpSocket,
}

/// A Samba whose folder there is, but that does not run yet.
#[derive(Debug)]
pub struct PreparedSamba {
    options: SambaOptions,
    root: TempDir,
}

impl PreparedSamba {
    /// The folder that will hold everything the server owns.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Starts the server and returns once it accepts connections.
    ///
    /// # Errors
    /// As [`ScratchSamba::start`].
    pub fn start(self) -> Result<ScratchSamba, LabError> {
        ScratchSamba::start_in(self.root, self.options)
    }
}

impl ScratchSamba {
    /// Whether the programs a scratch Samba needs are installed.
    ///
    /// # Errors
    /// [`LabError::MissingTool`] naming the first missing one and its package.
    pub fn available() -> Result<(), LabError> {
        Tool::SMBD.find()?;
        Tool::PDBEDIT.find()?;
        Ok(())
    }

    /// Starts a server and returns once it accepts connections.
    ///
    /// # Errors
    /// [`LabError::MissingTool`] when Samba is not installed,
    /// [`LabError::Name`] and [`LabError::ShareTaken`] for unusable share names,
    /// [`LabError::Listen`] when the address is none of this machine,
    /// [`LabError::NoAccount`] and [`LabError::Account`] when the invoking user
    /// cannot be a Samba user, [`LabError::TemporaryFolder`] for an unusable
    /// `TMPDIR`, [`LabError::Samba`] with the end of its log when `smbd` does not
    /// accept connections within 20 seconds, and [`LabError::Io`] otherwise.
    pub fn start(options: SambaOptions) -> Result<Self, LabError> {
        Self::prepare(options)?.start()
    }

    /// Makes the folder of a server, so that somebody can be told of it before
    /// anything runs in it: who is killed then leaves nothing that nobody knows of.
    ///
    /// # Errors
    /// [`LabError::MissingTool`] and [`LabError::Io`], as [`ScratchSamba::start`].
    pub fn prepare(options: SambaOptions) -> Result<PreparedSamba, LabError> {
        Self::available()?;
        let root =
            TempDir::with_prefix(ROOT_PREFIX).map_err(LabError::io("make a temporary folder"))?;
        Ok(PreparedSamba { options, root })
    }

    fn start_in(root: TempDir, options: SambaOptions) -> Result<Self, LabError> {
        let smbd = Tool::SMBD.find()?;
        let pdbedit = Tool::PDBEDIT.find()?;
        let SambaOptions {
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
        let configuration = Config {
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
        add_account(&pdbedit, root.path(), &configuration, &account, &password)?;
        let krb5_conf = kerberos.map(|kerberos| kerberos.configuration);
        let processes = launch(&smbd, root.path(), &configuration, krb5_conf.as_deref())?;
        let samba = Self {
            account,
            password,
            address: SocketAddr::new(listen, port),
            processes,
            root,
            _reservation: reservation,
        };
        samba.wait_until_ready()?;
        Ok(samba)
    }

    /// The share `bench` as a target, such as `smb://root@127.0.0.1:40123/bench`.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(MAIN_SHARE)
    }

    /// The share called `share` as a target.
    #[must_use]
    pub fn url_of(&self, share: &str) -> String {
        format!("smb://{}@{}/{share}", self.account, self.address())
    }

    /// The account's name: that of the invoking user.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.account
    }

    /// The account's password.
    #[must_use]
    pub fn password(&self) -> &str {
        self.password.as_str()
    }

    /// The address the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port the server listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The folder that holds everything it owns.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The program and its version, such as `Samba 4.17.12-Debian`; `None` where it
    /// does not say.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        let smbd = Tool::SMBD.find().ok()?;
        let said = Command::new(smbd).arg("--version").output().ok()?;
        let said = String::from_utf8(said.stdout).ok()?;
        Some(format!("Samba {}", said.trim().strip_prefix("Version ")?))
    }

    /// The folder behind the share `bench`.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.data_dir_of(MAIN_SHARE)
    }

    /// The folder behind the share called `share`.
    #[must_use]
    pub fn data_dir_of(&self, share: &str) -> PathBuf {
        data_dir(self.root.path(), share)
    }

    /// Lets every account of this machine, so also the one that stands in for
    /// guests, write into the folder behind a share.
    ///
    /// # Errors
    /// [`LabError::Io`] when the system refuses.
    pub fn open_to_all(&self, share: &str) -> Result<(), LabError> {
        let open = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode))
                .map_err(LabError::io(format!("open {}", path.display())))
        };
        let folder = self.data_dir_of(share);
        // Its parents can be passed through, and not be looked into.
        for parent in folder.ancestors().skip(1) {
            open(parent, 0o711)?;
            if parent == self.root.path() {
                break;
            }
        }
        open(&folder, 0o777)
    }

    /// The process ids of `smbd` and its children, of which there is one per
    /// connection and a few helpers.
    #[must_use]
    pub fn server_pids(&self) -> Vec<u32> {
        self.processes.members()
    }

    /// The end of `smbd`'s log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        log_tail(self.root.path())
    }

    /// Stops the server and deletes its folder.
    ///
    /// # Errors
    /// [`LabError::Io`] when the folder cannot be deleted; the server is stopped
    /// all the same.
    pub fn stop(self) -> Result<(), LabError> {
        let Self {
            processes, root, ..
        } = self;
        drop(processes);
        root.close()
            .map_err(LabError::io("delete the server's folder"))
    }

    /// Waits until the port answers. Nothing but `smbd` can: the port is ours.
    fn wait_until_ready(&self) -> Result<(), LabError> {
        let deadline = Instant::now() + READY_LIMIT;
        while Instant::now() < deadline {
            if TcpStream::connect_timeout(&self.address(), CONNECT_LIMIT).is_ok() {
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

    fn failure(&self, reason: String) -> LabError {
        LabError::Samba {
            reason,
            log: self.log_tail(),
        }
    }
}

/// All shares of an instance, each with a name of its own that means nothing
/// else.
fn with_main_share(
    extra_lines: Vec<String>,
    mut others: Vec<SambaShare>,
) -> Result<Vec<SambaShare>, LabError> {
    let mut taken: Vec<String> = SPECIAL_SECTIONS.map(str::to_owned).into();
    for share in &others {
        check_name("share", &share.name)?;
        let name = share.name.to_ascii_lowercase();
        if taken.contains(&name) {
            return Err(LabError::ShareTaken { name });
        }
        taken.push(name);
    }
    let main = SambaShare {
        name: MAIN_SHARE.to_owned(),
        access: ShareAccess::ReadWrite,
        lines: extra_lines,
    };
    others.insert(0, main);
    Ok(others)
}

/// The name of the account this process runs as.
fn invoking_account() -> Result<String, LabError> {
    let uid = geteuid();
    let user = User::from_uid(uid)
        .map_err(|errno| LabError::io("look up the invoking account")(errno.into()))?
        .ok_or(LabError::NoAccount { uid: uid.as_raw() })?;
    check_name("user", &user.name)?;
    Ok(user.name)
}

/// Makes the folders of an instance; returns the sections of its shares.
fn make_folders<'a>(
    root: &Path,
    shares: &'a [SambaShare],
) -> Result<Vec<ShareSection<'a>>, LabError> {
    let make = |folder: &Path| {
        fs::create_dir_all(folder).map_err(LabError::io(format!(
            "make the folder {}",
            folder.display()
        )))
    };
    for folder in FOLDERS {
        make(&root.join(folder))?;
    }
    let section = |share: &'a SambaShare| {
        let path = data_dir(root, &share.name);
        make(&path)?;
        Ok(ShareSection {
            name: &share.name,
            path,
            access: share.access,
            lines: &share.lines,
        })
    };
    shares.iter().map(section).collect()
}

/// The account that stands in for guests; see `guest account` in the template.
fn guest_for(account: &str) -> &str {
    if geteuid().is_root() {
        "nobody"
    } else {
        account
    }
}

fn data_dir(root: &Path, share: &str) -> PathBuf {
    root.join("data").join(share)
}

/// Adds `account` to the instance's password database.
///
/// `pdbedit` and not `smbpasswd`, which adds accounts for root only.
fn add_account(
    pdbedit: &Path,
    root: &Path,
    configuration: &Path,
    account: &str,
    password: &Password,
) -> Result<(), LabError> {
    let failed = || LabError::io("run pdbedit");
    let mut child = Command::new(pdbedit)
        .arg("--configfile")
        .arg(configuration)
        .arg("--log-basename")
        .arg(root.join("log"))
        .args(["--create", "--password-from-stdin", "--user", account])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed())?;
    if let Some(mut stdin) = child.stdin.take() {
        let password = password.as_str();
        // It asks twice. A program that ended early is reported by its status.
        let _ = write!(stdin, "{password}\n{password}\n");
    }
    let output = child.wait_with_output().map_err(failed())?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(LabError::Account {
        status: output.status,
        output: String::from_utf8_lossy(&said).trim().to_owned(),
    })
}

fn launch(
    smbd: &Path,
    root: &Path,
    configuration: &Path,
    krb5_conf: Option<&Path>,
) -> Result<ProcessGroup, LabError> {
    let failed = || LabError::io("start smbd");
    let startup = File::create(root.join(STARTUP_LOG)).map_err(failed())?;
    let mut command = Command::new(smbd);
    command
        .args(["--foreground", "--no-process-group"])
        .arg("--configfile")
        .arg(configuration)
        // Until smb.conf is read, it would log into the system's folder.
        .arg("--log-basename")
        .arg(root.join("log"))
        .stdout(startup.try_clone().map_err(failed())?)
        .stderr(startup);
    if let Some(krb5_conf) = krb5_conf {
        command.env("KRB5_CONFIG", krb5_conf);
    }
    ProcessGroup::spawn(&mut command).map_err(failed())
}

/// The end of what `smbd` wrote.
fn log_tail(root: &Path) -> String {
    [STARTUP_LOG, EARLY_LOG, "log/smbd.log"]
        .iter()
        .filter_map(|file| tail(&root.join(file)).ok())
        .collect::<Vec<_>>()
        .concat()
}

fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let len_bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(len_bytes.saturating_sub(LOG_TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{SambaShare, with_main_share};
    use crate::{LabError, ShareAccess};

    fn shares(names: &[&str]) -> Vec<SambaShare> {
        names
            .iter()
            .map(|name| SambaShare {
                name: (*name).to_owned(),
                access: ShareAccess::ReadOnly,
                lines: Vec::new(),
            })
            .collect()
    }

    #[test]
    fn share_names_that_mean_something_else_are_refused() {
        let all = with_main_share(vec!["x = y".into()], shares(&["readonly"])).unwrap();
        let names: Vec<&str> = all.iter().map(|share| share.name.as_str()).collect();
        assert_eq!(names, ["bench", "readonly"]);
        assert_eq!(all[0].lines, ["x = y"]);
        for names in [&["bench"][..], &["Global"], &["a", "A"]] {
            let error = with_main_share(Vec::new(), shares(names)).unwrap_err();
            assert!(matches!(error, LabError::ShareTaken { .. }), "{error}");
        }
        let error = with_main_share(Vec::new(), shares(&["a]\npath = /"])).unwrap_err();
        assert!(matches!(error, LabError::Name { .. }), "{error}");
    }
}
