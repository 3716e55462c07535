//! Options for the clients of one server in a suite. With them, a row of a tuning
//! study can be a change on the client's side. They change sessions, never the
//! work, because results of different work cannot be compared.

use smbench_model::spec::{RunOptions, SessionsSpec};

/// Returns a server's own options; fails if they change more than sessions.
pub(super) fn sessions(run: &RunOptions) -> Result<SessionsSpec, String> {
    let of_sessions = RunOptions {
        sessions: run.sessions.clone(),
        ..RunOptions::default()
    };
    if of_sessions == *run {
        return Ok(of_sessions.sessions);
    }
    Err(format!(
        "run has other keys than {}: the work is the same for all servers of a suite, give the \
         others in its [run]",
        SessionsSpec::KEYS.join(", ")
    ))
}

/// Returns a key that both sets of options contain.
pub(super) fn clash(one: &SessionsSpec, other: &SessionsSpec) -> Option<&'static str> {
    let mut keys = one.given();
    keys.find(|key| other.given().any(|own| own == *key))
}

#[cfg(test)]
mod tests {
    use smbench_model::sessions::Mode;

    use super::*;

    #[test]
    fn what_both_give_clashes_whatever_they_say() {
        let signed = SessionsSpec {
            sign: Some(Mode::Required),
            encrypt: Some(Mode::Auto),
            ..SessionsSpec::default()
        };
        let encrypted = SessionsSpec {
            encrypt: Some(Mode::Off),
            credits: Some(8),
            ..SessionsSpec::default()
        };
        assert_eq!(signed.lines(), ["sign = required", "encrypt = auto"]);
        assert_eq!(clash(&signed, &encrypted), Some("encrypt"));
        assert_eq!(clash(&signed, &SessionsSpec::default()), None);
    }
}
