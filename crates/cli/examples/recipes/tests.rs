//! Each recipe works, and the chapter shows it.

use std::fs;
use std::path::Path;

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

#[test]
fn parts_of_a_run_are_merged() {
    let server = server();
    merge_parts::merge_parts(&server.url(), server.password()).unwrap();
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

/// Returns the code of a file without its first lines, which say what it is.
fn shown(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.lines().skip_while(|line| line.starts_with("//!"));
    let code: Vec<_> = code.collect();
    code.join("\n").trim().to_owned()
}

#[test]
fn the_chapter_shows_the_recipes_as_they_are() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let chapter = fs::read_to_string(package.join("../../docs/library.md")).unwrap();
    let blocks = chapter.split("```rust\n").skip(1);
    let mut blocks: Vec<_> = blocks
        .map(|block| block.split_once("```").unwrap().0.trim().to_owned())
        .collect();
    let mut recipes = vec![shown(&package.join("../../benches/own_server.rs"))];
    for entry in fs::read_dir(package.join("examples/recipes")).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with("main.rs") && !path.ends_with("tests.rs") {
            recipes.push(shown(&path));
        }
    }
    blocks.sort();
    recipes.sort();
    assert_eq!(blocks.len(), recipes.len());
    for (block, recipe) in blocks.iter().zip(&recipes) {
        assert_eq!(block, recipe);
    }
}
