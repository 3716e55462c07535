//! Names in a trace. A name that contains `client1` is a client's own. Client
//! number n (from 1) uses `clientn` in its place, as dbench does.

use smbench_protocol::command::WireName;

/// The text that stands for a client's name, in upper or lower case.
const CLIENT: &str = "client1";
/// The longest name in UTF-16 units. It is far longer than servers accept, and
/// still leaves room in a request for the path of the run's directory.
const UNITS_MAX: usize = 8192;

/// A name with a gap for a client's number.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The pieces of the name. The number goes between each two of them.
    pieces: Box<[WireName]>,
}

impl Template {
    /// Makes a template from a name that [`clean`] has checked.
    pub(super) fn new(name: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = name;
        while let Some(at) = find_client(rest) {
            let end = at + CLIENT.len();
            pieces.push(&rest[..end - 1]);
            rest = &rest[end..];
        }
        pieces.push(rest);
        Self::of_pieces(&pieces)
    }

    fn of_pieces(pieces: &[&str]) -> Self {
        let encode = |piece: &&str| {
            WireName::new(piece).unwrap_or_else(|_| unreachable!("its length has been looked at"))
        };
        Self {
            pieces: pieces.iter().map(encode).collect(),
        }
    }

    /// Makes a template from a name that [`clean`] has checked. Only a first part
    /// `client1` has a gap.
    pub(super) fn below_client(name: &str) -> Self {
        let end = CLIENT.len();
        match name.strip_prefix(CLIENT) {
            Some(rest) if rest.is_empty() || rest.starts_with('\\') => {
                Self::of_pieces(&[&name[..end - 1], rest])
            }
            _ => Self::of_pieces(&[name]),
        }
    }

    /// Whether each client has a name of its own.
    #[must_use]
    pub const fn is_own(&self) -> bool {
        self.pieces.len() > 1
    }

    /// Returns the parts of the name for the client with this number, below `root`.
    pub fn parts<'a>(
        &'a self,
        root: &'a WireName,
        number: &'a WireName,
    ) -> impl Iterator<Item = &'a WireName> + Clone {
        std::iter::once(root).chain(self.pattern(number))
    }

    /// Returns the parts of the name for the client with this number, without a
    /// root.
    pub fn pattern<'a>(
        &'a self,
        number: &'a WireName,
    ) -> impl Iterator<Item = &'a WireName> + Clone {
        let first = self.pieces.first().into_iter();
        let others = self.pieces.iter().skip(1);
        first.chain(others.flat_map(move |piece| [number, piece]))
    }

    /// Returns the name as text, for the client with this number from 0.
    pub fn display(&self, client: u32) -> String {
        let number = (u64::from(client) + 1).to_string();
        let pieces: Vec<_> = self.pieces.iter().map(ToString::to_string).collect();
        pieces.join(&number)
    }
}

fn find_client(name: &str) -> Option<usize> {
    let (name, client) = (name.as_bytes(), CLIENT.as_bytes());
    name.windows(client.len())
        .position(|window| window.eq_ignore_ascii_case(client))
}

/// Returns the name below the directory of the run, or why it is not valid.
pub(super) fn clean(name: &str) -> Result<String, &'static str> {
    let parts: Vec<_> = name
        .split(['\\', '/'])
        .filter(|part| !part.is_empty())
        .collect();
    if parts.iter().any(|part| matches!(*part, "." | "..")) {
        return Err("has a part that is `.` or `..`, which could lead out of the run's directory");
    }
    if name.chars().any(|char| char < ' ') {
        return Err("has a control character in it");
    }
    let clean = parts.join("\\");
    if clean.encode_utf16().count() <= UNITS_MAX {
        Ok(clean)
    } else {
        Err("is too long for a name")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_gets_names_of_its_own() {
        for (name, of_7, own) in [
            (r"clients\client1\a.txt", r"clients\client7\a.txt", true),
            (r"CLIENTS\CLIENT1\A", r"CLIENTS\CLIENT7\A", true),
            // dbench replaces these in the same way.
            (r"client10", r"client70", true),
            (r"client1client1", r"client7client7", true),
            (r"clients\common", r"clients\common", false),
            ("", "", false),
        ] {
            let template = Template::new(name);
            assert_eq!(template.display(6), of_7);
            assert_eq!(template.is_own(), own);
            let (root, number) = (WireName::new("r\\").unwrap(), WireName::new("7").unwrap());
            let mut wire = WireName::default();
            wire.set_joined(template.parts(&root, &number)).unwrap();
            assert_eq!(wire.to_string(), format!("r\\{of_7}"));
        }
    }

    #[test]
    fn names_stay_below_the_run() {
        assert_eq!(clean(r"\\a//b\c\").unwrap(), r"a\b\c");
        assert_eq!(clean(r"\").unwrap(), "");
        assert_eq!(clean(r"\a..b\...\c").unwrap(), r"a..b\...\c");
        for bad in [r"\..\x", r"a\.\b", "..", "a\tb", "a\0"] {
            assert!(clean(bad).is_err(), "{bad:?}");
        }
        assert!(clean(&"x".repeat(UNITS_MAX)).is_ok());
        assert!(clean(&"x".repeat(UNITS_MAX + 1)).is_err());
    }
}
