//! The upper case of names, as servers compute it.
//!
//! A log-on proves the upper case of the user's name, so it fails if the server has another
//! one. Servers map letter by letter, and know fewer letters than Unicode has today: dotless
//! i, long s, the micro sign, letters beyond the first plane and younger alphabets stay. The
//! table is that of Samba and smbclient.

/// First and last letter of a run, the step between its letters, and the upper case of the
/// first one. The distance is the same in the whole run.
type LetterRun = (u16, u16, u16, u16);

#[rustfmt::skip]
const RUNS: [LetterRun; 88] = [
    (0x0061, 0x007a, 1, 0x0041),
    (0x00e0, 0x00f6, 1, 0x00c0),
    (0x00f8, 0x00fe, 1, 0x00d8),
    (0x00ff, 0x00ff, 1, 0x0178),
    (0x0101, 0x012f, 2, 0x0100),
    (0x0133, 0x0137, 2, 0x0132),
    (0x013a, 0x0148, 2, 0x0139),
    (0x014b, 0x0177, 2, 0x014a),
    (0x017a, 0x017e, 2, 0x0179),
    (0x0183, 0x0185, 2, 0x0182),
    (0x0188, 0x0188, 1, 0x0187),
    (0x018c, 0x018c, 1, 0x018b),
    (0x0192, 0x0192, 1, 0x0191),
    (0x0199, 0x0199, 1, 0x0198),
    (0x01a1, 0x01a5, 2, 0x01a0),
    (0x01a8, 0x01a8, 1, 0x01a7),
    (0x01ad, 0x01ad, 1, 0x01ac),
    (0x01b0, 0x01b0, 1, 0x01af),
    (0x01b4, 0x01b6, 2, 0x01b3),
    (0x01b9, 0x01b9, 1, 0x01b8),
    (0x01bd, 0x01bd, 1, 0x01bc),
    (0x01c6, 0x01c6, 1, 0x01c4),
    (0x01c9, 0x01c9, 1, 0x01c7),
    (0x01cc, 0x01cc, 1, 0x01ca),
    (0x01ce, 0x01dc, 2, 0x01cd),
    (0x01dd, 0x01dd, 1, 0x018e),
    (0x01df, 0x01ef, 2, 0x01de),
    (0x01f3, 0x01f3, 1, 0x01f1),
    (0x01f5, 0x01f5, 1, 0x01f4),
    (0x01fb, 0x0217, 2, 0x01fa),
    (0x0253, 0x0253, 1, 0x0181),
    (0x0254, 0x0254, 1, 0x0186),
    (0x0256, 0x0257, 1, 0x0189),
    (0x0259, 0x0259, 1, 0x018f),
    (0x025b, 0x025b, 1, 0x0190),
    (0x0260, 0x0260, 1, 0x0193),
    (0x0263, 0x0263, 1, 0x0194),
    (0x0268, 0x0268, 1, 0x0197),
    (0x0269, 0x0269, 1, 0x0196),
    (0x026f, 0x026f, 1, 0x019c),
    (0x0272, 0x0272, 1, 0x019d),
    (0x0275, 0x0275, 1, 0x019f),
    (0x0283, 0x0283, 1, 0x01a9),
    (0x0288, 0x0288, 1, 0x01ae),
    (0x028a, 0x028b, 1, 0x01b1),
    (0x0292, 0x0292, 1, 0x01b7),
    (0x03ac, 0x03ac, 1, 0x0386),
    (0x03ad, 0x03af, 1, 0x0388),
    (0x03b1, 0x03c1, 1, 0x0391),
    (0x03c2, 0x03c2, 1, 0x03a3),
    (0x03c3, 0x03cb, 1, 0x03a3),
    (0x03cc, 0x03cc, 1, 0x038c),
    (0x03cd, 0x03ce, 1, 0x038e),
    (0x03e3, 0x03ef, 2, 0x03e2),
    (0x0430, 0x044f, 1, 0x0410),
    (0x0451, 0x045c, 1, 0x0401),
    (0x045e, 0x045f, 1, 0x040e),
    (0x0461, 0x0481, 2, 0x0460),
    (0x0491, 0x04bf, 2, 0x0490),
    (0x04c2, 0x04c4, 2, 0x04c1),
    (0x04c8, 0x04c8, 1, 0x04c7),
    (0x04cc, 0x04cc, 1, 0x04cb),
    (0x04d1, 0x04eb, 2, 0x04d0),
    (0x04ef, 0x04f5, 2, 0x04ee),
    (0x04f9, 0x04f9, 1, 0x04f8),
    (0x0561, 0x0586, 1, 0x0531),
    (0x1e01, 0x1e95, 2, 0x1e00),
    (0x1ea1, 0x1ef9, 2, 0x1ea0),
    (0x1f00, 0x1f07, 1, 0x1f08),
    (0x1f10, 0x1f15, 1, 0x1f18),
    (0x1f20, 0x1f27, 1, 0x1f28),
    (0x1f30, 0x1f37, 1, 0x1f38),
    (0x1f40, 0x1f45, 1, 0x1f48),
    (0x1f51, 0x1f57, 2, 0x1f59),
    (0x1f60, 0x1f67, 1, 0x1f68),
    (0x1f70, 0x1f71, 1, 0x1fba),
    (0x1f72, 0x1f75, 1, 0x1fc8),
    (0x1f76, 0x1f77, 1, 0x1fda),
    (0x1f78, 0x1f79, 1, 0x1ff8),
    (0x1f7a, 0x1f7b, 1, 0x1fea),
    (0x1f7c, 0x1f7d, 1, 0x1ffa),
    (0x1fb0, 0x1fb1, 1, 0x1fb8),
    (0x1fd0, 0x1fd1, 1, 0x1fd8),
    (0x1fe0, 0x1fe1, 1, 0x1fe8),
    (0x1fe5, 0x1fe5, 1, 0x1fec),
    (0x2170, 0x217f, 1, 0x2160),
    (0x24d0, 0x24e9, 1, 0x24b6),
    (0xff41, 0xff5a, 1, 0xff21),
];

