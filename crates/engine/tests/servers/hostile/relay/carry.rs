//! Carries the bytes of one connection, and applies the script to its answers.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use socket2::SockRef;

use super::{Answer, Attention, BLINK, Pace, Reaction, Shared, Then, framed};

/// Serves one connection until either side or the script ends it.
pub(super) fn carry(shared: &Shared, client: &TcpStream) {
    let Ok(server) = TcpStream::connect(shared.server) else {
        return;
    };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let gone = AtomicBool::new(false);
    thread::scope(|scope| {
        let upwards = (client.try_clone(), server.try_clone());
        let (Ok(client_up), Ok(server_up)) = upwards else {
            return;
        };
        let (gone, shared) = (&gone, &shared);
        scope.spawn(move || {
            carry_up(shared, client_up, server_up, || {
                gone.load(Ordering::Relaxed)
            });
        });
        let _ = carry_down(shared, &server, client);
        // Dropping the last owner closes or resets the connection.
        gone.store(true, Ordering::Relaxed);
        let _ = server.shutdown(Shutdown::Both);
    });
}

/// Carries all bytes from client to server.
fn carry_up(
    shared: &Shared,
    mut client: TcpStream,
    mut server: TcpStream,
    is_gone: impl Fn() -> bool,
) {
    let mut chunk = vec![0; 64 * 1024];
    let _ = match shared.attention {
        Attention::Drowsy => client.set_read_timeout(Some(BLINK)),
        // This is a setting of the socket, so it also applies to writes.
        Attention::Awake => client.set_nonblocking(true),
    };
    while !is_gone() {
        match client.read(&mut chunk) {
            Ok(0) => break,
            Ok(len) => {
                shared.asked.store(shared.age_ns(), Ordering::Relaxed);
                if server.write_all(&chunk[..len]).is_err() {
                    break;
                }
            }
            Err(error) if is_timeout(&error) => {}
            Err(_) => break,
        }
    }
    // When the client has gone, the server's side is closed as well.
    let _ = server.shutdown(Shutdown::Both);
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Carries messages from server to client, one by one.
fn carry_down(shared: &Shared, mut server: &TcpStream, client: &TcpStream) -> io::Result<()> {
    client.set_write_timeout(Some(BLINK))?;
    loop {
        let mut prefix = [0; 4];
        server.read_exact(&mut prefix)?;
        let mut message = vec![0; u32::from_be_bytes(prefix) as usize];
        server.read_exact(&mut message)?;
        if !shared.of.sees(&message) {
            send(shared, client, &framed(&message))?;
            continue;
        }
        let port = client.peer_addr()?.port();
        let nth = shared.seen.fetch_add(1, Ordering::Relaxed);
        let whole = framed(&message);
        let Reaction { bytes, pace, then } = (shared.script)(Answer { message, nth, port });
        if bytes.starts_with(&whole) || bytes.ends_with(&whole) {
            shared.genuine.fetch_add(1, Ordering::Relaxed);
        }
        match pace {
            Pace::AtOnce => send(shared, client, &bytes)?,
            Pace::ByteByByte => bytes
                .iter()
                .try_for_each(|&byte| send(shared, client, &[byte]))?,
            Pace::After(delay) => {
                shared.hold(delay);
                send(shared, client, &bytes)?;
            }
        }
        match then {
            Then::GoOn => {}
            Then::Freeze => return swallow(server),
            Then::ShutWrite => {
                client.shutdown(Shutdown::Write)?;
                return swallow(server);
            }
            Then::ShutRead => {
                client.shutdown(Shutdown::Read)?;
                return freeze(shared, client);
            }
            Then::Close => return Ok(()),
            Then::Reset => return SockRef::from(client).set_linger(Some(Duration::ZERO)),
            Then::Repeat(bytes) => loop {
                send(shared, client, &bytes)?;
            },
        }
    }
}

/// Continues to read until the client goes, so that the server notices nothing.
fn swallow(mut server: &TcpStream) -> io::Result<()> {
    io::copy(&mut server, &mut io::sink()).map(|_| ())
}

/// Waits until the relay ends, or until the socket reports an error. With the
/// reading side shut, only a write would show that the client has gone, and nothing
/// may be written.
fn freeze(shared: &Shared, client: &TcpStream) -> io::Result<()> {
    while !shared.is_over() && client.take_error()?.is_none() {
        thread::sleep(BLINK);
    }
    Ok(())
}

/// Writes all bytes, unless the relay ends: the client may have stopped reading.
fn send(shared: &Shared, mut client: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match client.write(bytes) {
            Ok(len) => bytes = &bytes[len..],
            Err(error) if is_timeout(&error) && !shared.is_over() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
