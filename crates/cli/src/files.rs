//! Texts that the user wants in a file or on standard output.

use std::{fs, io};

use smbench_report::{RunDoc, write_csv};

use crate::args::Destination;
use crate::failure::Failure;
use crate::output::print;

/// Writes a text to a file, or to standard output.
pub(crate) fn write(to: &Destination, text: &str) -> Result<(), Failure> {
    match to {
        Destination::Stdout => print(text),
        Destination::File(path) => fs::write(path, text).map_err(Failure::write(path)),
    }
}

/// Writes the load points as CSV.
pub(crate) fn save_csv(doc: &RunDoc, to: &Destination) -> Result<(), Failure> {
    let mut csv = Vec::new();
    let to_text = |error| Failure::io("write CSV")(io::Error::other(error));
    write_csv(doc, &mut csv).map_err(to_text)?;
    write(to, &String::from_utf8_lossy(&csv))
}
