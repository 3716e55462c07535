//! Histograms as bytes, for records that go from one host of a run to another, and for those
//! that are kept for long: the V2 encoding of `HdrHistogram`. Every count survives.

use std::fmt;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{
    DeserializeError, Deserializer as HdrReader, Serializer as _, V2SerializeError, V2Serializer,
};
use serde::de::Visitor;
use serde::{Deserializer, Serializer};

/// Writes a histogram.
///
/// # Errors
/// As `serializer`.
pub fn serialize<S: Serializer>(
    histogram: &Histogram<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let bytes = to_bytes(histogram).map_err(serde::ser::Error::custom)?;
    serializer.serialize_bytes(&bytes)
}

/// Returns a histogram as bytes.
fn to_bytes(histogram: &Histogram<u64>) -> Result<Vec<u8>, V2SerializeError> {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes)?;
    Ok(bytes)
}

/// Returns the histogram of these bytes.
pub(super) fn from_bytes(mut bytes: &[u8]) -> Result<Histogram<u64>, DeserializeError> {
    HdrReader::new().deserialize(&mut bytes)
}

/// Reads a histogram.
///
/// # Errors
/// As `deserializer`; also if the bytes are no histogram.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Histogram<u64>, D::Error> {
    deserializer.deserialize_bytes(HdrVisitor)
}

/// The same for a histogram that may be missing, as a list of at most one.
pub(super) mod optional {
    use hdrhistogram::Histogram;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize)]
    struct Borrowed<'a>(#[serde(with = "super")] &'a Histogram<u64>);

    #[derive(Deserialize)]
    struct Owned(#[serde(with = "super")] Histogram<u64>);

    pub(in super::super) fn serialize<S: Serializer>(
        histogram: &Option<Histogram<u64>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        histogram.as_ref().map(Borrowed).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Histogram<u64>>, D::Error> {
        let owned = Option::<Owned>::deserialize(deserializer)?;
        Ok(owned.map(|Owned(histogram)| histogram))
    }
}

/// The records of the kinds that occurred, each with its kind.
pub(super) mod by_kind {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::kind::{ByKind, OpKind};
    use crate::record::OpRecord;

    pub(in super::super) fn serialize<S: Serializer>(
        ops: &ByKind<Option<OpRecord>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let ops = OpKind::ALL.into_iter().zip(ops.iter());
        let occurred = ops.filter_map(|(kind, op)| {
            let op = op.as_ref().filter(|op| !op.is_empty())?;
            Some((kind, op))
        });
        serializer.collect_seq(occurred)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ByKind<Option<OpRecord>>, D::Error> {
        let mut ops = ByKind::default();
        for (kind, op) in Vec::<(OpKind, OpRecord)>::deserialize(deserializer)? {
            ops[kind.index()] = Some(op);
        }
        Ok(ops)
    }
}

struct HdrVisitor;

impl Visitor<'_> for HdrVisitor {
    type Value = Histogram<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a histogram as bytes")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        from_bytes(bytes).map_err(E::custom)
    }
}
