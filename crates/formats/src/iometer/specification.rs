//! The section of access specifications.

use std::time::Duration;

use smbench_model::access::PATTERN_LINES_MAX;
use smbench_model::bounds::OPERATION_BYTES_MAX;
use smbench_model::load::THINK_TIME_MAX;
use smbench_model::spec::PatternSpec;
use smbench_model::units::Size;

use super::lines::{IcfLines, LineProblem, begins};
use super::{AccessSpec, IometerConfig, PROFILES_MAX};

/// The names of the columns in a file. Old files do not have the last two.
const COLUMNS: [&str; 8] = [
    "size",
    "% of size",
    "% reads",
    "% random",
    "delay",
    "burst",
    "align",
    "reply",
];
const COLUMNS_MIN: usize = 6;
const NAME: &str = "'Access specification name,default assignment";
const SECTION: &str = "'ACCESS SPECIFICATIONS";

pub(super) fn section(lines: &mut IcfLines, config: &mut IometerConfig) -> Result<(), LineProblem> {
    loop {
        let (at, text) = lines.within(SECTION)?;
        if begins(&text, "'END access specifications") {
            return Ok(());
        }
        if !begins(&text, NAME) {
            let reason = format!("`{text}` is no part of an access specification: expected {NAME}");
            return Err(LineProblem::at(at, reason));
        }
        let spec = specification(lines)?;
        // As in Iometer, a later specification replaces an earlier one of the same
        // name.
        let count = config.specs.len();
        let mut specs = config.specs.iter_mut();
        match specs.find(|earlier| earlier.name.eq_ignore_ascii_case(&spec.name)) {
            Some(earlier) => *earlier = spec,
            None if count == PROFILES_MAX => {
                let reason = format!("more than {PROFILES_MAX} access specifications");
                return Err(LineProblem::at(spec.line, reason));
            }
            None => config.specs.push(spec),
        }
    }
}

fn specification(lines: &mut IcfLines) -> Result<AccessSpec, LineProblem> {
    let (line, text) = lines.within(SECTION)?;
    let name = text.split(',').next().unwrap_or_default().trim().to_owned();
    if name.is_empty() || text.starts_with('\'') {
        let reason = format!("`{text}` is no name of an access specification");
        return Err(LineProblem::at(line, reason));
    }
    let columns = columns(lines, &name)?;
    let mut found = Vec::new();
    while let Some((_, text)) = lines.peek()
        && !text.starts_with('\'')
    {
        let (at, text) = lines.within(SECTION)?;
        if found.len() == PATTERN_LINES_MAX {
            let most = format!("{PATTERN_LINES_MAX} lines, as many as are possible");
            return Err(LineProblem::at(
                at,
                format!("`{name}` has more than {most}"),
            ));
        }
        let access = access(&text, columns).map_err(|reason| LineProblem::at(at, reason))?;
        found.push(access);
    }
    if found.is_empty() {
        let reason = format!("`{name}` has no line with a size and its numbers");
        return Err(LineProblem::at(line, reason));
    }
    let weights = found.iter().map(|line: &PatternSpec| line.weight);
    let sum = weights.fold(0.0, |sum, weight| sum + weight);
    if sum != 100.0 {
        let reason = format!("the % of size of `{name}` add up to {sum}, not to 100");
        return Err(LineProblem::at(line, reason));
    }
    Ok(AccessSpec {
        name,
        line,
        lines: found,
    })
}

/// Returns the number of columns of the specification `name`.
fn columns(lines: &mut IcfLines, name: &str) -> Result<usize, LineProblem> {
    let (at, text) = lines.within(SECTION)?;
    let named = text.strip_prefix('\'').unwrap_or_default().split(',');
    let named: Vec<_> = named.map(|name| name.trim().to_ascii_lowercase()).collect();
    // Otherwise it is a line of numbers, or the next specification.
    let names_columns = named.iter().filter(|name| COLUMNS.contains(&&***name));
    if names_columns.count() < 2 || named.len() < COLUMNS_MIN {
        let columns = COLUMNS.join(",");
        let reason = format!(
            "`{name}` lacks the line that names its columns: expected '{columns} before `{text}`"
        );
        return Err(LineProblem::at(at, reason));
    }
    let mut pairs = named.iter().zip(COLUMNS);
    if let Some((other, column)) = pairs.find(|(name, column)| name != column) {
        let reason = format!("column `{other}` is not supported: expected `{column}`");
        return Err(LineProblem::at(at, reason));
    }
    if let Some(further) = named.get(COLUMNS.len()) {
        let reason = format!("column `{further}` is not supported");
        return Err(LineProblem::at(at, reason));
    }
    Ok(named.len())
}

/// Parses a line of numbers.
fn access(text: &str, columns: usize) -> Result<PatternSpec, String> {
    let fields: Vec<_> = text.split(',').map(str::trim).collect();
    // Result files have a comma at the end of each line.
    let fields = match &fields[..] {
        [some @ .., ""] if some.len() == columns => some,
        all => all,
    };
    if fields.len() != columns {
        return Err(format!(
            "`{text}` has {} of the {columns} fields {}",
            fields.len(),
            COLUMNS[..columns].join(",")
        ));
    }
    let number = |at: usize| -> Result<u64, String> {
        let Some(field) = fields.get(at) else {
            return Ok(0);
        };
        field
            .parse()
            .map_err(|_| format!("{} is `{field}`, and not a whole number", COLUMNS[at]))
    };
    let percent = |at: usize| match number(at)? {
        percent @ 0..=100 => Ok(percent as f64),
        more => Err(format!("{} is {more}: at most 100 make sense", COLUMNS[at])),
    };
    // Editors of such files also write sizes with a unit, as Iometer shows them.
    let bytes = |at: usize| match fields.get(at) {
        Some(field) => {
            let size = field.parse::<Size>();
            let size = size.map_err(|error| format!("{} is wrong: {error}", COLUMNS[at]));
            size.map(|Size(bytes)| bytes)
        }
        None => Ok(0),
    };
    let request = |at: usize| match bytes(at)? {
        bytes @ 0..=OPERATION_BYTES_MAX => Ok(Size(bytes)),
        more => Err(format!(
            "{} is {more}: requests of more than {} are not supported",
            COLUMNS[at],
            Size(OPERATION_BYTES_MAX)
        )),
    };
    let size = request(0)?;
    if size.0 == 0 {
        return Err("size is 0: it must be at least 1".to_owned());
    }
    let delay = Duration::from_millis(number(4)?);
    if delay > THINK_TIME_MAX {
        return Err(format!(
            "delay is {} ms: more than a day is not supported",
            number(4)?
        ));
    }
    let whole = |at: usize| {
        let number = number(at)?;
        u32::try_from(number).map_err(|_| format!("{} is {number}: too much", COLUMNS[at]))
    };
    Ok(PatternSpec {
        size,
        weight: percent(1)?,
        reads: percent(2)?,
        random: percent(3)?,
        delay: Some(delay).filter(|delay| !delay.is_zero()),
        // Iometer treats a burst of 0 as 1.
        burst: Some(whole(5)?).filter(|&burst| burst > 1),
        align: Some(Size(bytes(6)?)).filter(|align| align.0 > 0),
        reply: Some(request(7)?).filter(|reply| reply.0 > 0),
    })
}
