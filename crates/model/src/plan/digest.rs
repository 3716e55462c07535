//! The digest of a plan, from the parts that determine the work. Not here: the
//! fields of each part.

use super::Plan;
use crate::digest::Digest;

/// Version of the meaning of the fields.
const VERSION: u32 = 2;

impl Plan {
    /// Returns the SHA-256 of a canonical JSON text of all values that determine
    /// the work, as 64 hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        self.digested().hash()
    }

    fn digested(&self) -> Digest {
        let mut digest = Digest::new(VERSION);
        self.work.add_to(&mut digest);
        self.sessions.add_to(&mut digest);
        digest
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use smbench_protocol::{Cipher, CipherList, Dialect, SigningAlgorithm};

    use super::*;
    use crate::access::Access;
    use crate::action::{Action, WeightedAction};
    use crate::contents::Verify;
    use crate::cpu::CpuSource;
    use crate::files::Scope;
    use crate::generator::Pinning;
    use crate::limits::Limits;
    use crate::plan::resolve::tests::plan;
    use crate::secret::Secret;
    use crate::sessions::Mode;
    use crate::workload::Requests;

    #[test]
    fn the_text_is_canonical() {
        assert_eq!(
            plan("read-4k").digested().text(),
            r#"{"version":2,"workload":{"sizes":[{"size":4096,"weight":100.0}],"#.to_owned()
                + r#""read_percent":100.0,"access":"random","flush_every_writes":null,"#
                + r#""files":{"scope":"shared","count":1,"size":1048576}},"#
                + r#""load_points":[1,4,8,16],"repeat":1,"outstanding":1,"#
                + r#""ramp_up_ns":1000000000,"duration_ns":3000000000,"ramp_down_ns":500000000,"#
                + r#""seed":1,"dialects":"2.0.2..3.1.1","signing":"auto","signing_algorithm":null,"#
                + r#""encryption":"auto","#
                + r#""ciphers":"aes-128-gcm,aes-128-ccm,aes-256-gcm,aes-256-ccm","verify":false}"#
        );
    }

    /// Options that came later, in the order in which they came.
    #[test]
    fn later_fields_follow_in_their_order() {
        let mut plan = plan("read-4k");
        plan.work.until_steady = Some(Duration::from_secs(60));
        let population = plan.only_mut();
        population.name = Some("office".to_owned());
        population.rates = vec!["500".parse().unwrap()];
        population.count = Some(7);
        let text = plan.digested().text();
        let later = r#","verify":false,"rates":["500"],"count":7,"population":"office","#
            .to_owned()
            + r#""until_steady_ns":60000000000}"#;
        assert!(text.ends_with(&later), "{text}");
        plan.work.populations.push(plan.only().clone());
        let text = plan.digested().text();
        assert!(text.contains(r#","populations":[""#), "{text}");
        assert!(
            text.ends_with(r#""],"until_steady_ns":60000000000}"#),
            "{text}"
        );
    }

    fn data(read_percent: f64, flush_every_writes: Option<u32>) -> Requests {
        Requests::Data {
            read_percent,
            flush_every_writes,
        }
    }

    fn mix(action: Action) -> Requests {
        let weight = 100.0;
        Requests::Mix(vec![WeightedAction { action, weight }])
    }

    #[test]
    fn whatever_changes_the_work_changes_the_digest() {
        let changes: [fn(&mut Plan); 28] = [
            |_| {},
            |plan| plan.only_mut().workload.sizes[0].size = 8192,
            |plan| plan.only_mut().workload.requests = data(50.0, None),
            |plan| {
                plan.only_mut().workload.requests = Requests::Divided {
                    readers_percent: 50.0,
                };
            },
            |plan| plan.only_mut().workload.requests = mix(Action::Read { unbuffered: false }),
            |plan| plan.only_mut().workload.requests = mix(Action::Read { unbuffered: true }),
            |plan| plan.only_mut().workload.requests = mix(Action::Echo),
            |plan| plan.only_mut().workload.access = Access::Sequential,
            |plan| plan.only_mut().workload.requests = data(100.0, Some(1)),
            |plan| plan.only_mut().workload.files.scope = Scope::Private,
            |plan| plan.only_mut().workload.files.size = 1 << 21,
            |plan| plan.only_mut().clients = vec![1, 4, 8],
            |plan| plan.work.repeat = 2,
            |plan| plan.only_mut().outstanding = 2,
            |plan| plan.work.duration = Duration::from_millis(3001),
            |plan| plan.work.until_steady = Some(Duration::from_secs(60)),
            |plan| plan.only_mut().rates = vec!["500".parse().unwrap()],
            |plan| plan.work.seed = 2,
            |plan| plan.sessions.options.dialects = Dialect::Smb21.into(),
            |plan| plan.sessions.options.signing = Mode::Required,
            |plan| plan.sessions.options.signing_algorithm = Some(SigningAlgorithm::AesCmac),
            |plan| plan.sessions.options.encryption = Mode::Required,
            |plan| plan.sessions.options.ciphers = CipherList::only(Cipher::Aes256Gcm),
            |plan| plan.only_mut().verify = Verify::ReadBack,
            |plan| plan.sessions.connections.credits = Some(1),
            |plan| plan.sessions.connections.sessions_per_connection = 2,
            |plan| plan.sessions.connections.connections_per_session = 2,
            |plan| plan.work.ramp_up = Duration::ZERO,
        ];
        let digests: HashSet<_> = changes
            .iter()
            .map(|change| {
                let mut plan = plan("read-4k");
                change(&mut plan);
                plan.digest()
            })
            .collect();
        assert_eq!(digests.len(), changes.len());
        assert!(digests.iter().all(|hex| hex.len() == 64));
    }

    #[test]
    fn where_and_as_whom_it_runs_does_not() {
        let plain = plan("file-server");
        let mut other = plain.clone();
        other.sessions.target.host = "elsewhere".into();
        other.sessions.target.user = "bob".into();
        other.sessions.target.password = Secret::new("other");
        other.generator.threads += 1;
        other.generator.pinning = Pinning::Pinned;
        other.generator.setup_rate = Some(7);
        other.generator.server_cpu = CpuSource::Off;
        other.sessions.connections.sources = Some("127.0.0.2".parse().unwrap());
        other.work.profile = "renamed".into();
        other.limits = Limits {
            operation: Duration::from_secs(1),
            ..Limits::default()
        };
        assert_eq!(plain.digest(), other.digest());
    }

    #[test]
    fn the_password_is_in_no_output() {
        let plan = plan("file-server");
        let password = plan.sessions.target.password.expose();
        assert_eq!(password, "hunter2");
        for shown in [
            format!("{plan:?} {plan:#?}"),
            plan.digested().text(),
            plan.digest(),
        ] {
            assert!(!shown.contains(password), "{shown}");
        }
    }

    #[test]
    fn populations_change_the_digest_and_not_the_work_of_each() {
        let mut plan = plan("read-4k");
        let (seed, unnamed) = (plan.work.seed, plan.digest());
        assert_eq!(plan.work.drawing_seed(), seed);
        plan.only_mut().name = Some("office".to_owned());
        let named = plan.clone();
        assert_ne!(named.digest(), unnamed);
        assert_ne!(named.work.drawing_seed(), seed);
        let backup = crate::work::Population {
            name: Some("backup".to_owned()),
            outstanding: 4,
            ..plan.only().clone()
        };
        plan.work.populations.push(backup);
        let [office, backup] = &plan.alone().collect::<Vec<_>>()[..] else {
            panic!("there are two populations");
        };
        assert_eq!(*office, named);
        assert_eq!(office.digest(), named.digest());
        assert_ne!(office.work.drawing_seed(), backup.work.drawing_seed());
        let digests = [&plan, office, backup].map(Plan::digest);
        assert_eq!(HashSet::from(digests).len(), 3);
        let before = plan.digest();
        plan.work.populations[1].outstanding = 5;
        assert_ne!(plan.digest(), before);
    }
}
