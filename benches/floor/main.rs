//! The floor: the least work with which a client can read 4 KiB blocks over SMB2 or CIFS.
//!
//! `smbench-floor URL CLIENTS SECONDS [cifs]` takes the password from
//! `SMBENCH_PASSWORD`. It creates a file of 1 MiB over SMB2. Then each connection sends
//! one prebuilt READ with the message id and the offset patched in. It waits
//! for the answer, checks its length and status, and sends the next READ.
//!
//! There is no workload, no decoding, no histogram and no clock. All
//! connections run on one thread, in tokio's current-thread runtime, and
//! receive into one buffer.
//!
//! Only the set-up of sessions uses the protocol crate. The loop does not.

mod cifs;
mod log_on;

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::pin::Pin;
use std::process::ExitCode;
use std::rc::Rc;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use smbench_protocol::frame::PREFIX_LEN;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::LocalOptions;

use log_on::{FloorSite, LoggedOn};

const BLOCK_LEN: u32 = 4096;
const BLOCK_LEN_USIZE: usize = BLOCK_LEN as usize;
const FILE_LEN: u64 = 1 << 20;
/// Length of the part of an answer that is read: its length and its header up
/// to the status.
const HEAD_LEN: usize = PREFIX_LEN + 12;
/// Largest number of bytes received at a time, as in smbench.
const RECEIVE_LEN: usize = 256 * 1024;
/// Time under load before the measured time.
const RAMP_UP: Duration = Duration::from_millis(500);

type FloorFailure = Box<dyn Error>;

fn main() -> ExitCode {
    match run() {
        Ok(line) => {
            say(&line);
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&format!("smbench-floor: {error}"));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "this is a program")]
fn say(line: &str) {
    println!("{line}");
}

fn run() -> Result<String, FloorFailure> {
    let arguments: Vec<String> = std::env::args().collect();
    let (url, clients, seconds, dialect) = match &arguments[..] {
        [_, url, clients, seconds] => (url, clients, seconds, FloorDialect::Smb2),
        [_, url, clients, seconds, last] if last == "cifs" => {
            (url, clients, seconds, FloorDialect::Cifs)
        }
        _ => return Err("usage: smbench-floor URL CLIENTS SECONDS [cifs]".into()),
    };
    let (clients, seconds): (u32, u64) = (clients.parse()?, seconds.parse()?);
    let site = FloorSite::new(url, std::env::var("SMBENCH_PASSWORD")?)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())?;
    runtime.block_on(measure(&site, dialect, clients, seconds))
}

/// The protocol of the reads.
#[derive(Clone, Copy)]
enum FloorDialect {
    Smb2,
    Cifs,
}

async fn measure(
    site: &FloorSite,
    dialect: FloorDialect,
    clients: u32,
    seconds: u64,
) -> Result<String, FloorFailure> {
    let file = site.make_file(FILE_LEN).await?;
    let mut sessions = Vec::new();
    for _ in 0..clients {
        sessions.push(match dialect {
            FloorDialect::Smb2 => site.open(&file.name).await?,
            FloorDialect::Cifs => cifs::open(site, &file.name).await?,
        });
    }
    let thread = Rc::new(Thread {
        answers: RefCell::new(vec![0; RECEIVE_LEN]),
        operations: Cell::new(0),
        is_over: Cell::new(false),
    });
    let readers: Vec<_> = sessions
        .into_iter()
        .map(|session| tokio::task::spawn_local(read(session, Rc::clone(&thread))))
        .collect();
    tokio::time::sleep(RAMP_UP).await;
    let (before, first) = (usage()?, thread.operations.get());
    let begin = Instant::now();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let (after, last) = (usage()?, thread.operations.get());
    let measured = begin.elapsed();
    thread.is_over.set(true);
    for reader in readers {
        reader.await??;
    }
    let operations = last - first;
    file.remove().await?;
    Ok(line(before, after, operations, measured))
}

fn usage() -> Result<Usage, FloorFailure> {
    Ok(getrusage(UsageWho::RUSAGE_SELF)?)
}

fn line(before: Usage, after: Usage, operations: u64, measured: Duration) -> String {
    let user = (after.user_time() - before.user_time()).num_microseconds() as f64;
    let system = (after.system_time() - before.system_time()).num_microseconds() as f64;
    let each = operations as f64;
    format!(
        "{{\"ops_per_s\": {:.0}, \"cpu_us_per_op\": {:.3}, \"cpu_user_us_per_op\": {:.3}}}",
        each / measured.as_secs_f64(),
        (user + system) / each,
        user / each
    )
}

/// The state that all connections share.
struct Thread {
    answers: RefCell<Vec<u8>>,
    /// Number of reads so far.
    operations: Cell<u64>,
    is_over: Cell<bool>,
}

/// Reads one block after the other.
async fn read(on: LoggedOn, thread: Rc<Thread>) -> Result<(), std::io::Error> {
    let LoggedOn {
        mut stream,
        mut reading,
    } = on;
    while !thread.is_over.get() {
        stream.write_all(reading.next()).await?;
        receive(&mut stream, reading.places.status, &thread.answers).await?;
        thread.operations.set(thread.operations.get() + 1);
    }
    Ok(())
}

/// Receives one whole, successful answer. Interim answers, which Samba sends
/// when its disk threads are busy, are skipped.
async fn receive(
    stream: &mut TcpStream,
    status: usize,
    answers: &RefCell<Vec<u8>>,
) -> Result<(), std::io::Error> {
    let mut answer = FloorAnswer::default();
    loop {
        let received = poll_fn(|context| {
            let mut answers = answers.borrow_mut();
            let mut buffer = ReadBuf::new(&mut answers);
            ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer))?;
            Poll::Ready(Ok::<_, std::io::Error>(buffer.filled().len()))
        });
        let len = received.await?;
        if len == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        // No other connection receives before the next wait, so the borrow is safe.
        let answers = answers.borrow();
        if answer.take(&answers[..len], status)? {
            return Ok(());
        }
    }
}

/// An answer that has arrived in part.
#[derive(Default)]
struct FloorAnswer {
    /// The number of its bytes.
    begun: usize,
    head: [u8; HEAD_LEN],
}

impl FloorAnswer {
    /// Takes further bytes; returns whether a whole, successful answer has arrived.
    fn take(&mut self, mut came: &[u8], status: usize) -> Result<bool, std::io::Error> {
        let Self { begun, head } = self;
        while !came.is_empty() {
            if *begun < HEAD_LEN {
                let len = came.len().min(HEAD_LEN - *begun);
                head[*begun..*begun + len].copy_from_slice(&came[..len]);
                (*begun, came) = (*begun + len, &came[len..]);
                if *begun < HEAD_LEN {
                    break;
                }
            }
            let len =
                PREFIX_LEN + u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
            let rest = came.len().min(len.saturating_sub(*begun));
            (*begun, came) = (*begun + rest, &came[rest..]);
            if *begun < len {
                break;
            }
            *begun = 0;
            // An answer without the block is shorter than the block.
            match (len, &head[status..status + 4]) {
                (BLOCK_LEN_USIZE.., [0, 0, 0, 0]) => return Ok(true),
                (_, [3, 1, 0, 0]) => {}
                (_, status) => {
                    let what = format!("{len} bytes with status {status:02x?} for a READ");
                    return Err(std::io::Error::other(what));
                }
            }
        }
        Ok(false)
    }
}
