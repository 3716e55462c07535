//! The options for server and log-on, for all commands that connect to a server.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use smbench_model::limits::Limits;
use smbench_model::login::KdcAddress;
use smbench_model::sessions::Mode;
use smbench_model::spec::SessionsSpec;
use smbench_protocol::{CipherList, DialectRange, SigningAlgorithm};
use smbench_report::{FlushDoc, WritePolicyDoc};

use super::headings::COMMON;
use super::value::{
    flush_policies, modes, parse_timeout, paths, signing_algorithms, write_policies,
};

#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) secrets: SecretArgs,
    /// CSV file with the accounts of the clients: columns user and password, and for a trace
    /// recorded [default: all log on as the user of the URL]
    #[arg(long, value_name = "FILE", requires = SERVER, value_parser = paths(),
        hide_short_help = true)]
    pub(crate) users: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
    // A string for the same reason.
    /// URL of the server's node_exporter or windows_exporter, for its CPU use, for example
    /// http://SERVER:9100/metrics; or off [default: its processes, if it runs on this machine]
    #[arg(long, value_name = "URL|off", hide_short_help = true)]
    pub(crate) server_metrics: Option<String>,
    #[command(flatten)]
    pub(crate) counters: CounterArgs,
    /// Whether the server writes to stable storage on FLUSH; recorded in the result [default:
    /// unknown]
    #[arg(long, value_name = "POLICY", requires = SERVER, value_parser = flush_policies(),
        hide_short_help = true)]
    pub(crate) server_flush: Option<FlushDoc>,
    /// Whether each WRITE waits for stable storage on the server; recorded in the result [default:
    /// unknown]
    #[arg(long, value_name = "POLICY", requires = SERVER, value_parser = write_policies(),
        hide_short_help = true)]
    pub(crate) server_write: Option<WritePolicyDoc>,
    /// Timeout for an operation; a client that exceeds it is dropped [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout, hide_short_help = true)]
    pub(crate) operation_timeout: Option<Duration>,
}

/// What is counted beside the operations: of runs and of suites.
#[derive(Debug, Args)]
pub(crate) struct CounterArgs {
    /// Read TCP's counters of the connections when a window opens and closes: round-trip times,
    /// retransmitted segments, what limited the sender
    #[arg(long, hide_short_help = true)]
    pub(crate) tcp: bool,
    /// The server's own counters of its requests: auto, smbd (its profile), smbstatus, or the URL
    /// of the metrics of smbd or windows_exporter [default: off]
    #[arg(long, value_name = "SOURCE|URL", hide_short_help = true)]
    pub(crate) server_counters: Option<String>,
}

impl ServerArgs {
    /// Forgets the server and its account, but not what is asked of its sessions.
    pub(crate) fn forget(&mut self) {
        self.target = TargetArgs {
            url: None,
            target: None,
        };
        (self.secrets, self.users) = (SecretArgs::default(), None);
        (self.server_flush, self.server_write) = (None, None);
    }
}

/// Group of the options that name a server.
const SERVER: &str = "server";

/// The server to measure, in one of two places.
#[derive(Debug, Args)]
#[group(id = SERVER, multiple = false)]
pub(crate) struct TargetArgs {
    // Not doc comments, because rustdoc would treat the brackets as links. Strings,
    // because clap would repeat a password in its message about a bad value.
    #[arg(
        value_name = "URL",
        help_heading = None::<&str>,
        help = "Server to measure: smb://[DOMAIN;]USER@HOST[:PORT]/SHARE[/PATH] or //HOST/SHARE \
                [default: SMBENCH_TARGET, else a server started for the run]"
    )]
    url: Option<String>,
    #[arg(
        long,
        short,
        value_name = "URL",
        help = "Server to measure, as an option in place of the argument",
        help_heading = COMMON
    )]
    target: Option<String>,
}

impl TargetArgs {
    /// Returns the URL, if a server is named.
    pub(crate) fn url(&self) -> Option<&str> {
        self.target.as_deref().or(self.url.as_deref())
    }
}

/// Who logs on and how, as far as the URL and the environment do not say.
#[derive(Debug, Default, Args)]
pub(crate) struct SecretArgs {
    /// File with the password in its first line
    #[arg(long, value_name = "FILE", requires = SERVER, value_parser = paths(),
        help_heading = COMMON)]
    pub(crate) password_file: Option<PathBuf>,
    /// File with lines `username = `, `password = ` and `domain = `, as for smbclient
    #[arg(long, value_name = "FILE", requires = SERVER, value_parser = paths(),
        hide_short_help = true)]
    pub(crate) authentication_file: Option<PathBuf>,
    /// The environment variable in the place of `SMBENCH_PASSWORD`, which a suite can name
    #[arg(skip)]
    pub(crate) password_env: Option<String>,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
}

