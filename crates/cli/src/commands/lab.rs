//! `smbench lab`: starts a server that runs until it is interrupted.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;
use std::{env, io, process, thread};

use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, ShareAccess};

use crate::args::{EmbeddedArgs, LabCommand, SambaArgs};
use crate::calibrate;
use crate::failure::{Exit, Failure};
use crate::output::{complain, print};
use crate::password::VARIABLE;
use crate::signals;

/// Interval between two checks whether a server still runs.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

pub(super) fn lab(command: LabCommand) -> Result<Exit, Failure> {
    let (stop, stopped) = mpsc::channel();
    // Before the server starts, so that a signal during the start cleans up, too.
    let on_signal = stop.clone();
    let left = match &command {
        LabCommand::Samba(_) => format!(
            "; its folder, smbench-samba-*, may be left in {}",
            env::temp_dir().display()
        ),
        LabCommand::Embedded(_) | LabCommand::Loopback => String::new(),
    };
    signals::on_interrupt(move |times| match times {
        1 => request_stop(&on_signal),
        _ => {
            complain(format_args!("aborted at once{left}"));
            process::exit(Exit::Interrupted as i32);
        }
    })?;
    match command {
        LabCommand::Embedded(args) => embedded(&args, stop, &stopped)?,
        LabCommand::Samba(args) => samba(args, &stopped)?,
        LabCommand::Loopback => return calibrate::respond(),
    }
    Ok(Exit::Done)
}

fn request_stop(stop: &Sender<()>) {
    // The receiver is gone while the server is being stopped.
    let _ = stop.send(());
}

fn embedded(args: &EmbeddedArgs, stop: Sender<()>, stopped: &Receiver<()>) -> Result<(), Failure> {
    if args.stop_at_eof {
        thread::spawn(move || {
            // An unreadable input counts as ended.
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            request_stop(&stop);
        });
    }
    let server = EmbeddedServer::start(EmbeddedOptions {
        capacity_bytes: args.capacity.map(|size| size.0),
        access: match args.read_only {
            true => ShareAccess::ReadOnly,
            false => ShareAccess::ReadWrite,
        },
        signing: args.signing,
        listen: SocketAddr::new(args.listen, args.port),
        ..EmbeddedOptions::default()
    })?;
    announce(&server.url(), server.password())?;
    // The signals' thread keeps a sender, so this waits.
    let _ = stopped.recv();
    server.stop();
    Ok(())
}

fn samba(args: SambaArgs, stopped: &Receiver<()>) -> Result<(), Failure> {
    let server = ScratchSamba::start(SambaOptions {
        signing: args.signing,
        listen: args.listen,
        extra_global: args.options,
        ..SambaOptions::default()
    })?;
    announce(&server.url(), server.password())?;
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(WATCH_INTERVAL) {
        if server.has_exited() {
            let said = server.log_tail();
            return Err(Failure::io("go on serving")(io::Error::other(format!(
                "smbd has ended by itself; the end of its log:\n{said}"
            ))));
        }
    }
    Ok(server.stop()?)
}

/// Prints the two lines that scripts read.
fn announce(url: &str, password: &str) -> Result<(), Failure> {
    print(&format!("{url}\n{VARIABLE}={password}\n"))
}
