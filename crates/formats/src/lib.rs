//! Reads profiles and files of other programs into values of
//! [`smbench_model`].
//!
//! * [`profile`] finds a profile: a built-in one, a file, or a loadfile.
//! * [`loadfile`] reads a loadfile of dbench as a trace.
//! * [`iometer`] reads a test setup of Iometer as profiles.
//! * [`named`] says what a wrong name may mean.
//! * [`shape`] reads and writes the shape of a tree.
//! * [`netbench`] generates a trace from the statistics of NetBench captures.

pub mod iometer;
pub mod loadfile;
pub mod named;
pub mod netbench;
pub mod profile;
pub mod shape;
