//! Names of servers in sentences, so that what holds for several is said once.

use itertools::Itertools as _;

/// Joins names by commas, or by semicolons if a name has a comma itself.
#[must_use]
pub fn listed(names: &[&str]) -> String {
    let separator = if names.iter().any(|name| name.contains(',')) {
        "; "
    } else {
        ", "
    };
    names.join(separator)
}

/// Returns each line once, after the names that it is said of: `a, b: line`. Of all of
/// `servers`, it is `all servers: line`.
pub fn said_once<'a>(
    lines: impl IntoIterator<Item = (&'a str, String)>,
    servers: usize,
) -> Vec<String> {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, line) in lines {
        match said.iter_mut().find(|(known, _)| *known == line) {
            Some((_, names)) => names.push(name),
            None => said.push((line, vec![name])),
        }
    }
    let text = |(line, names): (String, Vec<&str>)| {
        let names = names.into_iter().unique().collect_vec();
        match names.len() {
            several if several > 1 && several == servers => format!("all servers: {line}"),
            _ => format!("{}: {line}", listed(&names)),
        }
    };
    said.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_for_several_servers_is_said_once() {
        let lines = || {
            [("a", "late"), ("a", "short"), ("b", "late")].map(|(name, line)| (name, line.into()))
        };
        assert_eq!(said_once(lines(), 3), ["a, b: late", "a: short"]);
        assert_eq!(said_once(lines(), 2), ["all servers: late", "a: short"]);
        assert_eq!(said_once([("a", "late".into())], 1), ["a: late"]);
    }

    #[test]
    fn names_with_commas_are_kept_apart() {
        assert_eq!(listed(&["a", "b"]), "a, b");
        assert_eq!(listed(&["a, fast", "b"]), "a, fast; b");
    }
}
