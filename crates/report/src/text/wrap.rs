//! Lines that fit a terminal.

/// Width of the terminal that texts are made for.
const COLUMNS: usize = 100;

/// Breaks a line between words if it is wider than a terminal, and indents the
/// following lines. Ends with a newline.
#[must_use]
pub fn wrapped(line: &str) -> String {
    wrapped_to(COLUMNS, 2, line)
}

/// Breaks each line that is wider than a terminal, and indents its following lines by this
/// many spaces. Keeps the spaces of lines that fit.
pub(super) fn wrapped_lines(text: &str, indent: usize) -> String {
    text.lines()
        .map(|line| {
            if line.chars().count() <= COLUMNS {
                format!("{line}\n")
            } else {
                wrapped_to(COLUMNS, indent, line)
            }
        })
        .collect()
}

/// Breaks a line at this width, and indents the following lines by this many spaces.
/// Keeps a number and its unit together. Ends with a newline.
#[must_use]
pub fn wrapped_to(columns: usize, indent: usize, line: &str) -> String {
    let mut text = String::new();
    let mut used = 0;
    for word in words(line) {
        let length = word.chars().count();
        if used > indent && used + 1 + length > columns {
            text += "\n";
            text += &" ".repeat(indent - 1);
            used = indent - 1;
        }
        if used > 0 {
            text.push(' ');
            used += 1;
        }
        text += word;
        used += length;
    }
    text + "\n"
}

/// Splits a line at its spaces, but not before a unit.
fn words(line: &str) -> Vec<&str> {
    const UNITS: [&str; 8] = ["%", "s", "ms", "us", "ns", "Mbit/s", "MB/s", "ops/s"];
    let is_unit = |text: &str| {
        let word = text.split(' ').next().unwrap_or_default();
        UNITS.contains(&word.trim_end_matches([',', ';', ')', '.']))
    };
    let mut words = Vec::new();
    let mut from = 0;
    for (at, _) in line.match_indices(' ') {
        if !is_unit(&line[at + 1..]) {
            words.push(&line[from..at]);
            from = at + 1;
        }
    }
    words.push(&line[from..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_where_they_are_too_long() {
        assert_eq!(wrapped("short"), "short\n");
        assert_eq!(wrapped(""), "\n");
        let long = [
            "x".repeat(60),
            "y".repeat(39),
            "z".repeat(120),
            "end".to_owned(),
        ];
        let broken = format!("{} {}\n  {}\n  end\n", long[0], long[1], long[2]);
        assert_eq!(wrapped(&long.join(" ")), broken);
        let lines = format!("label    text\n{}\n", long.join(" "));
        assert_eq!(wrapped_lines(&lines, 2), format!("label    text\n{broken}"));
        let broken = "p99\n  2.00 ms;\n  9 %\n";
        assert_eq!(wrapped_to(10, 2, "p99 2.00 ms; 9 %"), broken);
    }
}
