//! Lines that fit a terminal.

/// Width of the terminal that texts are made for.
const COLUMNS: usize = 100;

/// Breaks a line between words if it is wider than a terminal, and indents the
/// following lines. Ends with a newline.
#[must_use]
pub fn wrapped(line: &str) -> String {
    let mut text = String::new();
    let mut used = 0;
    for word in line.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > COLUMNS {
            text += "\n ";
            used = 1;
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
    }
}
