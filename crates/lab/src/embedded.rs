//! An SMB server in this process, with shares in memory.
//!
//! The server has its own runtime, and one dedicated thread owns that. So it
//! can be started, stopped and dropped from plain threads and from inside any
//! other runtime.
//!
//! Its limits are far above the capacity of one machine. So a benchmark measures
//! the share, and not the limits that protect a server in a hostile network.
//!
//! Not here: the content of the shares, see [`MemoryShare`].

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use smb_server::{Access, Share, SmbServer};
use tokio::runtime::{self, Runtime};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::memory::MemoryOptions;
use crate::options::check_name;
use crate::{Fault, LabError, MemoryShare, Password, ServicePace, ShareAccess, Signing};

/// Largest read and write that the server negotiates, in bytes. It is the
/// largest that `smb-server` supports.
const TRANSFER_BYTES_MAX: u32 = 8 * 1024 * 1024;
/// Largest number of connections: more than the loopback ports of one address.
const CONNECTIONS_MAX: usize = 65_536;
/// Largest number of sessions on one connection, which a benchmark can vary.
const SESSIONS_PER_CONNECTION_MAX: usize = 65_536;
/// Limit for a client's log-on while thousands of clients log on at once.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(120);
/// Limit for receiving or sending a message on a saturated machine.
const IO_LIMIT: Duration = Duration::from_secs(300);
/// Limit for an idle session, longer than any run's think time.
const IDLE_LIMIT: Duration = Duration::from_secs(24 * 3600);
/// Limit for requests in progress when the server stops. Then they are dropped.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// Options of an [`EmbeddedServer`].
#[derive(Debug, Clone)]
pub struct EmbeddedOptions {
    /// Name of the only account.
    pub user: String,
    /// Password of the account; `None` for a random one.
    pub password: Option<Password>,
    /// Names of the shares. There is at least one, and each has its own files.
    pub shares: Vec<String>,
    /// Capacity of each share for all files together in bytes, including the holes
    /// of files. Further writes fail with `STATUS_DISK_FULL`. `None` means 1 TiB.
    pub capacity_bytes: Option<u64>,
    /// The access of clients to the shares.
    pub access: ShareAccess,
    /// The fault that the shares inject.
    pub fault: Fault,
    /// How fast each share serves reads and writes.
    pub pace: ServicePace,
    /// Largest number of connections; further ones are closed. `None` means more than
    /// one client address can open.
    pub max_connections: Option<usize>,
    /// Whether sessions must sign.
    pub signing: Signing,
    /// The address to listen on. Port 0 takes a free port.
    pub listen: SocketAddr,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            user: "smbench".to_owned(),
            password: None,
            shares: vec!["bench".to_owned()],
            capacity_bytes: None,
            access: ShareAccess::ReadWrite,
            fault: Fault::None,
            pace: ServicePace::Unlimited,
            max_connections: None,
            signing: Signing::Optional,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        }
    }
}

/// A running server; dropping it stops it.
#[derive(Debug)]
pub struct EmbeddedServer {
    user: String,
    password: Password,
    address: SocketAddr,
    shares: Vec<MemoryShare>,
    running: Option<ServerThread>,
}

/// The thread that owns the server. It ends when `stop` is dropped.
#[derive(Debug)]
struct ServerThread {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl EmbeddedServer {
    /// Starts a server and returns when it listens.
    ///
    /// It raises this process's soft limit on open files to its hard limit,
    /// because every connection needs a descriptor.
    ///
    /// # Errors
    /// - [`LabError::NoShare`] and [`LabError::Name`] for unusable options.
    /// - [`LabError::Embedded`] for other options that the server refuses.
    /// - [`LabError::Listen`] if the address cannot be bound.
    /// - [`LabError::Io`] if the system provides no thread, no random bytes or
    ///   no limit.
    pub fn start(options: EmbeddedOptions) -> Result<Self, LabError> {
        check_name("user", &options.user)?;
        options
            .shares
            .iter()
            .try_for_each(|share| check_name("share", share))?;
        if options.shares.is_empty() {
            return Err(LabError::NoShare);
        }
        raise_open_file_limit()?;
        let password = match &options.password {
            Some(password) => password.clone(),
            None => Password::random()?,
        };
        let shares: Vec<MemoryShare> = options.shares.iter().map(|s| share(s, &options)).collect();
        let server = configure(&options, &password, &shares)?;
        let (address, running) = run(server, options.listen)?;
        Ok(Self {
            user: options.user,
            password,
            address,
            shares,
            running: Some(running),
        })
    }

    /// Returns the first share as a target, such as
    /// `smb://smbench@127.0.0.1:4445/bench`.
    #[must_use]
    pub fn url(&self) -> String {
        let address = reachable(self.address);
        let share = self.memory().name();
        format!("smb://{}@{address}/{share}", self.user)
    }

