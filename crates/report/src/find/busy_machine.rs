//! What a probe says about the machine of the generator: whether other programs had its CPUs,
//! and what may help.

use smbench_model::cpu::CpuScope;
use smbench_model::setting::THREADS;

use crate::doc::{LoadPointDoc, Named, RunDoc};
use crate::units::percent;

/// Share of all CPUs that any programs use on a machine without a free CPU.
const FULL: f64 = 0.95;
/// Share of all CPUs from which on other programs delay a server on this machine. The
/// kernel's own work for the load is in it.
const OTHERS: f64 = 0.25;
/// Share of the time that a thread runs, if it cannot make more load.
const THREAD_FULL: f64 = 0.9;

/// Returns the share of all CPUs that programs other than smbench and the server had, 0 to 1.
/// `None` if it is not known: of several hosts, and of a server elsewhere.
fn others(point: &LoadPointDoc) -> Option<f64> {
    let busy = point.generator.as_ref()?.machine_busy_share?;
    if !point.hosts.is_empty() || point.window_s <= 0.0 {
        return None;
    }
    let client = point.client.cpu_s();
    let server = point.server_cpu.as_ref()?;
    let is_here = server.scope == Some(Named::Known(CpuScope::Processes));
    let (busy_s, cores) = server.busy_s.zip(server.cores).filter(|_| is_here)?;
    let all_s = point.window_s * f64::from(cores);
    Some((busy - (client + busy_s) / all_s).max(0.0))
}

/// Tells that other programs took the CPUs of this machine, on which the server runs as
/// well. It may then be slower for their sake.
pub(super) fn delayed_server(point: &LoadPointDoc) -> Option<String> {
    let busy = point.generator.as_ref()?.machine_busy_share?;
    let others = others(point).filter(|others| busy > FULL && *others > OTHERS)?;
    let share = percent((others * 100.0).round());
    Some(format!(
        "this machine was busy: programs other than smbench and the server had {share} of its CPUs"
    ))
}

/// Returns what may help if this machine was the limit, as a clause.
pub(super) fn remedy(doc: &RunDoc, point: &LoadPointDoc) -> String {
    if let Some(others) = others(point).filter(|others| *others > OTHERS) {
        let share = percent((others * 100.0).round());
        return format!("close other programs, which had {share} of this machine's CPUs");
    }
    let workers = point
        .generator
        .iter()
        .flat_map(|generator| &generator.workers);
    let (threads, full) = workers.fold((0, false), |(threads, full), worker| {
        (threads + 1, full || worker.cpu_share > THREAD_FULL)
    });
    let cpus = doc.machine.as_ref().and_then(|machine| machine.cpus);
    match cpus {
        Some(cpus) if full && point.hosts.is_empty() && threads < cpus => {
            format!(
                "give more {THREADS}: {threads} of {cpus} CPUs had one; or use several machines"
            )
        }
        _ => "close other programs, or use a machine with more CPUs or several machines".to_owned(),
    }
}
