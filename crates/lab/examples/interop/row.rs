//! What was found about a server.

/// What a call showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Works,
    /// The server refused with these statuses.
    Refused(String),
    /// The negotiation chose something else.
    NotOffered,
    /// A replay did not go as recorded.
    Differs(String),
    /// Anything else: wrong data, a lost connection, no end.
    Fails(String),
}

impl Verdict {
    pub(crate) fn works(&self) -> bool {
        *self == Self::Works
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Self::Works => "works".to_owned(),
            Self::Refused(status) => format!("refused: {status}"),
            Self::NotOffered => "not offered".to_owned(),
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
    Replay,
    Sessions,
}

/// One thing that was tried in one dialect.
pub(crate) struct Trial {
    pub(crate) aspect: Aspect,
    pub(crate) what: String,
    /// Empty if the dialect was left open.
    pub(crate) dialect: &'static str,
    pub(crate) verdict: Verdict,
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
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) version: String,
    pub(crate) settings: String,
    pub(crate) date: String,
    /// An error is the reason why there is no such server here.
    pub(crate) tried: Result<Tried, String>,
}

impl Row {
    /// Returns what makes the command fail.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let tried = match &self.tried {
            Ok(tried) => tried,
            Err(reason) => return vec![format!("{} was not tried: {reason}", self.name)],
        };
        let failed = |trial: &&Trial| matches!(trial.verdict, Verdict::Fails(_));
        let mut complaints: Vec<_> = tried
            .trials
            .iter()
            .filter(failed)
            .map(|trial| {
                let Trial { what, dialect, .. } = trial;
                format!("{}: {what} {dialect} {}", self.name, trial.verdict.text())
            })
            .collect();
        if tried.wrong > 0 {
            complaints.push(format!(
                "{}: {} reads had wrong data",
                self.name, tried.wrong
            ));
        }
        complaints
    }
}