    /// Returns the account's name.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
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

    /// Returns the first share, for tests that inspect its content.
    #[must_use]
    pub fn memory(&self) -> &MemoryShare {
        // The index is valid, because `start` refuses an empty list.
        &self.shares[0]
    }

    /// Returns the share called `name`, for tests that inspect its content.
    #[must_use]
    pub fn share(&self, name: &str) -> Option<&MemoryShare> {
        self.shares
            .iter()
            .find(|share| share.name().eq_ignore_ascii_case(name))
    }

    /// Stops the server. All connections are closed and the port is free
    /// afterwards. Requests in progress have two seconds to finish.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for EmbeddedServer {
    fn drop(&mut self) {
        if let Some(ServerThread { stop, thread }) = self.running.take() {
            drop(stop);
            // If the server's thread panicked, its hook has reported that, and
            // there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

fn share(name: &str, options: &EmbeddedOptions) -> MemoryShare {
    MemoryShare::new(MemoryOptions {
        name: name.to_owned(),
        capacity_bytes: options.capacity_bytes,
        access: options.access,
        fault: options.fault,
        pace: options.pace,
    })
}

fn configure(
    options: &EmbeddedOptions,
    password: &Password,
    shares: &[MemoryShare],
) -> Result<SmbServer, LabError> {
    let builder = SmbServer::builder()
        .listen(options.listen)
        .user(&options.user, password.as_str())
        .require_signing(options.signing == Signing::Required)
        .max_read_size(TRANSFER_BYTES_MAX)
        .max_write_size(TRANSFER_BYTES_MAX)
        .max_connections(options.max_connections.unwrap_or(CONNECTIONS_MAX))
        .max_sessions_per_connection(SESSIONS_PER_CONNECTION_MAX)
        .handshake_timeout(HANDSHAKE_LIMIT)
        .io_timeout(IO_LIMIT)
        .idle_timeout(IDLE_LIMIT)
        // The throttle is off. All clients share one account and one address,
        // so a test with a wrong password would lock out the next run.
        .logon_throttle(0, Duration::ZERO);
    let access = match options.access {
        ShareAccess::ReadWrite => Access::ReadWrite,
        ShareAccess::ReadOnly => Access::Read,
    };
    let builder = shares.iter().fold(builder, |builder, memory| {
        builder.share(Share::new(memory.name(), memory.clone()).user(&options.user, access))
    });
    Ok(builder.build()?)
}

/// Starts the server's thread, and waits until the server listens.
fn run(server: SmbServer, listen: SocketAddr) -> Result<(SocketAddr, ServerThread), LabError> {
    let runtime = runtime::Builder::new_multi_thread()
        .thread_name("lab-server")
        .enable_all()
        .build()
        .map_err(LabError::io("start the embedded server's runtime"))?;
    let (stop, stopped) = oneshot::channel();
    let (bound, binding) = mpsc::sync_channel(1);
    let thread = thread::Builder::new()
        .name("lab-server-main".to_owned())
        .spawn(move || serve(runtime, server, &bound, stopped))
        .map_err(LabError::io("start the embedded server's thread"))?;
    let address = binding
        .recv()
        .unwrap_or_else(|_| Err(io::Error::other("the server's thread ended")))
        .map_err(|source| LabError::Listen {
            addr: listen,
            source,
        })?;
    Ok((address, ServerThread { stop, thread }))
}

/// Binds, reports the address, and serves until `stopped` resolves.
///
/// This thread owns the runtime, because dropping a runtime inside another one
/// panics.
fn serve(
    runtime: Runtime,
    server: SmbServer,
    bound: &mpsc::SyncSender<io::Result<SocketAddr>>,
    stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        let address = server.bind().await;
        let listens = address.is_ok();
        // A failed send or a dropped stop channel means that the starter gave up.
        let _ = bound.send(address);
        if !listens {
            return;
        }
        let shutdown = server.shutdown_handle();
        let serving = tokio::spawn(server.serve());
        let _ = stopped.await;
        shutdown.shutdown();
        let _ = timeout(DRAIN_LIMIT, serving).await;
    });
    runtime.shutdown_timeout(DRAIN_LIMIT);
}

/// Raises the soft limit on open files to the hard limit.
fn raise_open_file_limit() -> Result<(), LabError> {
    let (soft, hard) =
        getrlimit(Resource::RLIMIT_NOFILE).map_err(limit_error("read the limit on open files"))?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)
            .map_err(limit_error("raise the limit on open files"))?;
    }
    Ok(())
}

fn limit_error(action: &'static str) -> impl FnOnce(nix::Error) -> LabError {
    move |errno| LabError::io(action)(errno.into())
}

/// Returns an address that a local client can connect to, also for a server
/// that listens on all addresses.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests;
