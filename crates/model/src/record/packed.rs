//! Operations and latencies that are kept for long, in little memory: about one byte for each
//! latency that occurred, instead of a quarter of a megabyte.

use std::borrow::Cow;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::transfer::from_bytes;
use super::{OpRecord, latency_histogram};
use crate::Nanos;
use crate::kind::{ByKind, OpKind};

/// The operations of a window, by kind.
#[derive(Clone, Debug)]
pub(super) enum WindowOps {
    /// Ready for more. On the heap, because records of load points are passed on by value.
    Open(Box<ByKind<Option<OpRecord>>>),
    /// In little memory.
    Packed(PackedOps),
}

impl Default for WindowOps {
    fn default() -> Self {
        Self::Open(Box::default())
    }
}

impl WindowOps {
    /// Returns the same in little memory.
    pub(super) fn packed(self) -> Self {
        match self {
            Self::Open(ops) => Self::Packed(PackedOps::of(&ops)),
            packed @ Self::Packed(_) => packed,
        }
    }

    pub(super) fn get(&self, kind: OpKind) -> Option<Cow<'_, OpRecord>> {
        match self {
            Self::Open(ops) => ops[kind.index()].as_ref().map(Cow::Borrowed),
            Self::Packed(ops) => ops.get(kind).map(Cow::Owned),
        }
    }

    /// Returns the record of a kind, to add to it.
    pub(super) fn of_mut(&mut self, kind: OpKind) -> &mut OpRecord {
        if let Self::Packed(ops) = self {
            *self = Self::Open(Box::new(ops.unpacked()));
        }
        match self {
            Self::Open(ops) => ops[kind.index()].get_or_insert_default(),
            Self::Packed(_) => unreachable!("they were unpacked"),
        }
    }
}

/// What can be kept in little memory.
pub(super) trait Pack: Clone {
    type Packed;

    fn packed(&self) -> Self::Packed;

    fn unpacked(packed: &Self::Packed) -> Self;
}

/// Something ready for more, or in little memory. It is unpacked when more is added.
#[derive(Clone, Debug)]
pub(super) enum Kept<T: Pack> {
    Open(T),
    Packed(T::Packed),
}

impl<T: Pack> Kept<T> {
    pub(super) fn get(&self) -> Cow<'_, T> {
        match self {
            Self::Open(open) => Cow::Borrowed(open),
            Self::Packed(packed) => Cow::Owned(T::unpacked(packed)),
        }
    }

    pub(super) fn open(&mut self) -> &mut T {
        if let Self::Packed(packed) = self {
            *self = Self::Open(T::unpacked(packed));
        }
        match self {
            Self::Open(open) => open,
            Self::Packed(_) => unreachable!("it was unpacked"),
        }
    }

    pub(super) fn pack(&mut self) {
        if let Self::Open(open) = self {
            *self = Self::Packed(open.packed());
        }
    }
}

impl<T: Pack + Default> Default for Kept<T> {
    fn default() -> Self {
        Self::Open(T::default())
    }
}

impl Pack for Histogram<u64> {
    type Packed = Box<[u8]>;

    fn packed(&self) -> Box<[u8]> {
        packed(self)
    }

    fn unpacked(packed: &Box<[u8]>) -> Self {
        unpacked(packed)
    }
}

impl Pack for OpRecord {
    type Packed = PackedOp;

    fn packed(&self) -> PackedOp {
        PackedOp::of(self)
    }

    fn unpacked(packed: &PackedOp) -> Self {
        packed.unpacked()
    }
}

/// Latencies of a load point.
#[derive(Clone, Debug)]
pub struct KeptLatencies(Kept<Histogram<u64>>);

impl Default for KeptLatencies {
    fn default() -> Self {
        Self(Kept::Open(latency_histogram()))
    }
}

impl KeptLatencies {
    /// Returns the latencies, in nanoseconds.
    #[must_use]
    pub fn get(&self) -> Cow<'_, Histogram<u64>> {
        self.0.get()
    }

    pub(super) fn record(&mut self, latency: Nanos) {
        self.0.open().saturating_record(latency.0.max(1));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        // The bounds are equal, so adding cannot fail.
        let added = self.0.open().add(&*other.get());
        debug_assert!(added.is_ok());
    }

    pub(super) fn pack(&mut self) {
        self.0.pack();
    }
}

