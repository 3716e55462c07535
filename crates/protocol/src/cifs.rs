//! CIFS, which is SMB1 with the dialect "NT LM 0.12" (MS-CIFS, MS-SMB).
//!
//! Only Unicode strings and NTSTATUS codes are spoken.

pub mod command;
