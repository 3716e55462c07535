//! `smbench verify-after`: compares a share with the state file of a run, after a crash.

use smbench_engine::probe;
use smbench_report::after::{AfterDoc, render};
use smbench_report::units::bytes;

use crate::args::{VerifyAfterArgs, is_stdout_taken};
use crate::failure::{Exit, Failure};
use crate::files::write;
use crate::output::print;
use crate::progress::{ProgressLine, Visibility};
use crate::requests::ServerAccess;
use crate::signals;

pub(super) fn verify_after(args: &VerifyAfterArgs) -> Result<Exit, Failure> {
    let access = ServerAccess::resolve(&args.url)?;
    let line = ProgressLine::new(Visibility::Terminal);
    signals::leave_on_interrupt(&line)?;
    let mut show = |done: u64, total: u64| {
        let share = done as f64 / total.max(1) as f64;
        line.show_part(share, format!("read {} of {}", bytes(done), bytes(total)));
    };
    let options = args.session.options().session();
    let found = probe::verify_after(
        &access.target,
        options,
        access.limits,
        &args.state,
        &mut show,
    );
    line.clear();
    let doc = AfterDoc::of(&found?, access.target.redacted(), &args.state);
    if let Some(to) = &args.json {
        write(to, &doc.to_json())?;
    }
    if !is_stdout_taken(&[("--json", &args.json)])? {
        print(&render(&doc))?;
    }
    Ok(match doc.broken_blocks {
        0 => Exit::Done,
        _ => Exit::Failed,
    })
}
