//! Each recipe works.

use smbench::engine::run::RunError;

use super::*;

fn server() -> EmbeddedServer {
    EmbeddedServer::start(EmbeddedOptions::default()).unwrap()
}

#[test]
fn a_plan_in_code_runs() {
    let server = server();
    plan_in_code::plan_in_code(&server.url(), server.password()).unwrap();
}

#[test]
fn a_profile_from_a_file_runs() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let (url, password) = (server.url(), server.password());
    profile_from_file::profile_from_file(&url, password, folder.path()).unwrap();
}

#[test]
fn a_run_is_watched_and_cancelled() {
    let server = server();
    watch_and_cancel::watch_and_cancel(&server.url(), server.password()).unwrap();
    assert!(server.memory().paths().is_empty(), "its files are removed");
}

#[test]
fn a_run_is_a_future() {
    let server = server();
    inside_tokio::inside_tokio(&server.url(), server.password()).unwrap();
}

#[test]
fn a_target_of_ones_own_is_measured() {
    own_target::own_target().unwrap();
}

#[test]
fn results_are_saved_and_shown() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    results::results(&server.url(), server.password(), folder.path()).unwrap();
}

#[test]
fn two_runs_are_compared() {
    let server = server();
    compare_runs::compare_runs(&server.url(), server.password()).unwrap();
}

/// Returns whether a part was to begin before its sessions were set up.
fn is_late(error: &(dyn Error + 'static)) -> bool {
    match error.downcast_ref::<smbench::Error>() {
        Some(smbench::Error::Run(reason)) => matches!(**reason, RunError::Late { .. }),
        _ => false,
    }
}

#[test]
fn parts_of_a_run_are_merged() {
    let server = server();
    let (url, password) = (server.url(), server.password());
    // A busy machine needs longer to set up the sessions.
    let mut leads = [5, 15, 45].map(Duration::from_secs).into_iter();
    let merged = leads.find_map(
        |lead| match merge_parts::merge_parts(&url, password, lead) {
            Err(error) if is_late(&*error) => None,
            merged => Some(merged),
        },
    );
    merged.expect("a part is late each time").unwrap();
}

#[test]
fn a_plan_and_its_result_are_json() {
    let server = server();
    let plan = json::PLAN.replace("smb://alice@nas/bench", &server.url());
    let result = json::json(&plan, server.password()).unwrap();
    assert!(json::highest_rate(&result).unwrap() > 0.0);
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["label"], "from another language");
    assert_eq!(result["load_points"].as_array().unwrap().len(), 2);
    assert!(result["load_points"][1]["ops"]["write"]["count"].as_u64() > Some(0));
}
