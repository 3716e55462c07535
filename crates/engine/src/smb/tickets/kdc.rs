//! Requests to KDCs, over TCP.

use std::io;

use smbench_model::limits::Limits;
use smbench_model::login::KdcAddress;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::error::TicketError;

/// The largest answer in bytes. Tickets have at most some tens of KiB.
const ANSWER_LEN_MAX: u32 = 1024 * 1024;

/// Sends `message` to the first of `kdcs` that can be reached. Returns the answer,
/// and the address of the KDC.
pub(super) async fn ask(
    realm: &str,
    kdcs: &[KdcAddress],
    message: &[u8],
    limits: &Limits,
) -> Result<(Vec<u8>, String), TicketError> {
    let mut last = TicketError::NoKdc {
        realm: realm.to_owned(),
    };
    for kdc in kdcs {
        let at = kdc.to_string();
        let unreachable = |source| TicketError::Unreachable {
            realm: realm.to_owned(),
            at: at.clone(),
            source,
        };
        let overdue = |limit| TicketError::Timeout {
            realm: realm.to_owned(),
            at: at.clone(),
            limit,
        };
        let connecting = TcpStream::connect((kdc.host.as_str(), kdc.port));
        let stream = match timeout(limits.connect, connecting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(source)) => {
                last = unreachable(source);
                continue;
            }
            Err(_) => {
                last = overdue(limits.connect);
                continue;
            }
        };
        match timeout(limits.setup, exchange(stream, message)).await {
            Ok(Ok(answer)) => return Ok((answer, format!("the KDC at {at}"))),
            Ok(Err(source)) => last = unreachable(source),
            Err(_) => last = overdue(limits.setup),
        }
    }
    Err(last)
}

/// Exchanges one message in each direction, each after its length (RFC 4120 7.2.2).
async fn exchange(mut stream: TcpStream, message: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = (message.len() as u32).to_be_bytes().to_vec();
    out.extend_from_slice(message);
    stream.write_all(&out).await?;
    let len = stream.read_u32().await?;
    if len > ANSWER_LEN_MAX {
        return Err(io::Error::other(
            "the program that answers there is not a KDC",
        ));
    }
    // The buffer grows as data arrives. The stated length comes from a stranger, so
    // it reserves no memory.
    let mut answer = Vec::new();
    let got = stream.take(len.into()).read_to_end(&mut answer).await?;
    if got < len as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(answer)
}
