//! What was found about a server.

/// What a call showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TrialResult {
    Works,
    /// The server refused with these statuses.
    Refused(String),
    /// The negotiation chose something else.
    NotOffered,
    /// The negotiation of a dialect ended without an answer, or with one that is not SMB.
    NotServed(String),
    /// It needs more than the server permits.
    Beyond(String),
    /// A replay did not go as recorded.
    Differs(String),
    /// Anything else: wrong data, a lost connection, no end.
    Fails(String),
}

impl TrialResult {
    pub(crate) fn works(&self) -> bool {
        *self == Self::Works
    }

    /// Returns the verdict on a dialect, of which there is no session.
    pub(crate) fn of_dialect(self) -> Self {
        match self {
            Self::Fails(reason)
                if reason.contains("failed to negotiate")
                    || reason.contains("the server closed the connection") =>
            {
                let (_, cause) = reason.rsplit_once(": ").unwrap_or_default();
                Self::NotServed(cause.to_owned())
            }
            other => other,
        }
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Self::Works => "works".to_owned(),
            Self::Refused(status) => format!("refused: {status}"),
            Self::NotOffered => "not offered".to_owned(),
            Self::NotServed(reason) => format!("not served: {reason}"),
            Self::Beyond(limit) => format!("beyond a limit: {limit}"),
            Self::Differs(how) => format!("differs: {how}"),
            Self::Fails(reason) => format!("fails: {reason}"),
        }
    }
}

/// What a trial is about, in the order of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Aspect {
    Dialect,
    Signing,
    Cipher,
    Operation,
    Together,
    Protected,
    Replay,
    Tree,
    Sessions,
}

/// One thing that was tried in one dialect.
pub(crate) struct Trial {
    pub(crate) aspect: Aspect,
    pub(crate) what: String,
    /// Empty if the dialect was left open.
    pub(crate) dialect: &'static str,
    pub(crate) verdict: TrialResult,
}

/// All trials of a server.
#[derive(Default)]
pub(crate) struct Tried {
    pub(crate) trials: Vec<Trial>,
    /// Reads with `--verify`, of all runs.
    pub(crate) checked: u64,
    pub(crate) wrong: u64,
    /// Operations of the replays, and those that did not go as recorded.
    pub(crate) replayed: u64,
    pub(crate) differing: u64,
    pub(crate) sessions: String,
}

/// A row of the page.
pub(crate) struct ServerRow {
    pub(crate) name: &'static str,
    pub(crate) version: String,
    pub(crate) settings: String,
    pub(crate) date: String,
    /// An error is the reason why there is no such server here.
    pub(crate) tried: Result<Tried, String>,
}
