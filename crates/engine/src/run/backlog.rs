//! Bytes of one client that its socket has not taken yet.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio::net::TcpStream;

/// With this many bytes waiting, no further request is encoded: a large window
/// of large writes must not become a large buffer.
pub(super) const FULL_LEN: usize = 1024 * 1024;

/// A queue of bytes. Taking from its front moves nothing.
#[derive(Default)]
pub(super) struct Backlog {
    bytes: Vec<u8>,
    sent: usize,
}

impl Backlog {
    /// Bytes waiting.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Hands the socket what waits and then `output`, as far as it takes them;
    /// the rest waits. `output` is empty afterwards, also after an error: it
    /// belongs to all clients of the worker.
    pub(super) fn flush(
        &mut self,
        stream: &mut TcpStream,
        context: &mut Context<'_>,
        output: &mut Vec<u8>,
    ) -> std::io::Result<()> {
        let flushed = self.try_flush(stream, context, output);
        output.clear();
        flushed
    }

    fn try_flush(
        &mut self,
        stream: &mut TcpStream,
        context: &mut Context<'_>,
        output: &[u8],
    ) -> std::io::Result<()> {
        self.sent += write_some(stream, context, &self.bytes[self.sent..])?;
        if self.len() > 0 {
            self.bytes.extend_from_slice(output);
            return Ok(());
        }
        self.bytes.clear();
        self.sent = 0;
        let written = write_some(stream, context, output)?;
        self.bytes.extend_from_slice(&output[written..]);
        Ok(())
    }
}

/// Writes until the socket would block; how many bytes it took.
fn write_some(
    stream: &mut TcpStream,
    context: &mut Context<'_>,
    bytes: &[u8],
) -> std::io::Result<usize> {
    let mut written = 0;
    while written < bytes.len() {
        match Pin::new(&mut *stream).poll_write(context, &bytes[written..]) {
            Poll::Ready(len) => written += len?,
            Poll::Pending => break,
        }
    }
    Ok(written)
}
