//! Conversion of access specifications to profiles of smbench.

use std::fmt::Write as _;

use smbench_model::spec::PatternSpec;
use smbench_model::units::{Size, format_duration};

use super::{AccessSpec, FILE_BYTES, IometerConfig};

/// A profile made from an access specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The name of the profile, also in results.
    pub name: String,
    /// The name of the access specification.
    pub spec: String,
    /// The TOML text of the profile.
    pub toml: String,
}

/// Quotes a text for TOML. Control characters are removed; no configuration needs
/// them.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars().filter(|c| !c.is_control()) {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

impl IometerConfig {
    /// Returns a profile for each access specification. If the test cycles
    /// outstanding requests, it has one profile for each number of them. `origin`
    /// is the imported file.
    #[must_use]
    pub fn profiles(&self, origin: &str) -> Vec<Imported> {
        let depths: Vec<Option<u32>> = match &self.setup.outstanding[..] {
            [] => vec![None],
            some => some.iter().copied().map(Some).collect(),
        };
        let cycles = depths.len() > 1;
        let of_spec = |spec| depths.iter().map(move |&depth| (spec, depth));
        let all = self.specs.iter().flat_map(of_spec);
        all.map(|(spec, depth)| {
            let name = match depth {
                Some(depth) if cycles => format!("{}, {depth} outstanding", spec.name),
                _ => spec.name.clone(),
            };
            Imported {
                toml: self.toml(spec, &name, depth, origin),
                name,
                spec: spec.name.clone(),
            }
        })
        .collect()
    }

    fn toml(&self, spec: &AccessSpec, name: &str, depth: Option<u32>, origin: &str) -> String {
        let lines = spec.lines.iter();
        let sizes = lines.flat_map(|line| [Some(line.size), line.reply]);
        let largest = sizes.flatten().max().unwrap_or_default();
        let file = self.setup.file_size.unwrap_or(Size(FILE_BYTES));
        let file = file.max(largest);
        let described = format!(
            "access specification of Iometer, line {} of {origin}",
            spec.line
        );
        let mut text = format!(
            "name = {}\ndescription = {}\n\n[files]\nsize = {}\n",
            quoted(name),
            quoted(&described),
            size(file)
        );
        for line in &spec.lines {
            text += &table(line);
        }
        text += "\n[run]\n";
        let setup = &self.setup;
        let mut option = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{name} = {value}");
            }
        };
        let time = |time| quoted(&format_duration(time));
        option("clients", setup.clients().map(|clients| quoted(&clients)));
        option("outstanding", depth.map(|depth| depth.to_string()));
        option("duration", setup.run_time.map(time));
        option("ramp_up", setup.ramp_up.map(time));
        // Integers in TOML are limited to i64.
        let seed = setup.seed.filter(|&seed| i64::try_from(seed).is_ok());
        option("seed", seed.map(|seed| seed.to_string()));
        text
    }
}

fn size(size: Size) -> String {
    quoted(&format!("{size:#}"))
}

fn table(line: &PatternSpec) -> String {
    let mut text = format!(
        "\n[[pattern]]\nsize = {}\nweight = {}\nreads = {}\nrandom = {}\n",
        size(line.size),
        line.weight,
        line.reads,
        line.random
    );
    let delay = line.delay.map(|delay| quoted(&format_duration(delay)));
    for (name, value) in [
        ("delay", delay),
        ("burst", line.burst.map(|burst| burst.to_string())),
        ("align", line.align.map(size)),
        ("reply", line.reply.map(size)),
    ] {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name} = {value}");
        }
    }
    text
}
