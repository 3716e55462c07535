//! Receives without the data that is not verified: the kernel drops the payloads of
//! large READs, so that they are never copied (`MSG_TRUNC`, tcp(7)).
//!
//! This takes one system call for the head of an answer and one more for its
//! payload, which is faster from a few pages on. Small answers arrive whole with
//! the first call.

use std::task::{Context, Poll, ready};

use rustix::net::RecvFlags;
use smbench_model::kind::Direction;
use smbench_model::plan::Plan;
use smbench_protocol::frame::Inbound;

use crate::drivers::dropped::{Dropped, received};
use crate::machine::socket::ConnectionSocket;

/// Bytes received before their kind is known: a whole answer to a READ of 4 KiB.
const HEAD_LEN: usize = 4096 + 256;
/// Minimum payload in bytes that is dropped instead of received.
const DROPPED_MIN: usize = 4096;
/// Minimum READ in bytes for which dropping is worthwhile.
const LARGE: u32 = 16 * 1024;

/// Returns whether a plan has READs with payloads large enough. WRITEs return no
/// payload; in a plan with both, they have the same sizes as READs.
pub(crate) fn is_worth_while(plan: &Plan) -> bool {
    let kinds = plan.only().workload.kinds();
    let mut directions = kinds.iter().filter_map(|kind| kind.direction());
    directions.any(|to| to == Direction::Read) && plan.largest_request() >= LARGE
}

/// Waits for bytes to process, or for the end of a dropped payload. In the second
/// case the number of bytes may be 0. `number` is that of the connection in its group.
pub(crate) fn receive(
    socket: &ConnectionSocket,
    number: usize,
    inbound: &mut Inbound,
    context: &mut Context<'_>,
    input: &mut [u8],
) -> Poll<Result<usize, Dropped>> {
    loop {
        let skippable = inbound.skippable();
        let (len, flags) = if skippable >= DROPPED_MIN {
            (skippable.min(input.len()), RecvFlags::TRUNC)
        } else if inbound.is_collecting() {
            (input.len(), RecvFlags::empty())
        } else {
            (HEAD_LEN.max(skippable), RecvFlags::empty())
        };
        let room = &mut input[..len];
        let received = received(ready!(socket.poll_receive(context, room, flags)), number)?;
        if flags.is_empty() {
            return Poll::Ready(Ok(received));
        }
        inbound.skip(received);
        if inbound.skippable() == 0 {
            return Poll::Ready(Ok(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::profile::Profile;
    use smbench_model::target::Target;

    use super::*;

    #[test]
    fn only_large_reads_are_worth_a_second_call() {
        for (read_percent, size, worth_while) in [
            (100, "64KiB", true),
            (1, "64KiB", true),
            (100, "4KiB", false),
            (0, "64KiB", false),
        ] {
            let text = format!(
                "read_percent = {read_percent}\n[files]\nsize = \"1MiB\"\n[[sizes]]\nsize = \"{size}\"\nweight = 100\n"
            );
            let profile = Profile::parse("here", &text).unwrap();
            let plan = Plan::of(&profile, Target::none()).unwrap();
            assert_eq!(is_worth_while(&plan), worth_while, "{text}");
        }
    }
}
