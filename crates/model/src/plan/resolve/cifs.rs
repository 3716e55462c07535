//! Options that CIFS cannot honour. They are also refused in a range that begins with CIFS,
//! because the server may choose it.

use smbench_protocol::CipherList;
use smbench_protocol::command::create::OplockLevel;

use super::PlanSources;
use crate::generator::DriverKind;
use crate::plan::{Plan, PlanError, Problem};
use crate::sessions::{Caching, HandleDurability, Mode};

impl PlanSources<'_> {
    pub(super) fn check_cifs(&self, plan: &Plan) -> Result<(), PlanError> {
        let dialects = plan.sessions.options.dialects;
        if !dialects.has_cifs() {
            return Ok(());
        }
        if plan.generator.driver != DriverKind::Native {
            let problem = Problem::Cifs("is spoken by the native driver only: leave it out");
            return Err(self.in_option("driver", problem));
        }
        match objection(plan) {
            Some((option, why)) => Err(self.in_option(option, Problem::Cifs(why))),
            None => Ok(()),
        }
    }
}

/// Returns the first option that CIFS does not have, and the advice.
fn objection(plan: &Plan) -> Option<(&'static str, &'static str)> {
    let (sessions, options) = (&plan.sessions, &plan.sessions.options);
    let replay = plan.only().workload.replay();
    let objections = [
        (
            options.encryption == Mode::Required,
            "encrypt",
            "cannot encrypt: leave it out, or offer only SMB 3.0 or later",
        ),
        (
            options.ciphers != CipherList::default(),
            "cipher",
            "cannot encrypt: leave it out, or offer only SMB 3.0 or later",
        ),
        (
            options.signing_algorithm.is_some(),
            "signing_algorithm",
            "signs with MD5 only: leave it out",
        ),
        // Before the lease, which `handles` asks for.
        (
            sessions.failover.handles != HandleDurability::None,
            "handles",
            "has no durable handles: leave it out, or offer only SMB2",
        ),
        (
            matches!(
                sessions.caching,
                Caching::Lease(_) | Caching::DirectoryLease(_)
            ),
            "oplock",
            "has oplocks, but no leases: give a level such as batch, or offer only SMB 2.1 or later",
        ),
        (
            sessions.caching == Caching::Oplock(OplockLevel::LevelII),
            "oplock",
            "has no request for level2: give exclusive or batch",
        ),
        (
            !sessions.failover.nodes.as_slice().is_empty(),
            "nodes",
            "goes back to the addresses of the server's name only: leave it out, or offer only SMB2",
        ),
        (
            replay.is_some_and(|replay| replay.recording.needs_smb2()),
            "dialect",
            "has no requests for what the trace of SMB2 has: offer only SMB2",
        ),
        (
            sessions.connections.credits.is_some(),
            "credits",
            "has no credits, the server limits the requests in flight: leave it out",
        ),
    ];
    let mut objections = objections.into_iter();
    let (_, option, why) = objections.find(|(applies, ..)| *applies)?;
    Some((option, why))
}

#[cfg(test)]
mod tests {
    use crate::plan::Plan;
    use crate::profile::Profile;
    use crate::target::Target;

    fn problem(dialects: &str, options: &str) -> Option<String> {
        let text = format!(
            "read_percent = 70\nsizes = [{{ size = \"4KiB\", weight = 100 }}]\n[run]\ndialect = \"{dialects}\"\n{options}\n"
        );
        let profile = Profile::parse("here", &text).unwrap();
        let plan = Plan::of(&profile, Target::none());
        plan.err().map(|error| error.to_string())
    }

    #[test]
    fn what_cifs_cannot_do_is_refused_by_name() {
        let batch = "oplock = \"batch\"\nsign = \"required\"";
        assert_eq!(problem("cifs", batch), None);
        assert_eq!(problem("cifs..3.1.1", batch), None);
        for (options, message) in [
            ("encrypt = \"required\"", "CIFS cannot encrypt"),
            ("cipher = \"aes-128-gcm\"", "CIFS cannot encrypt"),
            (
                "signing_algorithm = \"aes-128-cmac\"",
                "CIFS signs with MD5",
            ),
            ("oplock = \"lease-rh\"", "CIFS has oplocks, but no leases"),
            ("oplock = \"level2\"", "CIFS has no request for level2"),
            (
                "reconnect = \"5s\"\nhandles = \"durable\"",
                "CIFS has no durable handles",
            ),
            ("credits = 8", "CIFS has no credits"),
            (
                "oplock = \"batch\"\nreconnect = \"5s\"\nhandles = \"durable\"",
                "CIFS has no durable handles",
            ),
            (
                "reconnect = \"5s\"\nnodes = \"a,b\"",
                "CIFS goes back to the addresses of the server's name only",
            ),
        ] {
            for dialects in ["cifs", "cifs..3.1.1"] {
                let problem = problem(dialects, options).unwrap();
                assert!(problem.contains(message), "{problem}");
            }
        }
        let several = problem("cifs", "connections_per_session = 2").unwrap();
        assert!(
            several.contains("several connections need 3.0"),
            "{several}"
        );
    }

    #[test]
    fn operations_that_cifs_lacks_are_refused_by_name() {
        const SIZES: &str = "sizes = [{ size = \"4KiB\", weight = 100 }]";
        for (operation, sizes) in [
            ("op = \"copy_chunk\"", SIZES),
            ("op = \"create_read_close\"", SIZES),
            ("op = \"query_interfaces\"", ""),
            ("op = \"create\", durable = true", ""),
        ] {
            let text = format!(
                "operations = [{{ {operation}, weight = 100 }}]\n{sizes}\n[run]\ndialect = \"cifs\"\n"
            );
            let profile = Profile::parse("here", &text).unwrap();
            let problem = Plan::of(&profile, Target::none()).unwrap_err().to_string();
            assert!(problem.contains("but the dialects are cifs"), "{problem}");
        }
    }
}
