//! A real MIT KDC with all its files in a temporary folder.
//!
//! Configuration, database, logs, keytabs and caches are below one folder,
//! which is deleted with the KDC. The KDC neither reads nor writes system
//! configuration. It listens on loopback only, over TCP, and runs as the
//! invoking user. It was written for MIT Kerberos 1.20.
//!
//! Invariant: dropping a [`ScratchKdc`] leaves no process, no folder and no
//! bound port.

mod config;

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::net::TcpSocket;

use crate::options::check_name;
use crate::port::reserve_port;
use crate::process::{ProcessGroup, output};
use crate::{LabError, Password, SambaKerberos, Tool};

/// Limit for the KDC to accept connections.
const READY_LIMIT: Duration = Duration::from_secs(20);
/// Interval between two tries to connect to it.
const READY_INTERVAL: Duration = Duration::from_millis(20);
/// Runs the KDC until the KDC ends or standard input closes. The shell gives a
/// background job no standard input, so the script copies it first.
const WHILE_WE_LIVE: &str =
    r#"exec 3<&0; "$@" & kdc=$!; (cat <&3 >/dev/null; kill $kdc) & wait $kdc"#;

/// Options of a [`ScratchKdc`].
#[derive(Debug, Clone)]
pub struct KdcOptions {
    /// Name of the realm.
    pub realm: String,
    /// The only encryption type of all keys, such as
    /// `aes128-cts-hmac-sha256-128`. `None` uses the KDC's defaults.
    pub encryption: Option<String>,
}

impl Default for KdcOptions {
    fn default() -> Self {
        Self {
            realm: "LAB.EXAMPLE".to_owned(),
            encryption: None,
        }
    }
}

/// A running KDC. Dropping it stops it and deletes its files.
#[derive(Debug)]
pub struct ScratchKdc {
    realm: String,
    port: u16,
    // Fields are dropped in this order, for the reasons in `ScratchSamba`.
    process: ProcessGroup,
    root: TempDir,
    _reservation: TcpSocket,
}

impl ScratchKdc {
    /// The programs that a scratch KDC needs.
    pub const TOOLS: [Tool; 4] = [
        Tool::KRB5KDC,
        Tool::KDB5_UTIL,
        Tool::KADMIN_LOCAL,
        Tool::KINIT,
    ];

    /// Starts a KDC without users, and returns when it accepts connections.
    ///
    /// # Errors
    /// - [`LabError::MissingTool`] if MIT Kerberos is not installed.
    /// - [`LabError::Name`] for an unusable realm or encryption type.
    /// - [`LabError::Kerberos`] with the output, if a program fails or the KDC
    ///   does not start within 20 seconds.
    /// - [`LabError::Io`] otherwise.
    pub fn start(options: KdcOptions) -> Result<Self, LabError> {
        let KdcOptions { realm, encryption } = options;
        check_name("realm", &realm)?;
        if let Some(encryption) = &encryption {
            check_name("encryption type", encryption)?;
        }
        let krb5kdc = Tool::KRB5KDC.find()?;
        let (reservation, port) =
            reserve_port(Ipv4Addr::LOCALHOST.into()).map_err(LabError::io("reserve a port"))?;
        let root = TempDir::with_prefix("smbench-kdc-")
            .map_err(LabError::io("make a temporary folder"))?;
        config::write(root.path(), &realm, port, encryption.as_deref())?;
        make_database(root.path(), &realm)?;
        let log =
            || File::create(root.path().join("startup.log")).map_err(LabError::io("start krb5kdc"));
        let mut command = Command::new("sh");
        command
            .args(["-c", WHILE_WE_LIVE, "sh"])
            .arg(krb5kdc)
            .args(["-n", "-r", &realm])
            .stdout(log()?)
            .stderr(log()?);
        config::environment(&mut command, root.path());
        let process = ProcessGroup::spawn(&mut command).map_err(LabError::io("start krb5kdc"))?;
        let kdc = Self {
            realm,
            port,
            process,
            root,
            _reservation: reservation,
        };
        kdc.wait_until_ready()?;
        Ok(kdc)
    }

    fn wait_until_ready(&self) -> Result<(), LabError> {
        let deadline = Instant::now() + READY_LIMIT;
        while Instant::now() < deadline && !self.process.has_exited() {
            if TcpStream::connect_timeout(&self.address(), READY_LIMIT).is_ok() {
                return Ok(());
            }
            thread::sleep(READY_INTERVAL);
        }
        Err(LabError::Kerberos {
            program: "krb5kdc",
            output: self.log(),
        })
    }

    /// Returns the realm's name.
    #[must_use]
    pub fn realm(&self) -> &str {
        &self.realm
    }

    /// Returns the address that the KDC listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Returns the path of a `krb5.conf` that has only this realm.
    #[must_use]
    pub fn configuration(&self) -> PathBuf {
        config::krb5_conf(self.root.path())
    }

    /// Returns the text that the KDC has logged.
    #[must_use]
    pub fn log(&self) -> String {
        ["startup.log", "kdc.log"]
            .iter()
            .filter_map(|file| fs::read_to_string(self.root.path().join(file)).ok())
            .collect()
    }

    /// Adds a user with a password.
    ///
    /// # Errors
    /// [`LabError::Name`] for a name that would need quoting, and
    /// [`LabError::Kerberos`] if the user cannot be added.
    pub fn add_user(&self, name: &str, password: &Password) -> Result<(), LabError> {
        check_name("user", name)?;
        let password = password.as_str();
        self.administer(&["addprinc", name], &format!("{password}\n{password}\n"))
    }

