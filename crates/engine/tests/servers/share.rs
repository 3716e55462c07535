//! The effects of a run on the share; other files there stay unchanged.

use smbench_engine::Cancel;
use smbench_engine::probe::Cleanup;
use smbench_engine::probe::{cleanup, probe};
use smbench_engine::run::{Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, ShareAccess};
use smbench_model::limits::Limits;
use smbench_model::sessions::{Mode, SessionOptions};
use smbench_protocol::header::Command;
use smbench_protocol::{Dialect, NtStatus, SigningAlgorithm};

use crate::hostile::forge::{STATUS, with};
use crate::hostile::relay::{Of, Reaction, Relay};
use crate::support::{plan, short, target};

const LEFTOVER: &str = "smbench-0123456789abcdef";

#[test]
fn cleanup_removes_leftovers_and_nothing_else() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let data = samba.data_dir();
    let leftover = data.join(LEFTOVER);
    let foreign = data.join("smbench-fedcba9876543210");
    for directory in [&leftover, &foreign, &data.join("smbench-notes")] {
        std::fs::create_dir(directory).unwrap();
    }
    for name in ["smbench.run", "c00000-f000.dat", "shared-f000.dat"] {
        std::fs::write(leftover.join(name), "x").unwrap();
    }
    std::fs::write(foreign.join("thesis.doc"), "x").unwrap();
    std::fs::write(data.join("smbench.txt"), "x").unwrap();
    let target = target(&samba.url(), samba.password());
    let done = cleanup(&target, SessionOptions::default(), Limits::default()).unwrap();
    assert_eq!(
        done,
        Cleanup {
            removed: vec![LEFTOVER.to_owned()],
            in_use: vec![],
            foreign: vec!["smbench-fedcba9876543210".to_owned()],
            prepared: vec![],
            bins: vec![],
        }
    );
    assert!(!leftover.exists());
    for kept in [
        "smbench-fedcba9876543210/thesis.doc",
        "smbench-notes",
        "smbench.txt",
    ] {
        assert!(data.join(kept).exists(), "{kept}");
    }
}

#[test]
fn cleanup_leaves_a_foreign_file_in_our_directory() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let memory = server.memory();
    for name in ["smbench.run", "c00000-f000.dat", "thesis.doc"] {
        memory.put(&format!("{LEFTOVER}/{name}"), b"x").unwrap();
    }
    let target = target(&server.url(), server.password());
    let error = cleanup(&target, SessionOptions::default(), Limits::default()).unwrap_err();
    assert!(error.to_string().contains(LEFTOVER), "{error}");
    assert!(memory.contents(&format!("{LEFTOVER}/thesis.doc")).is_some());
}

/// The relay hides what is on the share: the server really is read-only.
#[test]
fn a_directory_that_was_never_made_does_not_remain() {
    let server = EmbeddedServer::start(EmbeddedOptions {
        access: ShareAccess::ReadOnly,
        ..EmbeddedOptions::default()
    })
    .unwrap();
    let relay = Relay::start(server.address(), Of::Command(Command::Create), |answer| {
        let refused = NtStatus::ACCESS_DENIED.0.to_le_bytes();
        Reaction::send(&with(answer.message, STATUS, refused))
    });
    let mut target = target(&server.url(), server.password());
    target.port = relay.port();
    let plan = plan("read-4k", &short(), target);
    let error = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("failed to create directory '"), "{text}");
    assert!(!text.contains("remains"), "{text}");
}

/// Tries a clean-up while its run is on.
struct CleanUpMeanwhile {
    target: smbench_model::target::Target,
    seen: Option<Cleanup>,
}

impl smbench_engine::run::Observer for CleanUpMeanwhile {
    fn progress(&mut self, _: &smbench_engine::run::Progress) {}

    fn load_point_ended(&mut self, _: &smbench_model::record::RunRecord) {
        let target = self.target.clone();
        // The engine's runtime is on this thread, so the clean-up needs another.
        let done = std::thread::spawn(move || {
            cleanup(&target, SessionOptions::default(), Limits::default()).unwrap()
        });
        self.seen = Some(done.join().unwrap());
    }
}

#[test]
fn cleanup_leaves_a_living_run_alone() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let folding = [
        "preserve case = no",
        "short preserve case = no",
        "default case = upper",
    ];
    let folding = ScratchSamba::start(SambaOptions {
        extra_share: folding.map(ToOwned::to_owned).into(),
        ..SambaOptions::default()
    })
    .unwrap();
    for target in [
        target(&samba.url(), samba.password()),
        target(&folding.url(), folding.password()),
        target(&server.url(), server.password()),
    ] {
        let options = smbench_model::spec::RunOptions {
            work: smbench_model::spec::WorkSpec {
                clients: Some("1,2".parse().unwrap()),
                ..short().work
            },
            ..short()
        };
        let mut observer = CleanUpMeanwhile {
            target: target.clone(),
            seen: None,
        };
        let plan = plan("file-server", &options, target);
        let record = execute(&plan, &mut observer, &Cancel::default()).unwrap();
        // A busy machine may complete no operation in a window.
        for point in &record.load_points {
            assert_eq!(point.ops.errors(), 0, "{:?}", point.invalid);
            assert!(point.dropouts.is_empty(), "{:?}", point.invalid);
        }
        let seen = observer.seen.unwrap();
        assert_eq!(seen.in_use.len(), 1);
        assert_eq!(seen.removed.len() + seen.foreign.len(), 0);
    }
}

#[test]
fn a_probe_tells_what_was_negotiated() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let target = target(&server.url(), server.password());
    for (signing, expected) in [(Mode::Auto, None), (Mode::Required, Some("aes-128-cmac"))] {
        let options = SessionOptions {
            signing,
            ..SessionOptions::default()
        };
        let probed = probe(&target, options, Limits::default(), &Cancel::default());
        let probe = probed.unwrap().smb2().unwrap();
        assert_eq!(probe.leftover, None);
        let negotiated = probe.session.negotiated;
        assert_eq!(negotiated.dialect, Dialect::Smb311);
        let signing = probe.session.terms.signing;
        assert_eq!(signing.map(SigningAlgorithm::name), expected);
        assert_eq!(negotiated.max_read, 8 << 20);
        assert!(probe.session.credits_granted > 1);
        let mut dialects = probe.dialects.iter();
        assert!(dialects.all(|(it, accepted)| accepted.is_ok() == (*it != Dialect::Cifs)));
        assert!(probe.ciphers.iter().all(|(_, accepted)| accepted.is_ok()));
        // The embedded server always signs 3.1.1 with CMAC.
        for (algorithm, accepted) in &probe.signing {
            let expected = *algorithm == SigningAlgorithm::AesCmac;
            assert_eq!(accepted.is_ok(), expected, "{algorithm}: {accepted:?}");
        }
        assert!(probe.free_bytes.unwrap() > 0);
    }
}
