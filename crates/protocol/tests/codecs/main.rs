//! Tests of the codecs against captured traffic, against smb-rs's codecs, and
//! with arbitrary bytes.

#[macro_use]
mod support;

mod differential;
mod golden;
mod roundtrip;
