//! Labels of separate documents: they name results, and join their passes.

use super::{Input, InputResult};
use crate::doc::RunDoc;
use crate::units::plain;

impl Input {
    /// Names separate documents after their labels, and joins those that have further
    /// passes of one result. Nothing is joined if all have the same label, because one
    /// result would be left.
    #[must_use]
    pub fn by_label(inputs: Vec<Self>) -> Vec<Self> {
        let labels: Vec<_> = inputs.iter().map(Self::label).collect();
        let is_one = labels.first().is_some_and(Option::is_some)
            && labels.iter().all(|label| *label == labels[0]);
        let mut all: Vec<Self> = Vec::new();
        for mut input in inputs {
            let more = input.alone().filter(|_| !is_one).cloned();
            let known = more.as_ref().and_then(|more| {
                let mut known = all.iter_mut().filter_map(Self::alone);
                known.find(|known| known.has_more_passes_in(more))
            });
            match known.zip(more.clone()) {
                Some((known, more)) => known.add_passes(more),
                None => all.push(input),
            }
        }
        let labels: Vec<_> = all.iter().map(Self::label).collect();
        for (at, input) in all.iter_mut().enumerate() {
            let Some(label) = &labels[at] else { continue };
            let is_only = labels.iter().filter(|other| *other == &labels[at]).count() == 1;
            input.title = Some(if is_only {
                label.clone()
            } else {
                format!("{label} ({})", input.name())
            });
        }
        all
    }

    fn label(&self) -> Option<String> {
        match &self.results[..] {
            [
                InputResult {
                    server: None,
                    run: Some(run),
                    ..
                },
            ] => run.label.as_deref().map(plain),
            _ => None,
        }
    }

    /// Returns the run of a separate document.
    fn alone(&mut self) -> Option<&mut RunDoc> {
        match &mut self.results[..] {
            [
                InputResult {
                    server: None, run, ..
                },
            ] => run.as_mut(),
            _ => None,
        }
    }
}
