//! Resolves the `stream` table into a workload and a load model.

use super::PlanSources;
use crate::access::{Access, SizeWeight, Split};
use crate::action::{Action, WeightedAction};
use crate::bounds::{FILES_MAX, HELD_FILES_MAX, OPERATION_BYTES_MAX};
use crate::files::{FileSet, Layout, Scope};
use crate::load::LoadModel;
use crate::load::stream::{
    FRAMES_PER_S_MAX, FrameStream, READ_AHEAD_MAX, StreamLayout, StreamProblem,
};
use crate::plan::{PlanError, Problem};
use crate::spec::StreamSpec;
use crate::units::Size;
use crate::work::WorkSpec;
use crate::workload::{Requests, Workload};

impl PlanSources<'_> {
    /// Resolves the workload of streams.
    pub(super) fn stream(
        &self,
        written: &StreamSpec,
        merged: &WorkSpec,
    ) -> Result<Workload, PlanError> {
        self.check_beside_stream(merged)?;
        let spec = &self.profile.spec;
        let fail = |problem: StreamProblem| Err(self.in_profile(problem.into()));
        let frame = frame(written).map_err(|problem| self.in_profile(problem))?;
        if !(written.fps > 0.0 && written.fps <= FRAMES_PER_S_MAX) {
            return fail(StreamProblem::Rate(written.fps));
        }
        let most = match written.layout {
            StreamLayout::OneFile => FILES_MAX,
            StreamLayout::FilePerFrame => HELD_FILES_MAX,
        };
        let frames = written.frames.unwrap_or(written.fps.ceil() as u32);
        if !(1..=most).contains(&frames) {
            return fail(StreamProblem::Frames(frames, most));
        }
        let readers_percent = spec.read_percent.unwrap_or(100.0);
        if !(0.0..=100.0).contains(&readers_percent) {
            return Err(self.in_profile(Problem::ReadPercent(readers_percent)));
        }
        let (count, size) = match written.layout {
            StreamLayout::OneFile => (1, u64::from(frame) * u64::from(frames)),
            StreamLayout::FilePerFrame => (frames, u64::from(frame)),
        };
        let requests = match written.layout {
            StreamLayout::OneFile if readers_percent > 0.0 && readers_percent < 100.0 => {
                Requests::Divided { readers_percent }
            }
            StreamLayout::OneFile => Requests::Data {
                read_percent: readers_percent,
                flush_every_writes: None,
            },
            StreamLayout::FilePerFrame => Requests::Mix(vec![WeightedAction {
                action: match readers_percent {
                    100.0 => Action::CopyOut,
                    0.0 => Action::CopyIn,
                    mixed => return fail(StreamProblem::Mixed(mixed)),
                },
                weight: 100.0,
            }]),
        };
        Ok(Workload {
            sizes: match written.layout {
                StreamLayout::OneFile => vec![SizeWeight {
                    size: frame,
                    weight: 100.0,
                }],
                StreamLayout::FilePerFrame => Vec::new(),
            },
            requests,
            access: Access::Sequential,
            files: FileSet {
                scope: spec.files.scope.unwrap_or(Scope::Private),
                count,
                size,
                layout: Layout::Flat,
            },
        })
    }

    /// Refuses what a stream decides.
    fn check_beside_stream(&self, merged: &WorkSpec) -> Result<(), PlanError> {
        let spec = &self.profile.spec;
        let of_profile = [
            ("split = \"requests\"", spec.split == Some(Split::Requests)),
            ("access", spec.access.is_some()),
            ("flush_every_writes", spec.flush_every_writes.is_some()),
            ("[tree]", spec.tree.is_some()),
            ("[[sizes]]", !spec.sizes.is_empty()),
            ("[[operations]]", !spec.operations.is_empty()),
            ("[[pattern]]", !spec.pattern.is_empty()),
            ("netbench", spec.netbench.is_some()),
            ("the count of files", spec.files.count.is_some()),
            ("the size of files", spec.files.size.is_some()),
        ];
        for (name, is_given) in of_profile {
            if is_given {
                return Err(self.in_profile(StreamProblem::Beside(name).into()));
            }
        }
        let options = [
            ("rate", merged.rate.is_some()),
            ("arrivals", merged.arrivals.is_some()),
            ("think_time", merged.think_time.is_some()),
            ("think_distribution", merged.think_distribution.is_some()),
            ("timing", merged.timing.is_some()),
            ("speed", merged.speed.is_some()),
            ("loops", merged.loops.is_some()),
            ("file_size", self.options.work.file_size.is_some()),
        ];
        for (name, is_given) in options {
            if is_given {
                return Err(self.in_option(name, StreamProblem::Beside(name).into()));
            }
        }
        match merged.until_steady {
            Some(_) => Err(self.in_option("until_steady", StreamProblem::UntilSteady.into())),
            None => Ok(()),
        }
    }

    /// Resolves the load model of streams.
    pub(super) fn stream_load(&self, written: &StreamSpec) -> Result<LoadModel, PlanError> {
        let read_ahead = written.read_ahead;
        let read_ahead = read_ahead.unwrap_or(FrameStream::usual_read_ahead());
        if !(1..=READ_AHEAD_MAX).contains(&read_ahead) {
            return Err(self.in_profile(StreamProblem::ReadAhead(read_ahead).into()));
        }
        Ok(LoadModel::Stream(FrameStream {
            frame_bytes: frame(written).map_err(|problem| self.in_profile(problem))?,
            frames_per_s: written.fps,
            read_ahead,
            layout: written.layout,
            start: written.start,
        }))
    }
}

