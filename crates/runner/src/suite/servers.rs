//! The servers of a suite, from its tables and the command line.

use std::path::{self, Path, PathBuf};

use smbench_lab::{LabError, ScratchSamba};
use smbench_model::cpu::CpuSource;
use smbench_model::setting::{self, Advice};
use smbench_model::spec::SessionsSpec;
use smbench_model::target::UrlPassword;

use super::client;
use super::host::{Host, HostKind};
use super::options::NamedServers;
use super::source::Source;
use super::spec::{NAMED, ServerEntry, twice};
use crate::account::{Accounts, SuiteCredentials, kerberos_file};
use crate::failure::Failure;
use crate::lab_facts::{Durability, parse_option, samba_policies, smbd_path};
use crate::mounts::parse_target;
use crate::request;

/// The most smbd that serve one folder.
const NODES_MAX: u8 = 8;
/// What stands for the URL of a server that smbench starts: `lab:/opt/samba/sbin/smbd`.
const LAB: &str = "lab:";

/// Returns the servers of the command line, then those of the suite.
pub(super) fn hosts(
    source: &Source,
    args: &NamedServers,
    accounts: &dyn Accounts,
) -> Result<Vec<Host>, Failure> {
    let mut hosts = args
        .servers
        .iter()
        .map(|text| named(source, text, args, accounts))
        .collect::<Result<Vec<_>, _>>()?;
    let flush = args
        .flush
        .iter()
        .map(|of| (setting::SERVER_FLUSH, &of.server));
    let write = args
        .write
        .iter()
        .map(|of| (setting::SERVER_WRITE, &of.server));
    let is_stray = |server: &String| hosts.iter().all(|host| host.name != *server);
    if let Some((option, stray)) = flush.chain(write).find(|(_, name)| is_stray(name)) {
        return Err(Failure::Usage(format!(
            "{option} {stray}: no {} has that name",
            Advice("@server")
        )));
    }
    for entry in &source.spec.servers {
        if !entry.unless_named || args.servers.is_empty() {
            hosts.push(written(source, entry, accounts)?);
        }
    }
    if hosts.is_empty() {
        return Err(Failure::Usage(format!(
            "suite {} has no servers: add [[servers]] tables, or give {} NAME=URL",
            source.origin,
            Advice("@server")
        )));
    }
    let hosts = with_settings(source, hosts)?;
    let names: Vec<_> = hosts.iter().map(|host| host.name.clone()).collect();
    match twice(&names) {
        Some(name) => Err(Failure::Usage(format!(
            "two servers are called `{name}`: give one of them another name"
        ))),
        None => Ok(hosts),
    }
}

/// Returns each server with each setting of the suite, if it has any.
fn with_settings(source: &Source, hosts: Vec<Host>) -> Result<Vec<Host>, Failure> {
    let settings = &source.spec.settings;
    let is_alone = hosts.len() == 1;
    let mut all = Vec::new();
    for host in &hosts {
        for setting in settings {
            let refuse = |what: String| {
                Failure::Usage(format!(
                    "suite {}, setting `{}`: {what}",
                    source.origin, setting.name
                ))
            };
            check_name(&setting.name).map_err(refuse)?;
            let run = client::sessions(&setting.run).map_err(refuse)?;
            if let Some(key) = client::clash(&run, &host.run) {
                return Err(refuse(format!(
                    "server `{}` has {key} too: drop one",
                    host.name
                )));
            }
            all.push(Host {
                name: if is_alone {
                    setting.name.clone()
                } else {
                    format!("{} {}", host.name, setting.name)
                },
                run: run.or(host.run.clone()),
                ..host.clone()
            });
        }
    }
    Ok(if settings.is_empty() { hosts } else { all })
}

