//! The floor: the least that a client must do to read 4 KiB blocks over SMB2.
//!
//! `smbench-floor URL CLIENTS SECONDS` (password in `SMBENCH_PASSWORD`) makes
//! a file of 1 MiB, then on each connection sends one prebuilt READ with the
//! message id and the offset patched in, waits for the answer
//! (its length and status), and sends the next: no workload, no decoding,
//! no histogram, no time stamps. One thread, as tokio's current-thread runtime
//! has it. What smbench costs beyond this is smbench's own doing.
//!
//! Only setting sessions up uses the protocol crate; the loop is bare.

mod log_on;

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use smbench_protocol::command::read::{READ_RESPONSE_FIXED, ReadRequest};
use smbench_protocol::frame::PREFIX_LEN;
use smbench_protocol::header::{Command, Header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use log_on::{LoggedOn, Site};

const BLOCK_LEN: u32 = 4096;
const FILE_LEN: u64 = 1 << 20;
const ANSWER_LEN: usize = PREFIX_LEN + READ_RESPONSE_FIXED + BLOCK_LEN as usize;
/// Where the message id lies in a framed request.
const MESSAGE_ID: std::ops::Range<usize> = PREFIX_LEN + 24..PREFIX_LEN + 32;
/// Where READ's offset lies in a framed request.
const OFFSET: std::ops::Range<usize> = PREFIX_LEN + 64 + 8..PREFIX_LEN + 64 + 16;
/// Load before the measured time.
const RAMP_UP: Duration = Duration::from_millis(500);

type Failure = Box<dyn Error>;

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

fn run() -> Result<String, Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, url, clients, seconds] = &arguments[..] else {
        return Err("usage: smbench-floor URL CLIENTS SECONDS".into());
    };
    let (clients, seconds): (u32, u64) = (clients.parse()?, seconds.parse()?);
    let site = Site::new(url, std::env::var("SMBENCH_PASSWORD")?)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, measure(&site, clients, seconds))
}

async fn measure(site: &Site, clients: u32, seconds: u64) -> Result<String, Failure> {
    let file = site.make_file(FILE_LEN).await?;
    let mut sessions = Vec::new();
    for _ in 0..clients {
        sessions.push(site.open(&file.name).await?);
    }
    let begin = Instant::now() + RAMP_UP;
    let end = begin + Duration::from_secs(seconds);
    let readers: Vec<_> = sessions
        .into_iter()
        .map(|session| tokio::task::spawn_local(read(session, begin, end)))
        .collect();
    tokio::time::sleep_until(begin.into()).await;
    let before = getrusage(UsageWho::RUSAGE_SELF)?;
    tokio::time::sleep_until(end.into()).await;
    let after = getrusage(UsageWho::RUSAGE_SELF)?;
    let mut operations = 0;
    for reader in readers {
        operations += reader.await??;
    }
    file.remove().await?;
    let user = (after.user_time() - before.user_time()).num_microseconds() as f64;
    let system = (after.system_time() - before.system_time()).num_microseconds() as f64;
    let each = operations as f64;
    Ok(format!(
        "{{\"ops_per_s\": {:.0}, \"cpu_us_per_op\": {:.3}, \"cpu_user_us_per_op\": {:.3}}}",
        each / seconds as f64,
        (user + system) / each,
        user / each
    ))
}

/// Reads one block after the other; how many between `begin` and `end`.
async fn read(mut on: LoggedOn, begin: Instant, end: Instant) -> Result<u64, std::io::Error> {
    let mut request = request(&on);
    let mut answer = vec![0; 64 * 1024];
    let mut random = u64::from(on.message_id as u32) | 1;
    let mut operations = 0;
    loop {
        // Xorshift: any block, so that the server is asked what smbench asks.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let offset = random % (FILE_LEN / u64::from(BLOCK_LEN)) * u64::from(BLOCK_LEN);
        request[MESSAGE_ID].copy_from_slice(&on.message_id.to_le_bytes());
        request[OFFSET].copy_from_slice(&offset.to_le_bytes());
        on.message_id += 1;
        on.stream.write_all(&request).await?;
        receive(&mut on.stream, &mut answer).await?;
        let now = Instant::now();
        if now >= end {
            return Ok(operations);
        }
        if now >= begin {
            operations += 1;
        }
    }
}

/// One whole, successful answer; interim ones, which Samba sends when its disk
/// threads are busy, pass by.
async fn receive(stream: &mut TcpStream, answer: &mut [u8]) -> Result<(), std::io::Error> {
    let mut received = 0;
    let mut passed = 0;
    loop {
        match stream.read(&mut answer[received..]).await? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            len => received += len,
        }
        while received - passed >= PREFIX_LEN + 12 {
            let at = &answer[passed..];
            let len = PREFIX_LEN + u32::from_be_bytes([at[0], at[1], at[2], at[3]]) as usize;
            let status = &at[PREFIX_LEN + 8..PREFIX_LEN + 12];
            match (len, status) {
                (ANSWER_LEN, [0, 0, 0, 0]) if received - passed == len => return Ok(()),
                (ANSWER_LEN, [0, 0, 0, 0]) => break,
                (_, [3, 1, 0, 0]) if received - passed >= len => passed += len,
                _ => {
                    let what = format!("{len} bytes with status {status:02x?} for a READ");
                    return Err(std::io::Error::other(what));
                }
            }
        }
    }
}

/// A framed READ, to be patched.
fn request(on: &LoggedOn) -> Vec<u8> {
    let header = Header {
        credit_charge: 1,
        credits: 1,
        session_id: on.session_id,
        ..Header::request(Command::Read, 0).with_tree(on.tree_id)
    };
    let body = ReadRequest {
        file_id: on.file_id,
        offset: 0,
        length: BLOCK_LEN,
        minimum_count: 0,
        flags: 0,
    };
    let mut request = vec![0; PREFIX_LEN];
    header.encode(&mut request);
    body.encode(&mut request);
    let len = (request.len() - PREFIX_LEN) as u32;
    request[..PREFIX_LEN].copy_from_slice(&len.to_be_bytes());
    request
}
