//! `smbench lab`: a server for anyone, until interrupted.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Sender};
use std::thread;

use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, ShareAccess};

use crate::args::{EmbeddedArgs, LabCommand, SambaArgs};
use crate::calibrate;
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::password::VARIABLE;
use crate::signals;

pub(super) fn lab(command: LabCommand) -> Result<Exit, Failure> {
    let (stop, stopped) = mpsc::channel();
    // Before the server starts, so that a signal meanwhile cleans up, too.
    let on_signal = stop.clone();
    signals::on_interrupt(move |_| request_stop(&on_signal))?;
    let wait = || {
        // A sender lives on in the signals' thread.
        let _ = stopped.recv();
    };
    match command {
        LabCommand::Embedded(args) => embedded(&args, stop, wait)?,
        LabCommand::Samba(args) => samba(args, wait)?,
        LabCommand::Loopback => return calibrate::respond(),
    }
    Ok(Exit::Done)
}

fn request_stop(stop: &Sender<()>) {
    // Nobody listens any more once the server is being stopped.
    let _ = stop.send(());
}

fn embedded(args: &EmbeddedArgs, stop: Sender<()>, wait: impl FnOnce()) -> Result<(), Failure> {
    if args.stop_at_eof {
        thread::spawn(move || {
            // An unreadable input is one that has ended.
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
    wait();
    server.stop();
    Ok(())
}

fn samba(args: SambaArgs, wait: impl FnOnce()) -> Result<(), Failure> {
    let server = ScratchSamba::start(SambaOptions {
        signing: args.signing,
        listen: args.listen,
        extra_global: args.options,
        ..SambaOptions::default()
    })?;
    announce(&server.url(), server.password())?;
    wait();
    Ok(server.stop()?)
}

/// The two lines that scripts read.
fn announce(url: &str, password: &str) -> Result<(), Failure> {
    print(&format!("{url}\n{VARIABLE}={password}\n"))
}
