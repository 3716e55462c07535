//! Exit codes of the command. Not here: what deserves which ([`smbench_runner::failure`]).

use crate::failure::Exit;

/// Returns the exit code that scripts rely on.
pub(crate) const fn code(exit: Exit) -> u8 {
    match exit {
        Exit::Done => 0,
        Exit::Failed => 1,
        // What `git bisect run` passes over.
        Exit::CannotTell => 125,
        Exit::Usage => 2,
        Exit::Setup => 3,
        Exit::Invalid => 4,
        // The shell's convention for SIGINT.
        Exit::Interrupted => 130,
    }
}
