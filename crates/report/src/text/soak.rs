//! What drifted in a soak.

use crate::doc::{RunDoc, SoakDoc};
use crate::tone::Tone;

/// Returns a sentence for each value that drifted, or one that nothing did; nothing for a run
/// that is no soak.
pub(super) fn drifts(doc: &RunDoc) -> impl Iterator<Item = (Tone, String)> {
    let soak = doc.soak.as_ref();
    let tone = match soak.and_then(|soak| soak.steady) {
        Some(false) => Tone::Caution,
        _ => Tone::Plain,
    };
    let sentences = soak.map(SoakDoc::sentences).unwrap_or_default();
    sentences.into_iter().map(move |words| (tone, words))
}