impl Serialize for KeptLatencies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        super::transfer::serialize(&self.get(), serializer)
    }
}

impl<'de> Deserialize<'de> for KeptLatencies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let histogram = super::transfer::deserialize(deserializer)?;
        Ok(Self(Kept::Open(histogram)))
    }
}

/// The records of the kinds that occurred.
#[derive(Clone, Debug)]
pub(super) struct PackedOps(Box<[(OpKind, PackedOp)]>);

/// The record of a kind. Its histograms are bytes.
#[derive(Clone, Debug)]
pub(super) struct PackedOp {
    bytes: u64,
    errors: u64,
    further_requests: u64,
    entries: u64,
    service: Box<[u8]>,
    response: Option<Box<[u8]>>,
}

impl PackedOps {
    pub(super) fn of(ops: &ByKind<Option<OpRecord>>) -> Self {
        let ops = OpKind::ALL.into_iter().zip(ops.iter());
        let packed = ops.filter_map(|(kind, op)| Some((kind, PackedOp::of(op.as_ref()?))));
        Self(packed.collect())
    }

    /// Returns the record of a kind; `None` if it did not occur.
    pub(super) fn get(&self, kind: OpKind) -> Option<OpRecord> {
        let (_, op) = self.0.iter().find(|(of, _)| *of == kind)?;
        Some(op.unpacked())
    }

    pub(super) fn unpacked(&self) -> ByKind<Option<OpRecord>> {
        let mut ops = ByKind::default();
        for (kind, op) in &self.0 {
            ops[kind.index()] = Some(op.unpacked());
        }
        ops
    }
}

impl PackedOp {
    fn of(op: &OpRecord) -> Self {
        Self {
            bytes: op.bytes,
            errors: op.errors,
            further_requests: op.further_requests,
            entries: op.entries,
            service: packed(&op.service),
            response: op.response.as_ref().map(packed),
        }
    }

    fn unpacked(&self) -> OpRecord {
        OpRecord {
            bytes: self.bytes,
            errors: self.errors,
            further_requests: self.further_requests,
            entries: self.entries,
            service: unpacked(&self.service),
            response: self.response.as_deref().map(unpacked),
        }
    }
}

fn packed(histogram: &Histogram<u64>) -> Box<[u8]> {
    let mut bytes = Vec::new();
    let written = V2DeflateSerializer::new().serialize(histogram, &mut bytes);
    written.unwrap_or_else(|error| unreachable!("bytes of a histogram: {error:?}"));
    bytes.into()
}

fn unpacked(bytes: &[u8]) -> Histogram<u64> {
    let read = from_bytes(bytes);
    read.unwrap_or_else(|error| unreachable!("a histogram of its bytes: {error:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_operations_take_little_memory() {
        let mut ops: ByKind<Option<OpRecord>> = ByKind::default();
        let reads = ops[OpKind::Read.index()].get_or_insert_default();
        for at in 0..100_000_u64 {
            reads.service.saturating_record(100_000 + at);
        }
        reads.bytes = 7;
        let packed = PackedOps::of(&ops);
        let bytes: usize = packed.0.iter().map(|(_, op)| op.service.len()).sum();
        assert!(bytes < 5000, "{bytes}");
        let back = packed.get(OpKind::Read).unwrap();
        assert_eq!((&back.service, back.bytes), (&reads_of(&ops).service, 7));
        assert!(packed.get(OpKind::Write).is_none());
    }

    #[test]
    fn packed_latencies_keep_every_count() {
        let empty = KeptLatencies::default();
        let mut some = KeptLatencies::default();
        for latency in [1, 700, 1_000_000, 90_000_000_000] {
            some.record(Nanos(latency));
        }
        for open in [&empty, &some] {
            let mut packed = open.clone();
            packed.pack();
            packed.pack();
            assert_eq!(packed.get(), open.get());
            let mut sum = open.clone();
            sum.merge(&packed);
            packed.merge(open);
            assert_eq!(packed.get(), sum.get());
            assert_eq!(sum.get().len(), 2 * open.get().len());
        }
    }

    fn reads_of(ops: &ByKind<Option<OpRecord>>) -> &OpRecord {
        ops[OpKind::Read.index()].as_ref().unwrap()
    }
}
