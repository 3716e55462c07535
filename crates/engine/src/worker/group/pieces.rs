//! Sends the operations that are larger than a request.

use super::Group;
use super::fill::Filled;
use crate::drivers::driver::{Busy, Call, Driver, Scratch};
use crate::worker::booking::Clients;
use crate::worker::member::Member;
use crate::worker::split::Splits;
use crate::worker::supply::Supply;

/// Submits an operation; if it is larger than a request, its first piece.
pub(super) fn begin<D: Driver, S: Supply>(
    driver: &mut D,
    splits: &mut Splits,
    member: &mut Member<S>,
    call: &Call,
    scratch: &mut Scratch,
) -> Result<(), Busy> {
    let Call {
        slot, operation, ..
    } = *call;
    let request_max = member.operations.request_max(operation.kind);
    if operation.length <= request_max {
        driver.submit(call, scratch, |out| member.write_data(&operation, out))?;
        splits.are_first = true;
        return Ok(());
    }
    let (number, first) = Splits::first(slot, &operation, request_max);
    let piece = Call {
        slot: number,
        operation: first,
        ..*call
    };
    let mut stamp = None;
    driver.submit(&piece, scratch, |out| {
        let new = member.stamp(&operation);
        member.write_stamped(&first, new, out);
        stamp = Some(new);
    })?;
    splits.begin(slot, &operation, request_max, stamp.unwrap_or_default());
    Ok(())
}

impl<D: Driver, S: Supply> Group<D, S> {
    /// Sends further pieces, until none is left, credits run out, or the driver has no room.
    pub(super) fn send_pieces(&mut self, scratch: &mut Scratch) -> Filled {
        let Clients {
            members,
            slots,
            splits: Some(splits),
            ..
        } = &mut self.clients
        else {
            return Filled::AsPlanned;
        };
        splits.lack_credits = false;
        let mut queued = splits.queued();
        while queued > 0
            && let Some(slot) = splits.front()
        {
            let of_slot = &slots[slot as usize];
            let Some((number, operation)) = splits.next(slot, &of_slot.operation) else {
                splits.pop();
                queued -= 1;
                continue;
            };
            if !self.driver.has_room(scratch) {
                return Filled::UpToBacklog;
            }
            let piece = Call {
                slot: number,
                member: of_slot.member,
                operation,
            };
            let (member, stamp) = (&members[of_slot.member], splits.stamp(slot));
            let submitted = self.driver.submit(&piece, scratch, |out| {
                member.write_stamped(&operation, stamp, out);
            });
            match submitted {
                Ok(()) => {
                    splits.sent(slot);
                    splits.are_first = false;
                }
                Err(Busy::Credits) => {
                    splits.lack_credits = true;
                    return Filled::AsPlanned;
                }
                Err(Busy::Room) => return Filled::UpToBacklog,
                Err(Busy::Session | Busy::Link | Busy::Earlier | Busy::Others | Busy::Over) => {
                    splits.pass_over();
                    queued -= 1;
                }
            }
        }
        Filled::AsPlanned
    }
}