/// Parses a server of the command line.
fn named(
    source: &Source,
    text: &str,
    args: &NamedServers,
    accounts: &dyn Accounts,
) -> Result<Host, Failure> {
    let split = text.split_once('=');
    let Some((name, url)) = split.filter(|(name, _)| !name.contains("://")) else {
        return Err(Failure::Usage(format!(
            "{}: expected NAME=URL, such as nas=smb://ann@nas/bench, or NAME=lab:SMBD",
            Advice("@server")
        )));
    };
    let refuse = |what: String| Failure::Usage(format!("{} {name}: {what}", Advice("@server")));
    check_name(name).map_err(refuse)?;
    if let Some(smbd) = url.strip_prefix(LAB) {
        let has_policy = args.flush.iter().any(|of| of.server == name)
            || args.write.iter().any(|of| of.server == name);
        if has_policy {
            return Err(refuse(
                "its policies are known, because smbench starts it: drop them".to_owned(),
            ));
        }
        return of_lab(source, name, smbd).map_err(refuse);
    }
    let credentials = SuiteCredentials {
        password_file: args.password_file.clone(),
        authentication_file: args.authentication_file.clone(),
        ..SuiteCredentials::default()
    };
    check_url(url).map_err(refuse)?;
    let server = accounts.open(url, &credentials)?;
    let flush = args.flush.iter().rfind(|of| of.server == name);
    let write = args.write.iter().rfind(|of| of.server == name);
    let stated = Durability::given(flush.map(|of| of.policy), write.map(|of| of.policy));
    let (durability, kind) = HostKind::existing(server, stated);
    Ok(Host {
        name: name.to_owned(),
        durability,
        notes: Vec::new(),
        kind,
        cpu: CpuSource::default(),
        run: SessionsSpec::default(),
        named: true,
    })
}

/// Makes a scratch Samba of the command line with this smbd, or with the installed one if
/// the path is empty. It has the lines of the suite's own scratch Samba, in whose place it is.
fn of_lab(source: &Source, name: &str, smbd: &str) -> Result<Host, String> {
    let smbd = (!smbd.is_empty()).then(|| smbd_path(Path::new(smbd)));
    let smbd = smbd.as_deref().map(checked_smbd).transpose()?;
    let mut own = source
        .spec
        .servers
        .iter()
        .filter(|entry| entry.unless_named);
    let lines = match (own.next(), own.next()) {
        (Some(entry), None) => entry.samba.clone().unwrap_or_default(),
        _ => Vec::new(),
    };
    for line in &lines {
        check_line(line, smbd.as_deref()).map_err(|why| format!("samba line {line:?}: {why}"))?;
    }
    Ok(Host {
        name: name.to_owned(),
        durability: samba_policies(&lines),
        notes: Vec::new(),
        kind: HostKind::Samba {
            lines,
            smbd,
            nodes: 1,
        },
        cpu: CpuSource::default(),
        run: SessionsSpec::default(),
        named: true,
    })
}

/// Returns the absolute path of an smbd, so that a study names the same one wherever it is
/// continued. Checks that it is one.
fn checked_smbd(smbd: &Path) -> Result<PathBuf, String> {
    ScratchSamba::check_smbd(smbd).map_err(|error| error.to_string())?;
    path::absolute(smbd).map_err(|error| format!("{}: {error}", smbd.display()))
}

/// Checks a server of the suite.
fn written(source: &Source, entry: &ServerEntry, accounts: &dyn Accounts) -> Result<Host, Failure> {
    let refuse = |what: String| {
        Failure::Usage(format!(
            "suite {}, server `{}`: {what}",
            source.origin, entry.name
        ))
    };
    check_name(&entry.name).map_err(refuse)?;
    let run = client::sessions(&entry.run).map_err(refuse)?;
    let smbd = entry.smbd.as_ref().map(|smbd| {
        let written = source.path(&smbd_path(smbd));
        checked_smbd(&written).map_err(|why| refuse(format!("smbd: {why}")))
    });
    let smbd = smbd.transpose()?;
    // An smbd needs no lines.
    let lines = entry
        .samba
        .clone()
        .or_else(|| smbd.as_ref().map(|_| Vec::new()));
    let (durability, kind) = match (&entry.url, lines) {
        (Some(_), None) if entry.nodes.is_some() => {
            return Err(refuse(
                "nodes in [[servers]] goes with samba, not with url: give it in [servers.run]"
                    .to_owned(),
            ));
        }
        (Some(url), None) => {
            check_url(url).map_err(refuse)?;
            let credentials = credentials(source, entry).map_err(refuse)?;
            let server = accounts.open(url, &credentials);
            let server = server.map_err(|error| refuse(error.to_string()))?;
            HostKind::existing(server, Durability::given(entry.flush, entry.write))
        }
        (None, Some(lines)) => {
            if let Some(key) = of_a_url(entry) {
                return Err(refuse(format!(
                    "{key} goes with url, not with samba: drop it"
                )));
            }
            for line in &lines {
                check_line(line, smbd.as_deref())
                    .map_err(|why| refuse(format!("samba line {line:?}: {why}")))?;
            }
            let nodes = nodes(source, entry, &run).map_err(refuse)?;
            (
                samba_policies(&lines),
                HostKind::Samba { lines, smbd, nodes },
            )
        }
        (None, None) => return Err(refuse("give url, or samba for a scratch Samba".to_owned())),
        (Some(_), Some(_)) => {
            let key = if smbd.is_some() { "smbd" } else { "samba" };
            return Err(refuse(format!(
                "url and {key} are both given: drop one of them"
            )));
        }
    };
    let cpu = entry.server_metrics.as_deref().map(request::cpu_source);
    let cpu = cpu
        .transpose()
        .map_err(|error| refuse(format!("server_metrics: {error}")))?;
    Ok(Host {
        name: entry.name.clone(),
        durability,
        notes: entry.notes.clone(),
        kind,
        cpu: cpu.unwrap_or_default(),
        run,
        named: false,
    })
}

