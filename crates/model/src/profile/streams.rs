//! Built-in profiles of streams, whose names say what they are: `stream-uhd-50-8bit`.

use crate::load::stream::{FrameDepth, FrameFormat};

/// Returns the text of the profile with this name: `stream-FORMAT-FPS`, or
/// `stream-FORMAT-FPS-DEPTH`.
pub(super) fn builtin(name: &str) -> Option<String> {
    let mut parts = name.strip_prefix("stream-")?.split('-');
    let (format, fps) = (parts.next()?, parts.next()?);
    let depth = parts.next().unwrap_or("10bit");
    let mut formats = FrameFormat::ALL.into_iter();
    let (_, format) = formats.find(|(_, known)| *known == format)?;
    let mut depths = FrameDepth::ALL.into_iter();
    let (_, _, depth) = depths.find(|(_, known, _)| *known == depth)?;
    // Only plain numbers, so that a profile has one name.
    let is_plain = !fps.starts_with('0') && fps.bytes().all(|byte| byte.is_ascii_digit());
    let fps: u32 = fps.parse().ok().filter(|&fps| is_plain && fps > 0)?;
    if parts.next().is_some() {
        return None;
    }
    Some(format!(
        "# A client is a stream: it reads a frame by each instant of a clock, four frames ahead.\n\
         name = \"{name}\"\n\
         description = \"uncompressed {} frames in {depth}, {fps} per second; a client is a stream\"\n\
         stream = {{ format = \"{format}\", depth = \"{depth}\", fps = {fps} }}\n",
        format.to_uppercase()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    #[test]
    fn names_say_format_rate_and_depth() {
        for (name, bytes, fps) in [
            ("stream-uhd-50-8bit", 3840 * 2160 * 3, 50.0),
            ("stream-2k-25", 2048 * 1080 * 4, 25.0),
            ("stream-4k-60-half", 4096 * 2160 * 6, 60.0),
            ("stream-4k-24", 4096 * 2160 * 4, 24.0),
        ] {
            let spec = Profile::builtin(name).unwrap().spec;
            assert_eq!(spec.name.as_deref(), Some(name));
            let stream = spec.stream.unwrap();
            let depth = stream.depth.unwrap();
            assert_eq!(stream.format.unwrap().bytes(depth), bytes, "{name}");
            assert_eq!(stream.fps, fps);
        }
        for name in [
            "stream-8k-24",
            "stream-4k",
            "stream-4k-0",
            "stream-4k-024",
            "stream-4k-24-12bit",
            "stream-4k-24-half-x",
        ] {
            assert!(builtin(name).is_none(), "{name}");
        }
    }
}
