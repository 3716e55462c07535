//! Options for the clients of one server in a suite. With them, a row of a tuning
//! study can be a change on the client's side. They change sessions, never the
//! work, because results of different work cannot be compared.

use smbench_model::plan::Mode;
use smbench_model::spec::RunOptions;

/// Fails if a server's own options change more than sessions.
pub(super) fn check(run: &RunOptions) -> Result<(), String> {
    let of_sessions = RunOptions {
        oplock: run.oplock,
        dialect: run.dialect,
        sign: run.sign,
        signing_algorithm: run.signing_algorithm,
        encrypt: run.encrypt,
        cipher: run.cipher,
        connections_per_session: run.connections_per_session,
        credits: run.credits,
        source_ip: run.source_ip.clone(),
        ..RunOptions::default()
    };
    match of_sessions == *run {
        true => Ok(()),
        false => Err(
            "run has other keys than oplock, dialect, sign, signing_algorithm, encrypt, cipher, \
             connections_per_session, credits and source_ip: the work is the same for all servers \
             of a suite, give the others in its [run]"
                .to_owned(),
        ),
    }
}

/// Returns the given options, a line each: `oplock = batch`.
pub(super) fn lines(run: &RunOptions) -> Vec<String> {
    let line = |(key, value)| format!("{key} = {value}");
    given(run).map(line).collect()
}

/// Returns a key that both sets of options contain.
pub(super) fn clash(one: &RunOptions, other: &RunOptions) -> Option<&'static str> {
    let keys = |run: &RunOptions| given(run).map(|(key, _)| key);
    keys(one).find(|key| keys(other).any(|own| own == *key))
}

/// Returns the given options with their keys.
fn given(run: &RunOptions) -> impl Iterator<Item = (&'static str, String)> + use<> {
    let all = [
        ("oplock", run.oplock.map(|asked| asked.to_string())),
        ("dialect", run.dialect.map(|range| range.to_string())),
        ("sign", run.sign.map(mode)),
        (
            "signing_algorithm",
            run.signing_algorithm.map(|algorithm| algorithm.to_string()),
        ),
        ("encrypt", run.encrypt.map(mode)),
        ("cipher", run.cipher.map(|ciphers| ciphers.to_string())),
        (
            "connections_per_session",
            run.connections_per_session.map(|number| number.to_string()),
        ),
        ("credits", run.credits.map(|number| number.to_string())),
        ("source_ip", run.source_ip.as_ref().map(ToString::to_string)),
    ];
    let all = all.into_iter();
    all.filter_map(|(key, value)| Some((key, value?)))
}

fn mode(mode: Mode) -> String {
    match mode {
        Mode::Auto => "auto",
        Mode::Required => "required",
        Mode::Off => "off",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_give_clashes_whatever_they_say() {
        let signed = RunOptions {
            sign: Some(Mode::Required),
            encrypt: Some(Mode::Auto),
            ..RunOptions::default()
        };
        let encrypted = RunOptions {
            encrypt: Some(Mode::Off),
            credits: Some(8),
            ..RunOptions::default()
        };
        assert_eq!(lines(&signed), ["sign = required", "encrypt = auto"]);
        assert_eq!(clash(&signed, &encrypted), Some("encrypt"));
        assert_eq!(clash(&signed, &RunOptions::default()), None);
    }
}
