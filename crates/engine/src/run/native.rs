//! The driver over our own protocol: one session on one connection.

use std::pin::Pin;
use std::task::{Context, Poll};

use smbench_protocol::command::create::{
    CreateRequest, Disposition, OplockLevel, access, attributes, options, share,
};
use smbench_protocol::command::flush::FlushRequest;
use smbench_protocol::command::read::ReadRequest;
use smbench_protocol::command::write::WriteRequest;
use smbench_protocol::frame::Payload;
use smbench_protocol::header::Command;
use smbench_protocol::{Completion, Event, FileId, NtStatus, ProtocolError};
use tokio::io::{AsyncRead, ReadBuf};

use crate::clock;
use crate::plan::Verify;
use crate::record::OpKind;
use crate::run::backlog::{self, Backlog};
use crate::run::driver::{Answer, Busy, Call, Driver, Opened, Scratch};
use crate::run::operation::Dropped;
use crate::run::worker::Assignment;
use crate::session::{Session, SessionError};
use crate::stream::Operation;

/// ECHOs sent at most to earn the credits of one client's window.
const EARNING_ECHOS: u32 = 64;

/// A session, its open files, and the bytes its socket has not taken yet.
pub(super) struct Native {
    session: Session,
    /// By member.
    files: Box<[Box<[FileId]>]>,
    backlog: Backlog,
    payload: Payload,
}

impl Driver for Native {
    async fn open(worker: &Assignment, clients: &[u32]) -> Result<Opened<Self>, SessionError> {
        let [client] = clients else {
            unreachable!("each client has a connection of its own");
        };
        let begin = clock::now();
        let mut session = Session::open(&worker.endpoint.of_connection(*client)).await?;
        let took = clock::now().since(begin);
        let files = open_files(worker, *client, &mut session).await?;
        session.earn_credits(EARNING_ECHOS).await?;
        Ok(Opened {
            driver: Self {
                session,
                files: Box::from([files]),
                backlog: Backlog::default(),
                payload: match worker.plan.verify {
                    Verify::Off => Payload::Discard,
                    Verify::ReadBack => Payload::Keep,
                },
            },
            session_setup: vec![took],
        })
    }

    fn has_room(&self, scratch: &Scratch) -> bool {
        self.backlog.len() + scratch.output.len() < backlog::FULL_LEN
    }

    fn submit(
        &mut self,
        call: &Call,
        scratch: &mut Scratch,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let Operation {
            kind,
            file,
            offset,
            length,
        } = call.operation;
        let file_id = self.files[call.member][file as usize];
        let connection = &mut self.session.connection;
        let out = &mut scratch.output;
        match kind {
            OpKind::Read => {
                let request = ReadRequest {
                    file_id,
                    offset,
                    length,
                    minimum_count: 0,
                    flags: 0,
                };
                connection.read(call.slot, &request, out)
            }
            OpKind::Write => {
                let request = WriteRequest {
                    file_id,
                    offset,
                    length,
                    flags: 0,
                };
                connection.write(call.slot, &request, out, fill)
            }
            OpKind::Flush => {
                let request = FlushRequest { file_id };
                connection.request(Command::Flush, 1, call.slot, out, |out| request.encode(out))
            }
        }
        .map_err(|_| Busy)
    }

    fn flush(&mut self, context: &mut Context<'_>, scratch: &mut Scratch) -> std::io::Result<()> {
        self.backlog
            .flush(&mut self.session.stream, context, &mut scratch.output)
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        let mut buffer = ReadBuf::new(&mut scratch.input);
        Pin::new(&mut self.session.stream)
            .poll_read(context, &mut buffer)
            .map(|outcome| {
                outcome?;
                match buffer.filled().len() {
                    0 => Err(Dropped::Closed),
                    len => Ok(len),
                }
            })
    }

    fn take_answers(
        &mut self,
        received: usize,
        scratch: &mut Scratch,
        mut each: impl FnMut(&Answer<'_>) -> Result<(), Dropped>,
    ) -> Result<(), Dropped> {
        let Session {
            inbound,
            connection,
            ..
        } = &mut self.session;
        let mut input = &mut scratch.input[..received];
        while let Some(frame) = inbound
            .next(&mut input, self.payload)
            .map_err(ProtocolError::from)?
        {
            let mut messages = connection.open(frame)?;
            while let Some(message) = messages.next_message().map_err(ProtocolError::from)? {
                // An interim answer completes nothing; the final one will.
                if let Event::Completed(done) = connection.receive(message)? {
                    each(&answer(&done)?)?;
                }
            }
        }
        Ok(())
    }

    async fn close(self) {
        self.session.log_off().await;
    }
}

fn answer<'a>(done: &Completion<'a>) -> Result<Answer<'a>, Dropped> {
    let bare = Answer {
        slot: done.tag,
        status: done.status,
        moved: 0,
        data: None,
    };
    if done.status != NtStatus::SUCCESS {
        return Ok(bare);
    }
    Ok(match done.command {
        Command::Read => {
            let read = done.read().map_err(ProtocolError::from)?;
            Answer {
                moved: read.length,
                data: read.data,
                ..bare
            }
        }
        Command::Write => Answer {
            moved: done.write().map_err(ProtocolError::from)?.count,
            ..bare
        },
        _ => bare,
    })
}

/// Opens the files that a client works on as long as the load point lasts.
async fn open_files(
    worker: &Assignment,
    client: u32,
    session: &mut Session,
) -> Result<Box<[FileId]>, SessionError> {
    let plan = &*worker.plan;
    let mut desired_access =
        access::FILE_READ_DATA | access::FILE_READ_ATTRIBUTES | access::SYNCHRONIZE;
    if plan.writes() {
        // A server may look up the size of the file on every write of an open
        // that has one of these rights only.
        desired_access |= access::FILE_WRITE_DATA | access::FILE_APPEND_DATA;
    }
    let mut files = Vec::with_capacity(plan.workload.files.count as usize);
    for file in 0..plan.workload.files.count {
        let path = format!(r"{}\{}", worker.directory, plan.file_name(client, file));
        let opened = session
            .create(
                &format!("open file '{path}'"),
                &CreateRequest {
                    name: &path,
                    desired_access,
                    file_attributes: attributes::FILE_ATTRIBUTE_NORMAL,
                    share_access: share::ALL,
                    disposition: Disposition::Open,
                    options: options::FILE_NON_DIRECTORY_FILE,
                    oplock: OplockLevel::None,
                    contexts: &[],
                },
            )
            .await?;
        files.push(opened.file_id);
    }
    Ok(files.into_boxed_slice())
}
