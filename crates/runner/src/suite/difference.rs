//! Differences between studies, in words.

use serde::Serialize;
use serde_json::Value;
use smbench_report::Disclosure;
use smbench_report::doc::{MachineDoc, PlanDoc, ServerDoc, StorageDoc};
use smbench_report::study::StudyDoc;

/// Returns the difference that makes a study another one, if there is one. Texts
/// that only a report shows may change.
pub(super) fn between_studies(old: &StudyDoc, new: &StudyDoc) -> Option<String> {
    let other = |what: &str, old: String, new: String| {
        (old != new).then(|| format!("{what} {old}, not {new}"))
    };
    let list = |names: &mut dyn Iterator<Item = String>| names.collect::<Vec<_>>().join(", ");
    let points = |study: &StudyDoc| list(&mut study.load_points.iter().map(u32::to_string));
    let servers = |study: &StudyDoc| {
        list(&mut study.servers.iter().map(|server| {
            let smbd = server.smbd.iter().map(|smbd| format!("smbd {smbd}"));
            let place = match &server.url {
                Some(url) => vec![url.clone()],
                None => smbd.chain(server.settings.iter().cloned()).collect(),
            };
            let details = [&place[..], &server.client].concat();
            format!("`{}` ({})", server.name, details.join("; "))
        }))
    };
    other("the name", old.name.clone(), new.name.clone())
        .or_else(|| {
            let profiles = |study: &StudyDoc| list(&mut study.profiles.iter().cloned());
            other("profiles", profiles(old), profiles(new))
        })
        .or_else(|| between_searches(old, new))
        .or_else(|| other("servers", servers(old), servers(new)))
        .or_else(|| other("load points", points(old), points(new)))
        .or_else(|| other("passes", old.passes.to_string(), new.passes.to_string()))
        .or_else(|| {
            let version = |study: &StudyDoc| study.tool.version.clone();
            other("the release of smbench", version(old), version(new))
        })
}

/// Returns the difference between the searches of two studies with the same profiles.
fn between_searches(old: &StudyDoc, new: &StudyDoc) -> Option<String> {
    new.profiles.iter().find_map(|name| {
        let [old, new] = [old, new].map(|study| json(&study.search(name)));
        first_difference(&format!("find `{name}`"), &old, &new)
    })
}

/// Keys of a plan that do not make it another one. A digest differs whenever any key
/// does. Waits of the set-up are over when the load begins.
const IGNORED: [&str; 3] = [
    "plan.digest",
    "plan.limits.connect_s",
    "plan.limits.setup_s",
];

/// Returns the key that makes a plan another one, if there is one.
pub(super) fn between_plans(old: &PlanDoc, new: &PlanDoc) -> Option<String> {
    first_difference("plan", &json(old), &json(new))
}

/// Returns the difference that makes a server another one, if both are known:
/// another program, or other storage, where a flush may cost nothing.
pub(super) fn between_servers(old: &ServerDoc, new: &Disclosure) -> Option<String> {
    let other = |old: Option<String>, new: Option<String>| {
        let (old, new) = old.zip(new)?;
        (old != new).then(|| format!("{old}, not {new}"))
    };
    let stored = |storage: &Option<StorageDoc>| Some(format!("on {}", storage.as_ref()?.text()));
    let program = |software: &Option<String>| Some(format!("as {}", software.as_ref()?));
    other(program(&old.software), program(&new.software))
        .or_else(|| other(stored(&old.storage), stored(&new.storage)))
}

/// Returns the difference between two machines that generate the load, if there is
/// one.
pub(super) fn between_machines(old: &MachineDoc, new: &MachineDoc) -> Option<String> {
    if old.is_same(new) {
        return None;
    }
    let facts = |machine: &MachineDoc| {
        let cpus = machine.cpus.map(|cpus| cpus.to_string());
        [
            ("system", machine.system.clone()),
            ("kernel", machine.kernel.clone()),
            ("CPU", machine.cpu.clone()),
            ("number of CPUs", cpus),
        ]
    };
    let known = |fact: Option<String>| fact.unwrap_or_else(|| "unknown".to_owned());
    let pairs = facts(old).into_iter().zip(facts(new));
    let differences: Vec<_> = pairs
        .filter(|(old, new)| old != new)
        .map(|((what, old), (_, new))| format!("{what} {}, not {}", known(old), known(new)))
        .collect();
    Some(format!(
        "load from another machine, or from this one before it changed ({})",
        differences.join("; ")
    ))
}

/// Returns a value in the form in which documents contain it.
pub(super) fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value)
        .unwrap_or_else(|error| unreachable!("plain values have a JSON form: {error}"))
}