/// Returns the bytes of a frame.
fn frame(written: &StreamSpec) -> Result<u32, Problem> {
    let size = match (written.frame, written.format, written.depth) {
        (Some(_), None, Some(_)) => return Err(StreamProblem::Depth.into()),
        (Some(size), None, None) => size,
        (None, Some(format), depth) => Size(format.bytes(depth.unwrap_or_default()).into()),
        (Some(_), Some(_), _) | (None, None, _) => return Err(StreamProblem::Frame.into()),
    };
    match u32::try_from(size.0) {
        Ok(0) => Err(StreamProblem::FrameZero.into()),
        Ok(bytes) if size.0 <= OPERATION_BYTES_MAX => Ok(bytes),
        _ => Err(Problem::SizeTooLarge(size)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::profile::Profile;
    use crate::target::Target;

    fn plan(text: &str) -> Result<Plan, String> {
        let profile = Profile::parse("a.toml", text).map_err(|error| error.to_string())?;
        let target = Target::with_password("smb://ann@host/share", "secret").unwrap();
        Plan::of(&profile, target).map_err(|error| error.to_string())
    }

    #[test]
    fn a_stream_reads_frame_after_frame_of_one_file() {
        let plan = plan("stream = { format = \"4k\", fps = 24 }").unwrap();
        let workload = &plan.only().workload;
        assert_eq!(workload.sizes[0].size, 4096 * 2160 * 4);
        assert_eq!(workload.files.size, 24 * 4096 * 2160 * 4);
        assert_eq!(workload.access, Access::Sequential);
        let stream = plan.only().load.stream().unwrap();
        assert_eq!((stream.read_ahead, stream.frames_per_s), (4, 24.0));
    }

    #[test]
    fn a_file_per_frame_is_a_copy_of_a_file() {
        let stream =
            "stream = { frame = \"1MiB\", fps = 25, layout = \"file per frame\", frames = 50 }";
        for (share, action) in [("", Action::CopyOut), ("0", Action::CopyIn)] {
            let reads = match share {
                "" => String::new(),
                share => format!("read_percent = {share}\n"),
            };
            let plan = plan(&format!("{reads}{stream}")).unwrap();
            let workload = &plan.only().workload;
            assert_eq!(workload.actions(), [action]);
            assert_eq!((workload.files.count, workload.files.size), (50, 1 << 20));
        }
    }

    #[test]
    fn what_contradicts_a_stream_is_refused_in_one_line() {
        const STREAM: &str = "stream = { frame = \"1MiB\", fps = 24 }";
        for (text, expected) in [
            (
                format!("access = \"random\"\n{STREAM}"),
                "stream and access are both given: drop one of them",
            ),
            (
                format!("{STREAM}\n[run]\nrate = \"5\""),
                "stream and rate are both given: drop one of them",
            ),
            (
                "stream = { fps = 24 }".to_owned(),
                "a stream needs frame, such as \"25MiB\", or format, and not both",
            ),
            (
                "stream = { format = \"2k\", fps = 0 }".to_owned(),
                "fps is 0: it must be more than 0 and at most 10000",
            ),
            (
                "stream = { frame = \"2GiB\", fps = 1 }".to_owned(),
                "size 2 GiB is more than 1 GiB, the largest operation",
            ),
            (
                "stream = { frame = \"1MiB\", fps = 1, read_ahead = 0 }".to_owned(),
                "read_ahead is 0: give 1 to 1000 frames",
            ),
        ] {
            let error = plan(&text).unwrap_err();
            assert_eq!(error.lines().count(), 1);
            let expected = format!("profile a.toml: {expected}");
            assert_eq!(error, expected);
        }
    }
}
