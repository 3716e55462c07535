//! Reads profiles and files of other programs into values of
//! [`smbench_model`].
//!
//! * [`profile`] finds a profile: a built-in one, a file, or a loadfile.
//! * [`loadfile`] reads a loadfile of dbench as a trace.
//! * [`iometer`] reads a test setup of Iometer as profiles.

pub mod iometer;
pub mod loadfile;
pub mod profile;
