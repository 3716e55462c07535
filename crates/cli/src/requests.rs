//! From arguments to requests, with the accounts of their servers. Not here: from flags to
//! [`RunOptions`] ([`crate::args`]).

use std::collections::HashSet;

use clap::ValueEnum as _;
use smbench_formats::loadfile::Unknown;
use smbench_formats::profile;
use smbench_model::cpu::{CounterSource, CpuSource, MetricsUrlError};
use smbench_model::generator::TcpCounters;
use smbench_model::limits::Limits;
use smbench_model::profile::Profile;
use smbench_model::spec::{GeneratorSpec, RunOptions};
use smbench_model::target::Target;
use smbench_runner::account::{Accounts, GivenServer, SuiteCredentials};
use smbench_runner::mounts::parse_target;
use smbench_runner::request::{RunRequest, RunServer, cpu_source, unknown};

use crate::args::{
    Auth, CounterArgs, LoginArgs, OutputArgs, RunArgs, SecretArgs, ServerArgs, UrlArgs,
};
use crate::calibration;
use crate::failure::Failure;
use crate::lab_facts::Durability;
use crate::login;
use crate::password::Sources;
use crate::users;

/// Checks the options of `run` and `plan` for each profile. Makes no connection.
pub(crate) fn resolve_all(args: &RunArgs) -> Result<Vec<RunRequest>, Failure> {
    match &args.workload.profiles[..] {
        [name] if args.alone => with_each_alone(args, name),
        _ if args.alone => Err(Failure::Usage(
            "--alone: give one profile, which has populations".to_owned(),
        )),
        [] => Ok(vec![resolve(args, profile::DEFAULT)?]),
        names => names.iter().map(|name| resolve(args, name)).collect(),
    }
}

/// Resolves the run of each population alone, and then that of all.
fn with_each_alone(args: &RunArgs, name: &str) -> Result<Vec<RunRequest>, Failure> {
    let together = resolve(args, name)?;
    if together.draft.work.populations.len() < 2 {
        return Err(Failure::Usage(format!(
            "--alone: profile {name} has no populations that could disturb one another"
        )));
    }
    let alone = together.draft.alone().map(|mut plan| {
        let only = plan.only_mut();
        let mut seen = HashSet::new();
        only.clients.retain(|clients| seen.insert(*clients));
        let of = only.name.clone().unwrap_or_default();
        plan.work.profile = format!("{}-{of}", plan.work.profile);
        Ok(RunRequest {
            draft: plan,
            ..resolve(args, name)?
        })
    });
    let alone = alone.collect::<Result<Vec<_>, Failure>>()?;
    Ok(alone.into_iter().chain([together]).collect())
}

fn resolve(args: &RunArgs, name: &str) -> Result<RunRequest, Failure> {
    let unknown = unknown(args.workload.skip_unknown);
    if unknown == Unknown::Skip && !profile::may_be_loadfile(name) {
        return Err(Failure::Usage(format!(
            "--skip-unknown means nothing with profile {name}: it is for loadfiles, such as \
             --profile client.txt"
        )));
    }
    let profile = profile::load_with(name, unknown)?;
    let changed = args.workload.change().apply(profile);
    let profile = changed.map_err(|error| Failure::Usage(error.to_string()))?;
    of(&profile, args.options(), &args.server, &args.output)
}

/// Builds the run of a profile with these options, on the server in `args`.
pub(crate) fn of(
    profile: &Profile,
    options: RunOptions,
    args: &ServerArgs,
    output: &OutputArgs,
) -> Result<RunRequest, Failure> {
    let server = match args.target.url() {
        None => RunServer::Embedded,
        Some(url) => RunServer::Given(Box::new(given(url, &args.secrets)?)),
    };
    let options = RunOptions {
        generator: GeneratorSpec {
            server_cpu: server_cpu(args.server_metrics.as_deref())?,
            ..counters(&args.counters)?.or(options.generator)
        },
        sessions: args.session.options().or(options.sessions),
        ..options
    };
    let mut request = RunRequest::resolve(profile, &options, server, args.limits())?;
    if let Some(path) = &args.users {
        request.log_on_as(users::accounts(path, &request.draft)?);
    }
    Ok(RunRequest {
        durability: Durability::given(args.server_flush, args.server_write),
        ceilings: calibration::found(output.calibration.as_ref(), &output.out)?,
        label: output.label.clone(),
        note: output.note.clone(),
        ..request
    })
}

/// Finds the account for an existing server.
pub(crate) fn given(url: &str, secrets: &SecretArgs) -> Result<GivenServer, Failure> {
    let (mut target, in_url) = parse_target(url)?;
    let sources = Sources::open(secrets, &mut target, in_url)?;
    login::choose(&secrets.login, &mut target, &sources)?;
    Ok(GivenServer::asking(target, Box::new(sources)))
}

/// Finds the accounts of a suite's servers as those of a command line.
pub(crate) struct SuiteAccounts;

impl Accounts for SuiteAccounts {
    fn open(&self, url: &str, credentials: &SuiteCredentials) -> Result<GivenServer, Failure> {
        let of = credentials.clone();
        let auth = of.auth.map(|name| {
            Auth::from_str(&name, false).map_err(|_| {
                Failure::Usage(format!(
                    "auth is `{name}`: give auto, ntlm, kerberos, guest or anonymous"
                ))
            })
        });
        let secrets = SecretArgs {
            password_file: of.password_file,
            authentication_file: of.authentication_file,
            password_env: of.password_env,
            login: LoginArgs {
                auth: auth.transpose()?,
                keytab: of.keytab,
                ccache: of.ccache,
                realm: of.realm,
                kdc: of.kdc,
                service_principal: of.service_principal,
            },
        };
        given(url, &secrets)
    }
}

/// A server to probe or to clean up, and its password.
#[derive(Debug)]
pub(crate) struct ServerAccess {
    pub(crate) target: Target,
    pub(crate) limits: Limits,
}

impl ServerAccess {
    pub(crate) fn resolve(args: &UrlArgs) -> Result<Self, Failure> {
        Ok(Self {
            target: given(&args.target, &args.secrets)?.with_password()?,
            limits: args.connect.limits(),
        })
    }
}

/// Returns what is counted beside the operations.
pub(crate) fn counters(args: &CounterArgs) -> Result<GeneratorSpec, Failure> {
    let source = args.server_counters.as_deref().map(str::parse);
    let source = source.transpose().map_err(|error: MetricsUrlError| {
        Failure::Usage(format!(
            "--server-counters: give auto, smbd, smbstatus, off or a URL; {error}"
        ))
    })?;
    Ok(GeneratorSpec {
        tcp: args.tcp.then_some(TcpCounters::Read),
        server_counters: source,
        ..GeneratorSpec::default()
    })
}

/// Returns the same for all servers of a suite.
pub(crate) fn counters_of_all(args: &CounterArgs) -> Result<GeneratorSpec, Failure> {
    let counters = counters(args)?;
    match &counters.server_counters {
        Some(CounterSource::Exporter(_)) => Err(Failure::Usage(
            "--server-counters: a URL has the counters of one server: give auto, smbd or smbstatus"
                .to_owned(),
        )),
        _ => Ok(counters),
    }
}

/// Returns the source of the server's CPU time from the command line.
pub(crate) fn server_cpu(written: Option<&str>) -> Result<Option<CpuSource>, Failure> {
    let written = written.map(cpu_source);
    let source = written.transpose();
    source.map_err(|error| Failure::Usage(format!("--server-metrics: {error}")))
}
