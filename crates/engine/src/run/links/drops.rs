//! Receiving without what nobody looks at: the kernel drops the payloads of
//! large READs, so that they are never copied (`MSG_TRUNC`, tcp(7)).
//!
//! It takes one call for the head of an answer and one more for its payload,
//! which pays from a few pages on; small answers still come whole with the
//! first.

use std::task::{Context, Poll, ready};

use rustix::net::RecvFlags;

use super::receive as receive_all;
use crate::plan::Plan;
use crate::record::Direction;
use crate::run::operation::Dropped;
use crate::session::Session;
use crate::socket;

/// Bytes received before it is known what they are: an answer to a READ of
/// 4 KiB, whole.
const HEAD_LEN: usize = 4096 + 256;
/// Payloads from here on are dropped rather than received.
const DROPPED_MIN: usize = 4096;
/// READs from here on make that worth while.
const LARGE: u32 = 16 * 1024;

/// Whether a plan has payloads of READs large enough. WRITEs, whose sizes are
/// those of READs where there are both, bring none.
pub(in crate::run) fn is_worth_while(plan: &Plan) -> bool {
    let kinds = plan.workload.kinds();
    let mut directions = kinds.iter().filter_map(|kind| kind.direction());
    directions.any(|to| to == Direction::Read) && plan.largest_request() >= LARGE
}

/// Waits for bytes that somebody looks at, or for the end of a payload that
/// nobody does; then there may be none.
pub(super) fn receive(
    session: &mut Session,
    context: &mut Context<'_>,
    input: &mut [u8],
) -> Poll<Result<usize, Dropped>> {
    loop {
        let skippable = session.inbound.skippable();
        if skippable < DROPPED_MIN {
            let len = match session.inbound.is_collecting() {
                true => input.len(),
                false => HEAD_LEN.max(skippable),
            };
            return receive_all(session, context, &mut input[..len]);
        }
        let wanted = skippable.min(input.len());
        let skipped = ready!(skip(session, context, &mut input[..wanted]))?;
        session.inbound.skip(skipped);
        if session.inbound.skippable() == 0 {
            return Poll::Ready(Ok(0));
        }
    }
}

/// Waits for bytes and drops as many as fit into `room`, which stays as it is.
fn skip(
    session: &Session,
    context: &mut Context<'_>,
    room: &mut [u8],
) -> Poll<Result<usize, Dropped>> {
    let skipped = socket::poll_receive(&session.stream, context, room, RecvFlags::TRUNC);
    Poll::Ready(match ready!(skipped)? {
        0 => Err(Dropped::Closed),
        len => Ok(len),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::target::Target;

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
