//! SMB workload engine: Spec -> [`plan::Plan`] -> workers -> [`record`].

pub mod clock;
pub mod plan;
pub mod record;
pub mod target;