/// Returns the upper case of a name.
pub(crate) fn upper(name: &str) -> String {
    name.chars().map(letter).collect()
}

fn letter(letter: char) -> char {
    let Ok(code) = u16::try_from(u32::from(letter)) else {
        return letter;
    };
    let run = RUNS.partition_point(|run| run.1 < code);
    match RUNS.get(run) {
        Some(&(first, _, step, upper)) if code >= first && (code - first) % step == 0 => {
            let upper = u32::from(upper) + u32::from(code - first);
            char::from_u32(upper).unwrap_or(letter)
        }
        _ => letter,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use smbench_lab::{Tool, require};

    use super::*;

    #[test]
    fn letters_whose_upper_case_servers_do_not_know_stay() {
        for stays in [
            "\u{b5}",
            "\u{df}",
            "\u{131}",
            "\u{17f}",
            "\u{219}",
            "\u{10d0}",
            "\u{10428}",
        ] {
            assert_eq!(upper(stays), stays);
        }
        assert_eq!(
            upper("a\u{e9}\u{ff}\u{101}\u{102}\u{3c2}\u{1f71}"),
            "A\u{c9}\u{178}\u{100}\u{102}\u{3a3}\u{1fbb}"
        );
    }

    /// Prints the upper case of each letter, by the library that smbclient uses.
    const SAMBA: &str = r#"
import ctypes
library = ctypes.CDLL("libsamba-util.so.0")
library.toupper_m.restype = ctypes.c_uint32
for code in range(0x11000):
    print(library.toupper_m(code))
"#;

    #[test]
    fn every_letter_has_the_upper_case_of_smbclient() {
        let tools = [
            Tool::new("smbclient", "smbclient"),
            Tool::new("python3", "python3"),
        ];
        if let Err(skip) = require(&tools) {
            eprintln!("{skip}");
            return;
        }
        let printed = Command::new("python3")
            .args(["-c", SAMBA])
            .output()
            .unwrap();
        let printed = String::from_utf8(printed.stdout).unwrap();
        let mut compared = 0;
        for (code, line) in (0..).zip(printed.lines()) {
            let Some(own) = char::from_u32(code) else {
                continue;
            };
            assert_eq!(u32::from(letter(own)).to_string(), line, "{code:#x}");
            compared += 1;
        }
        assert_eq!(compared, 0x11000 - 0x800);
    }
}
