//! Documents that are not the parts of one run.

use smbench_report::RunDoc;
use smbench_report::doc::ServerLocation;
use smbench_report::merge::{SavedPart, merge};

use super::{parts, two_parts};
use crate::samples::{curve, document};

type Parts = Vec<SavedPart>;
type Change = fn(&mut RunDoc);

/// Checks the message after a change of two parts.
#[track_caller]
fn refused(change: impl FnOnce(&mut Parts), message: &str) {
    let mut parts = two_parts();
    change(&mut parts);
    let error = merge(parts).unwrap_err().to_string();
    assert_eq!(error, message);
}

#[test]
fn a_merge_needs_parts() {
    refused(
        |parts| parts.truncate(1),
        "a merge needs the results of two or more parts, and 1 is given",
    );
    refused(
        |parts| parts[1].doc.plan.generator.client_range = None,
        "results/part-1.json is not a part of a run: make each part with `smbench run URL \
         client_range FROM..TO/ALL`",
    );
    refused(
        |parts| parts[1].doc.tool.version = "0.0.7".to_owned(),
        concat!(
            "results/part-1.json was written by smbench 0.0.7, and this is smbench ",
            env!("CARGO_PKG_VERSION"),
            ": make and merge all parts with one release"
        ),
    );
    refused(
        |parts| parts[1].doc.load_points.clear(),
        "results/part-1.json has no measured load point: run all parts again",
    );
    refused(
        |parts| parts[1].doc.load_points[0].window_s = 0.0,
        "results/part-1.json has no measured load point: run all parts again",
    );
    refused(
        |parts| parts[1].doc.server.place = ServerLocation::Embedded,
        "results/part-1.json was measured on a built-in server of its own: run all parts on one \
         server, and give its URL",
    );
}

#[test]
fn each_client_is_in_one_part() {
    let range = |range: &'static str| {
        move |parts: &mut Parts| parts[1].doc.plan.generator.client_range = Some(range.to_owned())
    };
    refused(
        range("1..8/8"),
        "results/part-0.json and results/part-1.json both have client 1 of 8: merge parts that \
         have each client once",
    );
    refused(
        range("0..8/8"),
        "results/part-0.json and results/part-1.json both have clients 0 to 1 of 8: merge parts \
         that have each client once",
    );
    refused(
        range("3..7/8"),
        "clients 2, 7 of 8 are in no part: give the results of all parts",
    );
    refused(
        range("3..8/8"),
        "client 2 of 8 is in no part: give the results of all parts",
    );
    refused(
        range("4..8/8"),
        "clients 2 to 3 of 8 are in no part: give the results of all parts",
    );
    refused(
        range("2..6/6"),
        "results/part-0.json is a part of 8 clients, and results/part-1.json of 6 clients: merge \
         the parts of one run",
    );
    let mut three = parts(&[0, 2, 5, 8], &[], false);
    three.remove(1);
    let error = merge(three).unwrap_err().to_string();
    assert!(
        error.starts_with("clients 2 to 4 of 8 are in no part"),
        "{error}"
    );
}

#[test]
fn parts_are_of_one_run() {
    refused(
        |parts| parts[1].doc.plan.digest = "beef".to_owned(),
        &format!(
            "results/part-0.json and results/part-1.json have different work: plan.digest is {} \
             and beef: run all parts with the same options",
            two_parts()[0].doc.plan.digest
        ),
    );
    let differs = |key: &str, values: &str| {
        format!(
            "results/part-0.json and results/part-1.json are not parts of one run: {key} is \
             {values}: run all parts with the same options on the same server"
        )
    };
    let changes: [(Change, &str, &str); 6] = [
        (|doc| doc.plan.seed = 43, "plan.seed", "42 and 43"),
        (
            |doc| doc.server.dialect = "3.0.2".into(),
            "server.dialect",
            "3.1.1 and 3.0.2",
        ),
        (
            |doc| doc.server.encryption = "aes".into(),
            "server.encryption",
            "off and aes",
        ),
        (
            |doc| doc.server.auth = None,
            "server.auth",
            "ntlm and absent",
        ),
        (
            |doc| doc.load_points[0].repeat = 2,
            "load_points[0].repeat",
            "1 and 2",
        ),
        (
            |doc| doc.load_points[0].verification = None,
            "load_points[0].verification",
            "true and false",
        ),
    ];
    for (change, key, values) in changes {
        refused(|parts| change(&mut parts[1].doc), &differs(key, values));
    }
    // These differ from machine to machine.
    let mut parts = two_parts();
    let plan = &mut parts[1].doc.plan;
    plan.generator.threads = 31;
    plan.generator.setup_rate = None;
    plan.generator.pin_threads = Some(false);
    plan.sessions.source_ip = Some("192.0.2.1".to_owned());
    let plan = merge(parts).unwrap().plan;
    assert_eq!(
        (plan.generator.threads, plan.generator.setup_rate),
        (32, None)
    );
    assert_eq!(plan.generator.pin_threads, Some(false));
    assert_eq!(plan.sessions.source_ip.as_deref(), Some("192.0.2.1"));
    assert_eq!(plan.generator.client_range, None);
}

#[test]
fn damaged_documents_are_refused() {
    let damaged = |detail: &str| {
        format!("results/part-1.json is damaged: {detail}: copy it again from where it was made")
    };
    let changes: [(Change, &str); 8] = [
        (
            |doc| doc.plan.generator.client_range = Some("2-8".to_owned()),
            "plan.client_range is wrong: expected FROM..TO/ALL with FROM < TO <= ALL, such as \
             0..500/1000",
        ),
        (
            |doc| doc.load_points[0].series.as_mut().unwrap().hdr.clear(),
            "load_points[0]: series.hdr has no read",
        ),
        (
            |doc| {
                let series = doc.load_points[0].series.as_mut().unwrap();
                series.ops.get_mut("read").unwrap().count[0] += 1;
            },
            "load_points[0]: interval 0 of read has count 13 but a histogram of 12",
        ),
        (
            |doc| doc.load_points[0].clients = 5,
            "load_points[0]: it has 5 clients, and plan.client_range 6",
        ),
        (
            |doc| doc.load_points[0].window_opened = None,
            "load_points[0].window_opened is missing",
        ),
        (
            |doc| doc.load_points[0].setup.sessions = 5,
            "load_points[0]: setup.hdr does not have all of setup.sessions",
        ),
        (|doc| doc.started = "today".to_owned(), "started is no time"),
        (
            |doc| {
                let totals = doc.load_points[0].whole["read"];
                doc.load_points[0].whole.insert("dream".to_owned(), totals);
            },
            "load_points[0]: there is no operation dream",
        ),
    ];
    for (change, detail) in changes {
        refused(|parts| change(&mut parts[1].doc), &damaged(detail));
    }
}

#[test]
fn a_usual_result_is_no_part() {
    let whole = |name: &str| SavedPart {
        path: name.to_owned(),
        doc: document(&curve()),
    };
    let error = merge(vec![whole("a.json"), whole("b.json")]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("a.json is not a part of a run")
    );
}
