//! The codecs against captured traffic, against smb-rs's, and against whatever
//! bytes there may be.

#[macro_use]
mod support;

mod differential;
mod golden;
mod roundtrip;
