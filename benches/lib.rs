//! The benches of smbench; see the files beside this one.