/// Returns the first key whose values differ, and both values.
fn first_difference(key: &str, old: &Value, new: &Value) -> Option<String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let mut keys = old.keys().chain(new.keys());
            keys.find_map(|name| {
                let of = |values: &serde_json::Map<String, Value>| {
                    values.get(name).cloned().unwrap_or(Value::Null)
                };
                first_difference(&format!("{key}.{name}"), &of(old), &of(new))
            })
        }
        (old, new) if old == new || IGNORED.contains(&key) => None,
        (old, new) => Some(format!("{key} {old}, not {new}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use smbench_report::FlushDoc;

    use super::*;

    #[test]
    fn a_server_is_another_one_where_program_or_storage_differ() {
        let disclosed = |software: Option<&str>, storage: Option<[&str; 2]>| Disclosure {
            flush: FlushDoc::Honours,
            software: software.map(str::to_owned),
            storage: storage.map(|[filesystem, source]| StorageDoc {
                filesystem: filesystem.to_owned(),
                source: source.to_owned(),
                in_memory: filesystem == "tmpfs",
            }),
            ..Disclosure::default()
        };
        let disk = Some(["ext4", "/dev/sda1"]);
        let was = disclosed(Some("Samba 4.17"), disk);
        let old = json!({
            "url": "smb://ann@host/s",
            "dialect": "3.1.1",
            "signing": "off",
            "encryption": "off",
            "max_read_bytes": 1,
            "max_write_bytes": 1,
            "max_transact_bytes": 1,
            "software": was.software,
            "storage": was.storage,
            "where": was.place,
            "notes": [],
        });
        let old: ServerDoc = serde_json::from_value(old).unwrap();
        for (now, difference) in [
            (was, None),
            (disclosed(None, None), None),
            (
                disclosed(Some("Samba 4.18"), disk),
                Some("as Samba 4.17, not as Samba 4.18"),
            ),
            (
                disclosed(Some("Samba 4.17"), Some(["tmpfs", "tmpfs"])),
                Some("on ext4 of /dev/sda1, not on tmpfs, in memory"),
            ),
            (
                disclosed(None, Some(["ext4", "/dev/sdb1"])),
                Some("on ext4 of /dev/sda1, not on ext4 of /dev/sdb1"),
            ),
        ] {
            assert_eq!(between_servers(&old, &now).as_deref(), difference);
        }
    }

    #[test]
    fn a_machine_is_another_one_by_all_but_its_memory() {
        let old = MachineDoc {
            system: Some("Debian 12".to_owned()),
            kernel: Some("6.1".to_owned()),
            cpu: Some("Some CPU".to_owned()),
            cpus: Some(4),
            memory_bytes: Some(1 << 30),
        };
        assert_eq!(between_machines(&old, &old), None);
        let restarted = MachineDoc {
            memory_bytes: Some((1 << 30) - 8192),
            ..old.clone()
        };
        assert_eq!(between_machines(&old, &restarted), None);
        let other = MachineDoc {
            kernel: Some("6.12".to_owned()),
            cpu: None,
            cpus: Some(2),
            ..restarted
        };
        let expected = "load from another machine, or from this one before it changed (kernel 6.1, \
                    not 6.12; CPU Some CPU, not unknown; number of CPUs 4, not 2)";
        assert_eq!(between_machines(&old, &other).as_deref(), Some(expected));
    }

    #[test]
    fn a_difference_is_named_by_its_key() {
        let plan = json!({"a": 1, "digest": "x", "limits": {"b": [1, 2], "c": 2.0}});
        assert_eq!(first_difference("plan", &plan, &plan), None);
        let patient = json!({"a": 1, "digest": "y", "limits": {"b": [1, 2], "c": 2.0,
            "connect_s": 1.0, "setup_s": 60.0}});
        assert_eq!(first_difference("plan", &plan, &patient), None);
        for (new, expected) in [
            (
                json!({"a": 2, "limits": {"b": [1, 2], "c": 2.0}}),
                "plan.a 1, not 2",
            ),
            (
                json!({"a": 1, "limits": {"b": [1, 2], "c": 2.5}}),
                "plan.limits.c 2.0, not 2.5",
            ),
            (
                json!({"a": 1, "limits": {"c": 2.0}}),
                "plan.limits.b [1,2], not null",
            ),
            (
                json!({"a": 1, "limits": {"b": [1, 2], "c": 2.0}, "d": true}),
                "plan.d null, not true",
            ),
        ] {
            assert_eq!(
                first_difference("plan", &plan, &new).as_deref(),
                Some(expected)
            );
        }
    }
}