/// Returns how many smbd serve the folder of a scratch Samba.
fn nodes(source: &Source, entry: &ServerEntry, run: &SessionsSpec) -> Result<u8, String> {
    match entry.nodes {
        None => Ok(1),
        Some(nodes) if !(2..=NODES_MAX).contains(&nodes) => {
            Err(format!("nodes is {nodes}: give 2 to {NODES_MAX}"))
        }
        Some(_)
            if run
                .reconnect
                .or(source.spec.run.sessions.reconnect)
                .is_none() =>
        {
            Err(
                "nodes means nothing without reconnect: give that in [run] as well, or drop it"
                    .to_owned(),
            )
        }
        Some(nodes) => Ok(nodes),
    }
}

/// Checks a line for `smb.conf`, because a report will state that it was in force.
fn check_line(line: &str, smbd: Option<&Path>) -> Result<(), String> {
    parse_option(line)?;
    match ScratchSamba::check_line(line, smbd) {
        // If Samba is missing, an error appears when it is to be started.
        Ok(()) | Err(LabError::MissingTool { .. }) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns a key that only an existing server can have, if the entry has one.
fn of_a_url(entry: &ServerEntry) -> Option<&'static str> {
    let keys = [
        ("flush", entry.flush.is_some()),
        ("write", entry.write.is_some()),
        ("password_env", entry.password_env.is_some()),
        ("password_file", entry.password_file.is_some()),
        ("authentication_file", entry.authentication_file.is_some()),
        ("auth", entry.auth.is_some()),
        ("keytab", entry.keytab.is_some()),
        ("ccache", entry.ccache.is_some()),
        ("realm", entry.realm.is_some()),
        ("kdc", entry.kdc.is_some()),
        ("service_principal", entry.service_principal.is_some()),
    ];
    let given = keys.into_iter().find(|(_, is_given)| *is_given);
    given.map(|(key, _)| key)
}

fn credentials(source: &Source, entry: &ServerEntry) -> Result<SuiteCredentials, String> {
    if entry.keytab.is_some() && entry.ccache.is_some() {
        return Err("keytab and ccache are both given: drop one of them".to_owned());
    }
    let kdc = entry.kdc.as_ref().map(|kdc| kdc.parse());
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| source.path(path));
    let file = |key: &str, name: &Option<PathBuf>| {
        let path = name.as_deref().map(|name| kerberos_file(key, name));
        let path = path.transpose().map_err(|error| error.to_string())?;
        Ok::<_, String>(path.map(|path| source.path(&path)))
    };
    Ok(SuiteCredentials {
        password_env: entry.password_env.clone(),
        password_file: path(&entry.password_file),
        authentication_file: path(&entry.authentication_file),
        auth: entry.auth.clone(),
        keytab: file("keytab", &entry.keytab)?,
        ccache: file("ccache", &entry.ccache)?,
        realm: entry.realm.clone(),
        kdc: kdc.transpose().map_err(|error| format!("kdc: {error}"))?,
        service_principal: entry.service_principal.clone(),
    })
}

fn check_name(name: &str) -> Result<(), String> {
    match name {
        _ if name.trim().is_empty() => Err("a server needs a name".to_owned()),
        NAMED => Err("that is not a name for a server".to_owned()),
        _ if name.chars().any(char::is_control) => {
            Err("control characters make no name".to_owned())
        }
        _ => Ok(()),
    }
}

/// Refuses a URL with a password, because suites are saved and shared together with
/// their command line.
fn check_url(url: &str) -> Result<(), String> {
    let (_, password) = parse_target(url).map_err(|error| error.to_string())?;
    match password {
        UrlPassword::Absent => Ok(()),
        UrlPassword::Present => Err(
            "the URL holds a password, which would be kept with the study: use password_env, \
             password_file or SMBENCH_PASSWORD"
                .to_owned(),
        ),
    }
}
