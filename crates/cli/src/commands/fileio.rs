//! `smbench fileio`: tests like `sysbench fileio`, in the same three steps.

mod prepare;
mod run;

use std::time::SystemTime;

use smbench_model::fileio::{FileOrigin, Fileio, Flushing, RequestSpread, TestMode};
use smbench_model::target::Target;

use crate::args::{FileioArgs, FileioCommand, RandType, RandomArgs, TestArgs};
use crate::failure::{Exit, Failure};
use crate::hosts::Hosts;
use crate::output::complain;
use crate::requests::given;

/// Executes the command.
pub(super) fn fileio(command: FileioCommand, hosts: &Hosts) -> Result<Exit, Failure> {
    match command {
        FileioCommand::Prepare(args) => {
            tell_without_effect(&args);
            prepare::prepare(&args)
        }
        FileioCommand::Run(args) => {
            tell_without_effect(&args);
            run::run(&args, hosts)
        }
        FileioCommand::Cleanup(args) => prepare::cleanup(&args),
    }
}

fn tell_without_effect(args: &FileioArgs) {
    if !args.output.quiet {
        without_effect(&args.test).iter().for_each(complain);
    }
}

/// Returns a line for each given option that SMB has no meaning for.
fn without_effect(test: &TestArgs) -> Vec<String> {
    let options = [
        (
            test.file_io_mode != "sync",
            format!("--file-io-mode={}", test.file_io_mode),
            "each session has one request in flight, and no file is mapped",
        ),
        (
            test.file_extra_flags.iter().any(|flag| flag == "direct"),
            "--file-extra-flags=direct".to_owned(),
            "no cache of this machine is in between",
        ),
        (
            test.file_fsync_mode != "fsync",
            format!("--file-fsync-mode={}", test.file_fsync_mode),
            "SMB has one FLUSH, of all there is of a file",
        ),
    ];
    let options = options.into_iter().filter(|(is_given, ..)| *is_given);
    options
        .map(|(_, option, reason)| format!("{option} changes nothing: {reason}"))
        .collect()
}

/// Builds the test from the options.
fn test(args: &FileioArgs, mode: TestMode) -> Fileio {
    let (test, load, random) = (&args.test, &args.load, &args.random);
    Fileio {
        mode,
        files: test.file_num,
        total: test.file_total_size,
        block: test.file_block_size,
        merged: test.file_merged_requests,
        flushing: if test.file_fsync_all {
            Flushing::EachWrite
        } else {
            Flushing::Sets {
                every: (test.file_fsync_freq > 0).then_some(test.file_fsync_freq),
                at_end: test.file_fsync_end,
            }
        },
        rw_ratio: test.file_rw_ratio,
        spread: spread(random),
        events: (load.events > 0).then_some(load.events),
        time: (!load.time.is_zero()).then_some(load.time),
        home: match args.server.target.url() {
            Some(_) => FileOrigin::Prepared,
            None => FileOrigin::Own,
        },
    }
}

fn spread(args: &RandomArgs) -> RequestSpread {
    let iterations = args.rand_spec_iter;
    match args.rand_type {
        RandType::Uniform => RequestSpread::Uniform,
        RandType::Gaussian => RequestSpread::Gaussian { iterations },
        RandType::Special => RequestSpread::Special {
            iterations,
            items: args.rand_spec_pct,
            hits: args.rand_spec_res,
        },
        RandType::Pareto => RequestSpread::Pareto {
            h: args.rand_pareto_h,
        },
        RandType::Zipf => RequestSpread::Zipf {
            exponent: args.rand_zipfian_exp,
        },
    }
}

/// Returns the seed; for 0 a seed from the clock.
fn seed(args: &FileioArgs) -> u64 {
    match args.random.rand_seed {
        0 => SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(1, |since| since.as_nanos() as u64),
        seed => seed,
    }
}

/// Returns the server with the files, after reading its password.
fn target(args: &FileioArgs, command: &str) -> Result<Target, Failure> {
    let Some(url) = args.server.target.url() else {
        return Err(Failure::Usage(format!(
            "fileio {command} needs the URL of a server; only `smbench fileio run` can start a server \
             of its own"
        )));
    };
    given(url, &args.server.secrets)?.with_password()
}
