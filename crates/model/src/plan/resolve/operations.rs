//! Resolves `[[operations]]` tables into actions.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::de::value::{Error as ValueError, StrDeserializer};

use super::{Written, is_all};
use crate::action::{
    Action, Change, CreateDisposition, CreateOption, DialectNeed, DirectoryClass, Opening,
    QueryClass, SetClass, Subject, WeightedAction, dialect_needed,
};
use crate::bounds::OPERATIONS_MAX;
use crate::plan::{Plan, PlanError, Problem};
use crate::spec::{OpName, OperationSpec};
use crate::workload::Requests;

/// The longest pattern of names, in characters: the length limit of a name.
const PATTERN_LEN_MAX: usize = 255;

impl Written<'_> {
    /// Resolves a weighted mix of any commands.
    pub(super) fn mix(&self, operations: &[OperationSpec]) -> Result<Requests, PlanError> {
        let spec = &self.profile.spec;
        let fail = |problem| Err(self.in_profile(problem));
        for (name, is_given) in [
            ("read_percent", spec.read_percent.is_some()),
            ("split", spec.split.is_some()),
            ("flush_every_writes", spec.flush_every_writes.is_some()),
        ] {
            if is_given {
                return fail(Problem::TwoMixes(name));
            }
        }
        if operations.len() > OPERATIONS_MAX {
            return fail(Problem::TooManyOperations(operations.len()));
        }
        let mut mix = Vec::with_capacity(operations.len());
        for operation in operations {
            let (op, weight) = (operation.op.text(), operation.weight);
            if !(0.0..=f64::MAX).contains(&weight) {
                return fail(Problem::OperationWeight { op, weight });
            }
            let action = action(operation).map_err(|problem| self.in_profile(problem))?;
            mix.push(WeightedAction { action, weight });
        }
        let sum: f64 = mix.iter().map(|entry| entry.weight).sum();
        match is_all(sum) {
            true => Ok(Requests::Mix(mix)),
            false => fail(Problem::OperationWeightSum(sum)),
        }
    }

    /// Checks that every command of the mix exists in at least one offered dialect.
    pub(super) fn check_dialects(&self, plan: &Plan) -> Result<(), PlanError> {
        let dialects = plan.sessions.options.dialects;
        for action in plan.work.workload.actions() {
            let Some(DialectNeed { what, needs, has }) = dialect_needed(&action) else {
                continue;
            };
            if !dialects.iter().any(has) {
                let problem = Problem::Dialect {
                    what,
                    needs,
                    dialects: dialects.to_string(),
                };
                let given = self.options.dialect.is_some();
                return Err(self.in_option("dialect", given, problem));
            }
        }
        Ok(())
    }
}

/// Resolves one table into an action.
fn action(spec: &OperationSpec) -> Result<Action, Problem> {
    let takes = spec.op.parameters();
    let op = spec.op.text();
    if let Some(parameter) = spec.given().into_iter().find(|name| !takes.contains(name)) {
        return Err(Problem::Parameter {
            op,
            parameter,
            takes,
        });
    }
    let is = |flag: Option<bool>| flag.unwrap_or(false);
    Ok(match spec.op {
        OpName::Read => Action::Read {
            unbuffered: is(spec.unbuffered),
        },
        OpName::Write => Action::Write {
            write_through: is(spec.write_through),
            unbuffered: is(spec.unbuffered),
        },
        OpName::Flush => Action::Flush,
        OpName::Create => Action::Create(opening(spec)?),
        OpName::Lock => Action::Lock {
            exclusive: is(spec.exclusive),
            past_end: is(spec.past_end),
        },
        OpName::QueryInfo => Action::QueryInfo {
            class: needed_class::<QueryClass>(spec)?,
        },
        OpName::SetInfo => Action::SetInfo {
            class: needed_class::<SetClass>(spec)?,
        },
        OpName::QueryDirectory => Action::QueryDirectory {
            class: class(spec)?.unwrap_or(DirectoryClass::IdBothDirectory),
            pattern: pattern(spec)?,
        },
        OpName::ChangeNotify => Action::ChangeNotify {
            filter: filter(spec)?,
            recursive: is(spec.recursive),
        },
        OpName::CopyChunk => Action::CopyChunk,
        OpName::QueryInterfaces => Action::QueryInterfaces,
        OpName::ValidateNegotiate => Action::ValidateNegotiate,
        OpName::Echo => Action::Echo,
        OpName::TreeConnect => Action::TreeConnect,
        OpName::LogOn => Action::LogOn,
        OpName::CreateReadClose => Action::CreateReadClose,
        OpName::CreateQueryClose => Action::CreateQueryClose {
            class: needed_class(spec)?,
        },
        OpName::CreateSetClose => match needed_class::<SetClass>(spec)? {
            class if class.is_chain() => {
                let problem = "one of basic, allocation, end_of_file goes with one frame; \
                               see operation set_info for the others";
                return Err(value(spec, "class", &problem));
            }
            class => Action::CreateSetClose { class },
        },
    })
}

fn value(spec: &OperationSpec, parameter: &'static str, problem: &dyn fmt::Display) -> Problem {
    Problem::Value {
        op: spec.op.text(),
        parameter,
        problem: problem.to_string(),
    }
}

