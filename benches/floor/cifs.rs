//! A session in CIFS with the open file.

use smbench_protocol::SessionIndex;
use smbench_protocol::cifs::CifsEvent;
use smbench_protocol::cifs::command::create::{CifsCreated, encode_create};
use smbench_protocol::cifs::command::read::CifsRead;
use smbench_protocol::cifs::handshake::{CifsHandshake, CifsProgress};
use smbench_protocol::cifs::header::{CIFS_HEADER_LEN, CifsCommand};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{CreateRequest, access, options};
use smbench_protocol::frame::{Inbound, PREFIX_LEN, Payload};

use crate::log_on::{FloorReading, FloorSite, LoggedOn, Places, exchange};
use crate::{BLOCK_LEN, FloorFailure};

const CIFS: Places = Places {
    message_id: PREFIX_LEN + 30..PREFIX_LEN + 32,
    // Behind the number of words, the AndX block and the FID.
    offset: PREFIX_LEN + CIFS_HEADER_LEN + 7..PREFIX_LEN + CIFS_HEADER_LEN + 11,
    status: PREFIX_LEN + 5,
};

/// Logs on and opens the file for reading.
pub(crate) async fn open(site: &FloorSite, name: &str) -> Result<LoggedOn, FloorFailure> {
    let mut stream = site.connect().await?;
    let mut out = Vec::new();
    let mut handshake = CifsHandshake::start(site.config("cifs")?, &mut out)?;
    let mut inbound = Inbound::default();
    let mut ready = None;
    let first = SessionIndex::FIRST;
    loop {
        let mut chunk = exchange(&mut stream, &mut out).await?;
        let mut input = &mut chunk[..];
        while let Some(frame) = inbound.next(&mut input, Payload::Keep)? {
            let message = frame.into_message();
            let Some(mut connection) = ready.take() else {
                if let CifsProgress::Ready(mut connection) = handshake.receive(message, &mut out)? {
                    let name = WireName::new(name)?;
                    let request = CreateRequest {
                        options: options::FILE_NON_DIRECTORY_FILE,
                        ..CreateRequest::open(
                            &name,
                            access::FILE_READ_DATA | access::FILE_READ_ATTRIBUTES,
                        )
                    };
                    let body = |out: &mut Vec<u8>| encode_create(&request, out);
                    connection.request(first, CifsCommand::NtCreateAndX, 0, &mut out, body)?;
                    ready = Some(connection);
                }
                continue;
            };
            let CifsEvent::Completed(done) = connection.receive(message)? else {
                return Err("an unexpected message".into());
            };
            let file = CifsCreated::decode(done.message())?.file;
            let read = CifsRead {
                file,
                offset: 0,
                length: BLOCK_LEN,
            };
            let mut request = Vec::new();
            connection.read(first, 0, &read, &mut request)?;
            return Ok(LoggedOn {
                stream,
                reading: FloorReading::new(request, CIFS, 100),
            });
        }
    }
}
