//! One line of the text that exporters of metrics answer with (Prometheus text format 0.0.4).
//! The text is untrusted. Not here: which metrics are read, and what they mean.

/// The labels and the value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MetricSample {
    labels: Vec<(String, String)>,
    /// 0 or more, and finite.
    pub(super) value: f64,
}

impl MetricSample {
    /// Reads what follows the name of a metric and its brace:
    /// `cpu="0",mode="idle"} 12.5`, with or without a time stamp at the end.
    pub(super) fn labelled(rest: &str) -> Option<Self> {
        let mut found = Vec::new();
        let mut labels = rest;
        let value = loop {
            labels = labels.trim_start();
            if let Some(value) = labels.strip_prefix('}') {
                break value;
            }
            let (name, rest) = labels.split_once('=')?;
            let (value, rest) = quoted(rest.trim_start())?;
            found.push((name.trim_end().to_owned(), value));
            // The last label may also be followed by a comma.
            let rest = rest.trim_start();
            labels = match rest.strip_prefix(',') {
                Some(rest) => rest,
                None if rest.starts_with('}') => rest,
                None => return None,
            };
        };
        let value = number(value)?;
        Some(Self {
            labels: found,
            value,
        })
    }

    /// Reads a line with or without labels, and returns the name of the metric before the
    /// sample. `None` for comments and for what is no sample.
    pub(super) fn of_line(line: &str) -> Option<(&str, Self)> {
        let line = line.trim_start();
        if line.starts_with('#') {
            return None;
        }
        if let Some((name, rest)) = line.split_once('{') {
            return Some((name.trim(), Self::labelled(rest)?));
        }
        let (name, rest) = line.split_once(char::is_whitespace)?;
        let sample = Self {
            labels: Vec::new(),
            value: number(rest)?,
        };
        Some((name, sample))
    }

    /// Returns the value of a label; the last one, if there are several.
    pub(super) fn label(&self, name: &str) -> Option<String> {
        let mut labels = self.labels.iter().rev();
        let (_, value) = labels.find(|(label, _)| label == name)?;
        Some(value.clone())
    }
}

fn number(text: &str) -> Option<f64> {
    let value: f64 = text.split_whitespace().next()?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// Returns the text in the quotes that `text` begins with, and the rest after them.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut chars = text.strip_prefix('"')?.chars();
    let mut value = String::new();
    loop {
        match chars.next()? {
            '"' => return Some((value, chars.as_str())),
            '\\' => value.push(match chars.next()? {
                'n' => '\n',
                escaped @ ('\\' | '"') => escaped,
                _ => return None,
            }),
            c => value.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_name_with_labels_and_a_value() {
        let (name, sample) =
            MetricSample::of_line(r#"a_total { x="1", y="\"b\"", } 2.5 17"#).unwrap();
        assert_eq!((name, sample.value), ("a_total", 2.5));
        assert_eq!(sample.label("y").as_deref(), Some("\"b\""));
        assert_eq!(sample.label("z"), None);
        let (name, sample) = MetricSample::of_line("sessions 7").unwrap();
        assert_eq!((name, sample.value), ("sessions", 7.0));
        for wrong in [
            "# TYPE a counter",
            "",
            "a",
            "a NaN",
            "a -1",
            "a{x=1} 2",
            "a{x=\"1\" 2",
        ] {
            assert_eq!(MetricSample::of_line(wrong), None, "{wrong}");
        }
    }
}
