//! What the clients of one server of a suite do otherwise than those of the others,
//! so that a row of a tuning study can be a change on the client's side. It changes
//! sessions, never the work: otherwise there would be nothing to compare.

use smbench_engine::plan::Mode;
use smbench_engine::spec::RunOptions;

/// Fails where options of a server's own would change more than sessions.
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

/// Those that are given, a line each: `oplock = batch`.
pub(super) fn lines(run: &RunOptions) -> Vec<String> {
    let given = [
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
    let given = given.into_iter();
    given
        .filter_map(|(key, value)| Some(format!("{key} = {}", value?)))
        .collect()
}

/// A key that both give.
pub(super) fn clash(one: &RunOptions, other: &RunOptions) -> Option<String> {
    let keys = |run: &RunOptions| -> Vec<String> {
        let lines = lines(run).into_iter();
        lines
            .filter_map(|line| Some(line.split_once(" = ")?.0.to_owned()))
            .collect()
    };
    let others = keys(other);
    keys(one).into_iter().find(|key| others.contains(key))
}

fn mode(mode: Mode) -> String {
    match mode {
        Mode::Auto => "auto",
        Mode::Required => "required",
        Mode::Off => "off",
    }
    .to_owned()
}
