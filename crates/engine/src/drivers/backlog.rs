//! Bytes that a socket has not taken yet. If a group has several connections, all
//! bytes to be sent on one of them.

use std::hint;
use std::task::Context;

use crate::machine::socket::ConnectionSocket;

/// Limit in bytes: from this length on, no further request is encoded. Without it,
/// a large window of large writes would need a large buffer.
pub(super) const FULL_LEN: usize = 1024 * 1024;

/// A connection keeps an empty buffer up to this capacity in bytes once a request fits into the
/// socket at once. Otherwise one bad minute of the server would leave thousands of large buffers.
/// Large writes seldom fit, so their connections keep theirs.
const KEPT_CAPACITY: usize = 4096;

/// A queue of bytes. Taking bytes from its front moves no data.
#[derive(Default)]
pub(super) struct Backlog {
    bytes: Vec<u8>,
    sent: usize,
}

impl Backlog {
    /// Returns the number of bytes that wait.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Returns the buffer to which further bytes are appended.
    pub(super) const fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Sends the waiting bytes and then `output`, as far as the socket takes them;
    /// the rest waits. `output` is empty afterwards, even after an error, because
    /// all clients of the worker share it.
    pub(super) fn flush(
        &mut self,
        socket: &ConnectionSocket,
        context: &mut Context<'_>,
        output: &mut Vec<u8>,
    ) -> std::io::Result<()> {
        if output.is_empty() && self.bytes.is_empty() {
            return Ok(());
        }
        let flushed = self.try_flush(socket, context, output);
        output.clear();
        flushed
    }

    fn try_flush(
        &mut self,
        socket: &ConnectionSocket,
        context: &mut Context<'_>,
        output: &[u8],
    ) -> std::io::Result<()> {
        if !self.bytes.is_empty() {
            self.sent += socket.send_some(context, &self.bytes[self.sent..])?;
        }
        if self.len() > 0 {
            hint::cold_path();
            // Sent bytes are removed in large pieces. Each byte then moves at most
            // once, and the buffer stays within a few times its limit.
            if self.sent >= FULL_LEN {
                self.bytes.drain(..self.sent);
                self.sent = 0;
            }
            self.bytes.extend_from_slice(output);
            return Ok(());
        }
        let had_none = self.bytes.is_empty();
        self.bytes.clear();
        self.sent = 0;
        let written = socket.send_some(context, output)?;
        if written < output.len() {
            hint::cold_path();
            self.bytes.extend_from_slice(&output[written..]);
        } else if had_none && self.bytes.capacity() > KEPT_CAPACITY {
            hint::cold_path();
            self.bytes.shrink_to(KEPT_CAPACITY);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpSocket, TcpStream};

    use super::*;

    /// The socket takes few bytes at a time. All bytes arrive in order, and the
    /// buffer stays bounded.
    #[tokio::test]
    async fn a_slow_socket_gets_every_byte_and_the_buffer_stays_small() {
        const STEP: usize = 300_000;
        const STEPS: usize = 60;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_send_buffer_size(64 * 1024).unwrap();
        let connecting = socket.connect(listener.local_addr().unwrap());
        let (stream, accepted) = tokio::join!(connecting, listener.accept());
        let (stream, (mut peer, _)) = (stream.unwrap(), accepted.unwrap());
        stream.set_nodelay(true).unwrap();
        let socket = ConnectionSocket::from(stream);
        let reader = async move {
            let mut received = Vec::new();
            peer.read_to_end(&mut received).await.unwrap();
            received
        };
        let writer = async move {
            let mut backlog = Backlog::default();
            let mut output = Vec::new();
            let mut produced = 0u32;
            let mut largest = 0;
            poll_fn(|context| {
                loop {
                    while produced < (STEPS * STEP / 4) as u32
                        && backlog.len() + output.len() < FULL_LEN
                    {
                        for _ in 0..STEP / 4 {
                            output.extend_from_slice(&produced.to_le_bytes());
                            produced += 1;
                        }
                    }
                    let before = backlog.len() + output.len();
                    backlog.flush(&socket, context, &mut output).unwrap();
                    assert!(output.is_empty());
                    largest = largest.max(backlog.bytes.capacity());
                    if backlog.len() == 0 && before == 0 {
                        return Poll::Ready(());
                    }
                    if backlog.len() > 0 {
                        return Poll::Pending;
                    }
                }
            })
            .await;
            assert!(backlog.bytes.capacity() > KEPT_CAPACITY);
            // Requests fit again.
            let mut more = 0;
            while backlog.bytes.capacity() > KEPT_CAPACITY {
                poll_fn(|context| {
                    if backlog.len() == 0 {
                        output.extend_from_slice(&[0; 4]);
                        more += 4;
                    }
                    backlog.flush(&socket, context, &mut output).unwrap();
                    Poll::Ready(())
                })
                .await;
                tokio::task::yield_now().await;
            }
            (largest, more)
        };
        let (received, (largest, more)) = tokio::join!(reader, writer);
        assert_eq!(received.len(), STEPS * STEP + more);
        let received = &received[..STEPS * STEP];
        let words = received
            .as_chunks::<4>()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word));
        assert!(words.eq(0..(STEPS * STEP / 4) as u32));
        assert!(largest <= 8 * FULL_LEN, "{largest}");
    }

    #[tokio::test]
    async fn a_broken_socket_leaves_nothing_for_the_next_client() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connecting = TcpStream::connect(listener.local_addr().unwrap());
        let (stream, accepted) = tokio::join!(connecting, listener.accept());
        let mut stream = stream.unwrap();
        let (peer, _) = accepted.unwrap();
        socket2::SockRef::from(&peer)
            .set_linger(Some(std::time::Duration::ZERO))
            .unwrap();
        // Closes the connection with a reset.
        drop(peer);
        let mut chunk = [0; 1];
        assert!(stream.read(&mut chunk).await.is_err());
        let socket = ConnectionSocket::from(stream);
        let mut backlog = Backlog::default();
        let mut output = vec![1; 100];
        let flushed =
            poll_fn(|context| Poll::Ready(backlog.flush(&socket, context, &mut output))).await;
        assert!(flushed.is_err());
        assert!(output.is_empty());
    }
}
