//! The flags of READ and WRITE requests.

use smbench_model::action::Action;
use smbench_model::operations::Operation;
use smbench_protocol::command::read::read_flags;
use smbench_protocol::command::write::write_flags;

use super::MixEncoder;
use crate::drivers::native::state::GroupState;

impl GroupState<MixEncoder> {
    pub(super) fn read_flags(&self, operation: &Operation) -> u8 {
        match self.encoder.mix.action(operation) {
            Action::Read { unbuffered: true } => read_flags::UNBUFFERED,
            _ => 0,
        }
    }

    pub(super) fn write_flags(&self, operation: &Operation) -> u32 {
        let Action::Write {
            write_through,
            unbuffered,
        } = self.encoder.mix.action(operation)
        else {
            return 0;
        };
        let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
        flag(*write_through, write_flags::WRITE_THROUGH)
            | flag(*unbuffered, write_flags::UNBUFFERED)
    }
}
