//! The options for server and log-on, for all commands that connect to a server.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use smbench_model::login::KdcAddress;
use smbench_model::plan::Mode;
use smbench_model::spec::SessionsSpec;
use smbench_protocol::{CipherList, DialectRange, SigningAlgorithm};
use smbench_report::FlushDoc;

use super::value::{flush_policies, modes, parse_timeout, paths, signing_algorithms};

#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    // Not a doc comment, because rustdoc would treat the brackets as links.
    #[arg(
        help = "smb://[DOMAIN;]USER@HOST[:PORT]/SHARE[/PATH] [default: a server started here for the run]"
    )]
    // A string, because clap would repeat a password in its message about a bad
    // value.
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) secrets: SecretArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
    // A string for the same reason.
    /// Where to look up the server's CPU time: the URL of its node_exporter or windows_exporter,
    /// such as http://SERVER:9100/metrics, or off [default: its processes, where it runs here]
    #[arg(long, value_name = "URL|off")]
    pub(crate) server_metrics: Option<String>,
    /// What the server is known to do on a FLUSH, for the result: write to stable storage first, or
    /// just answer [default: unknown]
    #[arg(long, value_name = "POLICY", requires = "target", value_parser = flush_policies())]
    pub(crate) server_flush: Option<FlushDoc>,
    /// Longest wait for the answer to an operation; then the client counts as lost [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout)]
    pub(crate) operation_timeout: Option<Duration>,
}

/// Who logs on and how, as far as the URL and the environment do not say.
#[derive(Debug, Default, Args)]
pub(crate) struct SecretArgs {
    /// File whose first line is the password
    #[arg(long, value_name = "FILE", requires = "target", value_parser = paths())]
    pub(crate) password_file: Option<PathBuf>,
    /// File with lines `username = `, `password = ` and `domain = `, as for smbclient
    #[arg(long, value_name = "FILE", requires = "target", value_parser = paths())]
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
    /// How to log on [default: auto, which is kerberos with --keytab or --ccache, else ntlm]
    #[arg(
        long,
        value_name = "HOW",
        requires = "target",
        value_enum,
        hide_possible_values = false
    )]
    pub(crate) auth: Option<Auth>,
    /// Keytab with the user's keys, for Kerberos
    #[arg(long, value_name = "FILE", requires = "target", value_parser = paths())]
    pub(crate) keytab: Option<PathBuf>,
    /// Credential cache with the user's tickets, as kinit writes it, for Kerberos
    #[arg(long, value_name = "FILE", requires = "target", conflicts_with = "keytab",
        value_parser = paths())]
    pub(crate) ccache: Option<PathBuf>,
    /// The user's Kerberos realm [default: the domain in the URL, else default_realm in krb5.conf]
    #[arg(long, value_name = "REALM", requires = "target")]
    pub(crate) realm: Option<String>,
    /// The KDC of the user's realm [default: as krb5.conf says]
    #[arg(long, value_name = "HOST[:PORT]", requires = "target")]
    pub(crate) kdc: Option<KdcAddress>,
    /// What Kerberos calls the server [default: cifs/HOST, after the URL]
    #[arg(long, value_name = "NAME[@REALM]", requires = "target")]
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
    /// Dialects to offer, 2.0.2 to 3.1.1: one, or a range such as 2.1..3.0.2 [default: all]
    #[arg(long, value_name = "DIALECT[..DIALECT]")]
    pub(crate) dialect: Option<DialectRange>,
    /// Message signing: auto is as the server requires [default: auto]
    #[arg(long, value_name = "MODE", value_parser = modes())]
    pub(crate) sign: Option<Mode>,
    /// The one algorithm to sign with [default: the dialect's; in 3.1.1, what the server prefers of
    /// aes-128-gmac and aes-128-cmac]
    #[arg(long, value_name = "NAME", value_parser = signing_algorithms())]
    pub(crate) signing_algorithm: Option<SigningAlgorithm>,
    /// Message encryption: auto is as the server or the share requires [default: auto]
    #[arg(long, value_name = "MODE", value_parser = modes())]
    pub(crate) encrypt: Option<Mode>,
    /// Ciphers to offer, the preferred one first [default:
    /// aes-128-gcm,aes-128-ccm,aes-256-gcm,aes-256-ccm]
    #[arg(long, value_name = "NAME[,NAME]")]
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
    /// Longest wait until TCP is connected, such as 500ms [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout)]
    pub(crate) connect_timeout: Option<Duration>,
    /// Longest wait for each answer to a request that sets up a session, prepares files or removes
    /// them [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout)]
    pub(crate) setup_timeout: Option<Duration>,
}

/// A server and who asks.
#[derive(Debug, Args)]
pub(crate) struct UrlArgs {
    // Not a doc comment, because rustdoc would treat the brackets as links.
    #[arg(
        value_name = "URL",
        help = "smb://[DOMAIN;]USER@HOST[:PORT]/SHARE[/PATH]"
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
