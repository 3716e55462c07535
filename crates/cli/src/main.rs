//! The `smbench` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    smbench::command::main()
}