/// How to log on, and the proof of identity.
#[derive(Debug, Default, Args)]
pub(crate) struct LoginArgs {
    /// How to log on [default: auto: kerberos with --keytab or --ccache, else ntlm]
    #[arg(
        long,
        value_name = "HOW",
        requires = SERVER,
        value_enum,
        hide_possible_values = false,
        hide_short_help = true
    )]
    pub(crate) auth: Option<Auth>,
    /// Keytab with the user's keys, for Kerberos
    #[arg(long, value_name = "FILE", requires = SERVER, value_parser = paths(),
        hide_short_help = true)]
    pub(crate) keytab: Option<PathBuf>,
    /// Credential cache that kinit wrote, with the user's tickets
    #[arg(long, value_name = "FILE", requires = SERVER, conflicts_with = "keytab",
        value_parser = paths(), hide_short_help = true)]
    pub(crate) ccache: Option<PathBuf>,
    /// Kerberos realm of the user [default: the domain in the URL, else default_realm in krb5.conf]
    #[arg(long, value_name = "REALM", requires = SERVER, hide_short_help = true)]
    pub(crate) realm: Option<String>,
    /// KDC of the user's realm [default: from krb5.conf]
    #[arg(long, value_name = "HOST[:PORT]", requires = SERVER, hide_short_help = true)]
    pub(crate) kdc: Option<KdcAddress>,
    /// Name of the server in Kerberos [default: cifs/HOST, with the host of the URL]
    #[arg(long, value_name = "NAME[@REALM]", requires = SERVER, hide_short_help = true)]
    pub(crate) service_principal: Option<String>,
}

/// A way to log on, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Auth {
    Auto,
    Ntlm,
    Kerberos,
    Guest,
    Anonymous,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct SessionArgs {
    /// Dialects to offer: one, or a range such as 2.1..3.0.2. cifs, which is SMB1, must be named
    /// [default: 2.0.2..3.1.1]
    #[arg(long, value_name = "DIALECT[..DIALECT]", hide_short_help = true)]
    pub(crate) dialect: Option<DialectRange>,
    /// Message signing; auto: sign if the server requires it [default: auto]
    #[arg(long, value_name = "MODE", value_parser = modes(), hide_short_help = true)]
    pub(crate) sign: Option<Mode>,
    /// Signing algorithm to use [default: the dialect's; in 3.1.1 the server chooses between
    /// aes-128-gmac and aes-128-cmac]
    #[arg(long, value_name = "NAME", value_parser = signing_algorithms(), hide_short_help = true)]
    pub(crate) signing_algorithm: Option<SigningAlgorithm>,
    /// Message encryption; auto: encrypt if the server or the share requires it [default: auto]
    #[arg(long, value_name = "MODE", value_parser = modes(), hide_short_help = true)]
    pub(crate) encrypt: Option<Mode>,
    /// Ciphers to offer, the preferred one first [default:
    /// aes-128-gcm,aes-128-ccm,aes-256-gcm,aes-256-ccm]
    #[arg(long, value_name = "NAME[,NAME]", hide_short_help = true)]
    pub(crate) cipher: Option<CipherList>,
}

impl SessionArgs {
    pub(crate) fn options(&self) -> SessionsSpec {
        SessionsSpec {
            dialect: self.dialect,
            sign: self.sign,
            signing_algorithm: self.signing_algorithm,
            encrypt: self.encrypt,
            cipher: self.cipher,
            ..SessionsSpec::default()
        }
    }
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ConnectArgs {
    /// Timeout for TCP connections, for example 500ms [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout, hide_short_help = true)]
    pub(crate) connect_timeout: Option<Duration>,
    /// Timeout for each request that sets up a session, or that creates or deletes files [default:
    /// 30s]
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout, hide_short_help = true)]
    pub(crate) setup_timeout: Option<Duration>,
}

impl ConnectArgs {
    /// Returns the time limits, the default ones where none are given.
    pub(crate) fn limits(self) -> Limits {
        let limits = Limits::default();
        Limits {
            connect: self.connect_timeout.unwrap_or(limits.connect),
            setup: self.setup_timeout.unwrap_or(limits.setup),
            ..limits
        }
    }
}

impl ServerArgs {
    /// Returns the time limits, the default ones where none are given.
    pub(crate) fn limits(&self) -> Limits {
        let limits = self.connect.limits();
        Limits {
            operation: self.operation_timeout.unwrap_or(limits.operation),
            ..limits
        }
    }
}

/// A server, and the account that logs on.
#[derive(Debug, Args)]
pub(crate) struct UrlArgs {
    // Not a doc comment, because rustdoc would treat the brackets as links.
    #[arg(
        value_name = "URL",
        group = SERVER,
        help = "smb://[DOMAIN;]USER@HOST[:PORT]/SHARE[/PATH] or //HOST/SHARE [default: \
                SMBENCH_TARGET]"
    )]
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) secrets: SecretArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    #[command(flatten)]
    pub(crate) url: UrlArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}
