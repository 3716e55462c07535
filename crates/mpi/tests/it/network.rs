//! Machines for a test: network namespaces on a bridge, each with a host name of its own, and
//! one with a clock that is a day ahead.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{env, thread};

use nix::unistd::geteuid;
use smbench_lab::{EmbeddedOptions, EmbeddedServer, Tool, require};
use tempfile::TempDir;

/// Number of machines.
pub(crate) const MACHINES: usize = 3;
/// Time limit of a command.
const LIMIT: Duration = Duration::from_secs(90);
/// The command under test.
const SMBENCH_MPI: &str = env!("CARGO_BIN_EXE_smbench-mpi");

/// Starts the daemon of Open MPI on a machine, as ssh would.
const AGENT: &str = r#"#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
n=$((${host##*.} - 1))
clock=
[ $n = 1 ] && clock="--time --fork --monotonic 86400"
exec ip netns exec "PREFIX$n" unshare --uts $clock sh -c "hostname node$n; $*"
"#;

/// The machines, a bridge between them, and a server at the bridge's own address.
pub(crate) struct Network {
    prefix: String,
    subnet: String,
    pub(crate) server: EmbeddedServer,
    pub(crate) folder: TempDir,
    /// One test has the CPUs of this machine: a host that has none for 1.5 s stands still.
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

/// Runs a program as root, and fails if it fails.
#[track_caller]
fn as_root(words: &str) {
    let output = root(words).output().unwrap();
    assert!(output.status.success(), "{words}: {output:?}");
}

fn root(words: &str) -> Command {
    let mut words: Vec<_> = words.split_whitespace().collect();
    if !geteuid().is_root() {
        words.splice(0..0, ["sudo", "-n"]);
    }
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

impl Network {
    /// Sets the machines up. `None` if a program for it is missing.
    pub(crate) fn or_skip() -> Option<Self> {
        let tools = [
            Tool::new("mpirun", "openmpi-bin"),
            Tool::new("ip", "iproute2"),
            Tool::new("unshare", "util-linux"),
        ];
        if let Err(skip) = require(&tools) {
            eprintln!("{skip}");
            return None;
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let id = process::id() % 200 + number * 16 % 50;
        let prefix = format!("smb{}x{number}n", process::id() % 10_000);
        let subnet = format!("10.77.{id}");
        let bridge = format!("{prefix}b");
        as_root(&format!("ip link add {bridge} type bridge"));
        as_root(&format!("ip link set {bridge} up"));
        as_root(&format!("ip addr add {subnet}.254/24 dev {bridge}"));
        for n in 0..MACHINES {
            let (space, link, host) = (format!("{prefix}{n}"), format!("{prefix}v{n}"), n + 1);
            as_root(&format!("ip netns add {space}"));
            as_root(&format!(
                "ip link add {link} type veth peer name eth0 netns {space}"
            ));
            as_root(&format!("ip link set {link} master {bridge} up"));
            as_root(&format!(
                "ip -n {space} addr add {subnet}.{host}/24 dev eth0"
            ));
            as_root(&format!("ip -n {space} link set eth0 up"));
            as_root(&format!("ip -n {space} link set lo up"));
        }
        let listen: SocketAddr = format!("{subnet}.254:0").parse().unwrap();
        let server = EmbeddedServer::start(EmbeddedOptions {
            listen,
            ..EmbeddedOptions::default()
        });
        let network = Self {
            prefix,
            subnet,
            server: server.unwrap(),
            folder: tempfile::tempdir().unwrap(),
            _alone: alone,
        };
        let agent = network.path("agent");
        let mut file = fs::File::create(&agent).unwrap();
        let script = AGENT.replace("PREFIX", &network.prefix);
        file.write_all(script.as_bytes()).unwrap();
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
        Some(network)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the path of the only part of a rank in the folder `parts`.
    #[track_caller]
    pub(crate) fn part(&self, rank: usize) -> String {
        let end = format!("-rank{rank}.json");
        let names = fs::read_dir(self.path("parts")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let name = names.into_iter().find(|name| name.ends_with(&end)).unwrap();
        format!("parts/{name}")
    }

    /// Returns the name of the bridge.
    pub(crate) fn bridge(&self) -> String {
        format!("{}b", self.prefix)
    }

    /// Makes a command on the first machine.
    fn on_first(&self, words: &str) -> Command {
        let space = format!("{}0", self.prefix);
        let mut command = root(&format!(
            "ip netns exec {space} unshare --uts env SMBENCH_PASSWORD={} \
             OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NO_COLOR=1 \
             PATH={} sh -c",
            self.server.password(),
            env::var("PATH").unwrap(),
        ));
        command
            .arg(format!("hostname node0; exec {words}"))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts `smbench-mpi` on all machines.
    pub(crate) fn start(&self, words: &str) -> process::Child {
        let subnet = &self.subnet;
        let hosts: Vec<_> = (1..=MACHINES)
            .map(|host| format!("{subnet}.{host}"))
            .collect();
        let mpirun = format!(
            "mpirun --mca plm_rsh_agent {} --mca btl_tcp_if_include eth0 \
             --mca oob_tcp_if_include eth0 --mca oob_tcp_keepalive_time 3 \
             --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3 \
             --host {} -n {MACHINES} {SMBENCH_MPI} --send-password {words}",
            self.path("agent").display(),
            hosts.join(",")
        );
        self.on_first(&mpirun).spawn().unwrap()
    }

    /// Runs `smbench-mpi` on all machines.
    pub(crate) fn run(&self, words: &str) -> Output {
        ended(self.start(words))
    }

    /// Runs `smbench-mpi` on the first machine alone.
    pub(crate) fn run_alone(&self, words: &str) -> Output {
        ended(
            self.on_first(&format!("{SMBENCH_MPI} {words}"))
                .spawn()
                .unwrap(),
        )
    }

    /// Returns the id of the rank on a machine.
    pub(crate) fn rank_on(&self, machine: usize) -> Option<u32> {
        let listed = root(&format!("ip netns pids {}{machine}", self.prefix)).output();
        let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
        let ids = listed
            .split_whitespace()
            .map(|id| id.parse::<u32>().unwrap());
        let is_rank = |id: &u32| {
            let name = fs::read_to_string(format!("/proc/{id}/comm"));
            name.is_ok_and(|name| name.trim() == "smbench-mpi")
        };
        ids.rev().find(is_rank)
    }

    /// Sends a signal to the rank on a machine.
    #[track_caller]
    pub(crate) fn signal(&self, machine: usize, signal: &str) {
        let id = self.rank_on(machine).unwrap();
        as_root(&format!("kill -{signal} {id}"));
    }

    /// Cuts a machine off, or lets it in again.
    pub(crate) fn link(&self, machine: usize, state: &str) {
        as_root(&format!("ip link set {}v{machine} {state}", self.prefix));
    }

    /// Removes what is left on the share, and returns whether that went well.
    pub(crate) fn cleaned_up(&self) -> bool {
        let url = self.server.url();
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let output = self.run_alone(&format!("cleanup {url}"));
            if output.status.success() || Instant::now() > deadline {
                return output.status.success();
            }
            // The server still has the files of a lost host open.
            thread::sleep(Duration::from_millis(500));
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for n in 0..MACHINES {
            let space = format!("{}{n}", self.prefix);
            if let Ok(listed) = root(&format!("ip netns pids {space}")).output() {
                let ids = String::from_utf8_lossy(&listed.stdout).into_owned();
                for id in ids.split_whitespace() {
                    let _ = root(&format!("kill -KILL {id}")).output();
                }
            }
            let _ = root(&format!("ip netns del {space}")).output();
            let _ = root(&format!("ip link del {}v{n}", self.prefix)).output();
        }
        let _ = root(&format!("ip link del {}", self.bridge())).output();
    }
}

/// Waits for the end of a command, for a limited time.
#[track_caller]
pub(crate) fn ended(mut child: process::Child) -> Output {
    let deadline = Instant::now() + LIMIT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            let _ = root(&format!("pkill -KILL -P {}", child.id())).output();
            let _ = child.kill();
            panic!("the command hangs: {:?}", child.wait_with_output());
        }
        thread::sleep(Duration::from_millis(50));
    }
    child.wait_with_output().unwrap()
}

/// Reads a JSON document.
#[track_caller]
pub(crate) fn document(path: &Path) -> serde_json::Value {
    let text = fs::read_to_string(path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}
