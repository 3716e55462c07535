//! The plan in a document.

use serde_json::Value;
use smbench_report::doc::LoopDoc;
use smbench_report::plan::facts;
use smbench_report::{RunDoc, render};

use super::json;
use crate::samples::{curve, document, metadata_plan, unwrapped};

#[test]
fn the_plan_is_kept_whole() {
    let plan = json(&document(&curve()))["plan"].take();
    assert_eq!(plan["load_points"], serde_json::json!([1, 4, 8, 16]));
    assert_eq!(plan["ramp_up_s"], 2.0);
    assert_eq!(plan["duration_s"], 10.0);
    assert_eq!(plan["ramp_down_s"], 0.5);
    assert_eq!(plan["dialect"], "3.1.1");
    assert_eq!(plan["signing"], "auto");
    assert_eq!(plan["signing_algorithm"], "auto");
    assert_eq!(plan["encryption"], "auto");
    assert_eq!(plan["ciphers"][0], "aes-128-gcm");
    assert_eq!(plan["verify"], "off");
    assert_eq!(plan["workload"]["sizes"][1]["bytes"], 65_536);
    assert_eq!(plan["workload"]["flush_every_writes"], 100);
    assert_eq!(plan["bytes_on_share"], 16 << 20);
    assert_eq!(plan["digest"], curve().plan.digest());
}

#[test]
fn a_mix_is_kept_with_its_parameters() {
    let mut record = curve();
    record.plan = metadata_plan(&[1]);
    let document = document(&record);
    let json = json(&document);
    let workload = &json["plan"]["workload"];
    assert_eq!(workload["read_percent"], Value::Null);
    assert_eq!(
        workload["operations"],
        serde_json::json!([
            {"op": "query_info", "weight_percent": 30.0, "class": "fs_size"},
            {"op": "echo", "weight_percent": 50.0},
            {"op": "query_info", "weight_percent": 20.0, "class": "basic"},
        ])
    );
    let read: RunDoc = serde_json::from_value(json).unwrap();
    assert_eq!(read.plan, document.plan);
}

/// Another release may know more names. They are kept, printed and compared.
#[test]
fn names_of_other_releases_are_read_printed_and_kept() {
    let mut later = json(&document(&curve()));
    for (key, name) in [
        ("rate_scope", "thread"),
        ("arrivals", "bursty"),
        ("think_distribution", "pareto"),
        ("ramp", "steep"),
        ("driver", "quic"),
        ("operations", "elsewhere"),
        ("oplock", "lease-dir"),
    ] {
        later["plan"][key] = name.into();
    }
    later["plan"]["rate_per_s"] = 100.0.into();
    later["loop"] = "rate".into();
    let read: RunDoc = serde_json::from_value(later.clone()).unwrap();
    assert_eq!(json(&read), later);
    let text = unwrapped(&render(&read));
    let load = "load     100 operations/s, bursty arrivals, at most 4 outstanding per client, \
                2 pinned threads, seed 42, driver quic, operations not the profile's, \
                oplock lease-dir\n";
    assert!(text.contains(load), "{text}");
}

#[test]
fn files_of_a_replay_are_those_of_a_client_or_of_a_copy() {
    let mut document = document(&curve());
    for (clients_per_copy, owner) in [(None, "client"), (Some(3), "copy")] {
        let replay = serde_json::json!({
            "source": "monday",
            "sha256": "00",
            "lines": 1,
            "operations": {},
            "bytes_read": 0,
            "bytes_written": 0,
            "timing": "fast",
            "clients_per_copy": clients_per_copy,
        });
        document.plan.workload.replay = serde_json::from_value(replay).unwrap();
        let [_, _, (_, data), _] = facts(&document.plan, LoopDoc::Closed);
        let begin = format!("1 file per {owner} at first, 16 MiB on the share ");
        assert!(data.starts_with(&begin), "{data}");
    }
}