/// Parses the class by its name. serde knows the names and lists them in its error.
fn class<T: DeserializeOwned>(spec: &OperationSpec) -> Result<Option<T>, Problem> {
    let Some(written) = &spec.class else {
        return Ok(None);
    };
    let name = StrDeserializer::<ValueError>::new(written);
    T::deserialize(name)
        .map(Some)
        .map_err(|error| value(spec, "class", &error))
}

fn needed_class<T: DeserializeOwned>(spec: &OperationSpec) -> Result<T, Problem> {
    class(spec)?.ok_or_else(|| {
        // No class has an empty name, so this error lists the valid names.
        let refusal = T::deserialize(StrDeserializer::<ValueError>::new("")).err();
        let refusal = refusal.map_or_else(String::new, |error| error.to_string());
        let listed = refusal
            .split_once("expected ")
            .map(|(_, list)| list.to_owned());
        Problem::NoParameter {
            op: spec.op.text(),
            parameter: "class",
            expected: listed.unwrap_or_default(),
        }
    })
}

fn pattern(spec: &OperationSpec) -> Result<String, Problem> {
    let pattern = spec.pattern.clone().unwrap_or_else(|| "*".to_owned());
    let len = pattern.chars().count();
    match len {
        1..=PATTERN_LEN_MAX if !pattern.contains(['\\', '/']) => Ok(pattern),
        _ => Err(value(
            spec,
            "pattern",
            &format!("give 1 to {PATTERN_LEN_MAX} characters without \\ and /, such as *.dat"),
        )),
    }
}

/// The changes that a file manager waits for while it shows a directory.
const CHANGES_SHOWN: [Change; 5] = [
    Change::FileName,
    Change::DirName,
    Change::Attributes,
    Change::Size,
    Change::LastWrite,
];

fn filter(spec: &OperationSpec) -> Result<Vec<Change>, Problem> {
    match &spec.filter {
        None => Ok(CHANGES_SHOWN.to_vec()),
        Some(none) if none.is_empty() => Err(value(
            spec,
            "filter",
            &"it is empty: give changes to wait for, such as file_name",
        )),
        Some(some) => Ok(some.clone()),
    }
}

fn opening(spec: &OperationSpec) -> Result<Opening, Problem> {
    use CreateDisposition as D;
    let is = |flag: Option<bool>| flag.unwrap_or(false);
    let attributes = spec.attributes.clone().unwrap_or_default();
    let subject = match (is(spec.directory), spec.disposition) {
        (true, _) => Subject::ScratchDirectory,
        (false, Some(_)) => Subject::ScratchFile,
        (false, None) => Subject::WorkFile,
    };
    let disposition = match subject {
        Subject::WorkFile => D::Open,
        _ => spec.disposition.unwrap_or(D::Create),
    };
    let opening = Opening {
        subject,
        disposition,
        delete_on_close: spec.delete_on_close.unwrap_or(disposition == D::Create),
        durable: is(spec.durable),
        query_on_disk_id: is(spec.query_on_disk_id),
        write_through: is(spec.write_through),
        unbuffered: is(spec.unbuffered),
        attributes,
        options: spec.options.clone().unwrap_or_default(),
    };
    match objection(&opening) {
        None => Ok(opening),
        Some((parameter, problem)) => Err(value(spec, parameter, &problem)),
    }
}

/// Returns why a CREATE cannot be repeated or makes no sense: the parameter and the
/// reason.
fn objection(opening: &Opening) -> Option<(&'static str, &'static str)> {
    use CreateDisposition as D;
    let Opening {
        subject,
        disposition,
        delete_on_close,
        ..
    } = *opening;
    let is_directory = subject == Subject::ScratchDirectory;
    let is_work_file = subject == Subject::WorkFile;
    if delete_on_close && is_work_file {
        return Some((
            "delete_on_close",
            "the client's own file would go: give a disposition, which makes it a scratch file",
        ));
    }
    if !opening.attributes.is_empty() && is_work_file {
        return Some((
            "attributes",
            "only a new file gets them: give a disposition that makes one, such as create",
        ));
    }
    // MS-SMB2 2.2.13.
    if [CreateOption::SequentialOnly, CreateOption::RandomAccess]
        .iter()
        .all(|option| opening.options.contains(option))
    {
        return Some((
            "options",
            "beside random_access servers ignore sequential_only: drop one or the other",
        ));
    }
    match disposition {
        D::Create if !delete_on_close => Some((
            "delete_on_close",
            "a name can be created once only: leave it true, or take open_if",
        )),
        D::Open | D::Overwrite if delete_on_close => Some((
            "delete_on_close",
            "what is gone cannot be opened again: leave it false, or take create",
        )),
        // MS-FSA 2.1.5.1.1: directories are not overwritten.
        D::Supersede | D::Overwrite | D::OverwriteIf if is_directory => {
            Some(("disposition", "a directory takes open, create or open_if"))
        }
        _ if is_directory && (opening.durable || opening.unbuffered || opening.write_through) => {
            Some((
                "directory",
                "durable, unbuffered and write_through are for files: drop one or the other",
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
