//! `sysbench fileio`: [`smbench_model::fileio`] and the making of its files.

pub use smbench_model::fileio::*;

pub use crate::prepared::{prepare, remove};