    /// Adds a service such as `cifs/HOST` and returns a keytab with its keys.
    ///
    /// # Errors
    /// The errors of [`ScratchKdc::add_user`].
    pub fn add_service(&self, service: &str, host: &str) -> Result<PathBuf, LabError> {
        check_name("service", service)?;
        check_name("host", host)?;
        let principal = format!("{service}/{host}");
        self.administer(&["addprinc", "-randkey", &principal], "")?;
        self.keytab(&principal)
    }

    /// Changes a user's password, and with it the user's keys.
    ///
    /// # Errors
    /// [`LabError::Kerberos`] if the user does not exist.
    pub fn change_password(&self, user: &str, password: &Password) -> Result<(), LabError> {
        let password = password.as_str();
        self.administer(&["cpw", user], &format!("{password}\n{password}\n"))
    }

    /// Makes the KDC refuse all further tickets for a user.
    ///
    /// # Errors
    /// [`LabError::Kerberos`] if the user does not exist.
    pub fn lock(&self, user: &str) -> Result<(), LabError> {
        self.administer(&["modprinc", "-allow_tix", user], "")
    }

    /// Limits the lifetime of the tickets of a user or for a service.
    ///
    /// # Errors
    /// [`LabError::Kerberos`] if the principal does not exist.
    pub fn limit_life(&self, principal: &str, life: Duration) -> Result<(), LabError> {
        let life = format!("{} sec", life.as_secs());
        self.administer(&["modprinc", "-maxlife", &life, principal], "")
    }

    /// Returns the path of a keytab with the current keys of a user or service.
    ///
    /// # Errors
    /// [`LabError::Kerberos`] if the principal does not exist.
    pub fn keytab(&self, principal: &str) -> Result<PathBuf, LabError> {
        let name = format!("{}.keytab", principal.replace('/', "_"));
        let path = self.root.path().join(name);
        let shown = path.display().to_string();
        self.administer(&["ktadd", "-norandkey", "-k", &shown, principal], "")?;
        // For an unknown principal kadmin makes no file, but its exit status is
        // success.
        if path.exists() {
            Ok(path)
        } else {
            Err(LabError::Kerberos {
                program: "kadmin.local",
                output: format!("there is no principal {principal}"),
            })
        }
    }

    /// Returns the path of a credential cache with a ticket of `user`, made by
    /// `kinit`.
    ///
    /// # Errors
    /// [`LabError::Kerberos`] if `kinit` fails.
    pub fn kinit(&self, user: &str, password: &Password) -> Result<PathBuf, LabError> {
        let path = self.root.path().join(format!("{user}.ccache"));
        let mut command = Command::new(Tool::KINIT.find()?);
        command.arg("-c").arg(&path).arg(user);
        self.run("kinit", command, &format!("{}\n", password.as_str()))?;
        Ok(path)
    }

    /// Returns the options that make a scratch Samba accept this KDC's tickets
    /// for the service of `keytab`.
    #[must_use]
    pub fn samba(&self, keytab: PathBuf) -> SambaKerberos {
        SambaKerberos {
            realm: self.realm.clone(),
            keytab,
            configuration: self.configuration(),
        }
    }

    /// Runs one command of kadmin. Passwords go to standard input, because
    /// arguments are visible in process lists.
    fn administer(&self, arguments: &[&str], input: &str) -> Result<(), LabError> {
        let mut command = Command::new(Tool::KADMIN_LOCAL.find()?);
        command.args(["-r", &self.realm]).args(arguments);
        self.run("kadmin.local", command, input)
    }

    fn run(&self, program: &'static str, command: Command, input: &str) -> Result<(), LabError> {
        run(self.root.path(), program, command, input)
    }
}

/// Runs a program with the KDC's configuration.
fn run(
    root: &Path,
    program: &'static str,
    mut command: Command,
    input: &str,
) -> Result<(), LabError> {
    config::environment(&mut command, root);
    let output = output(&mut command, input).map_err(LabError::io(format!("run {program}")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(LabError::Kerberos {
        program,
        output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

fn make_database(root: &Path, realm: &str) -> Result<(), LabError> {
    let master = Password::random()?;
    let master = master.as_str();
    let mut command = Command::new(Tool::KDB5_UTIL.find()?);
    command.args(["-r", realm, "create", "-s"]);
    run(root, "kdb5_util", command, &format!("{master}\n{master}\n"))
}

#[cfg(test)]
mod tests {
    use super::{KdcOptions, ScratchKdc};
    use crate::{LabError, Password, require};

    #[test]
    fn it_serves_tickets_and_leaves_nothing_behind() {
        if let Err(skip) = require(&ScratchKdc::TOOLS) {
            return eprintln!("{skip}");
        }
        let kdc = ScratchKdc::start(KdcOptions::default()).unwrap();
        let password = Password::random().unwrap();
        kdc.add_user("ann", &password).unwrap();
        let cache = kdc.kinit("ann", &password).unwrap();
        assert!(cache.exists());
        let wrong = kdc.kinit("ann", &Password::from("wrong")).unwrap_err();
        assert!(matches!(wrong, LabError::Kerberos { .. }), "{wrong}");
        let nobody = kdc.keytab("nobody").unwrap_err();
        assert!(nobody.to_string().contains("nobody"), "{nobody}");
        let keytab = kdc.add_service("cifs", "localhost").unwrap();
        assert!(keytab.exists());
        let (address, root) = (kdc.address(), kdc.root.path().to_owned());
        drop(kdc);
        assert!(std::net::TcpStream::connect(address).is_err());
        assert!(!root.exists());
    }
}
