//! Events of a load point: what is done at an instant of its window, such as cutting
//! connections. Not here: how it is done, and what follows from it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bounds::PERIOD_MAX;
use crate::hooks::HookRecord;
use crate::units::{format_duration, parse_duration};

/// The largest number of events of a load point.
pub const EVENTS_PER_POINT_MAX: usize = 64;
/// The shortest time for which a server is stopped.
const STOP_MIN: Duration = Duration::from_millis(1);
/// Time of a window of no given length after its last event. Clients come back in it.
const AFTER_EVENTS: Duration = Duration::from_secs(30);

/// An event of each load point: `at 30s: drop 100%`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedEvent {
    /// Time from the start of the window.
    pub at: Duration,
    /// What is done.
    pub action: EventAction,
}

/// What an event does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum EventAction {
    /// The generator resets this share of its connections, in percent: more than 0, at most 100.
    Drop(f64),
    /// The generator runs this shell command.
    Exec(String),
    /// The generator stops all processes of the lab server for this time.
    Stop(Duration),
    /// The generator sends the signal with this name, one of [`SIGNALS`], to each process of the
    /// lab server that serves a connection.
    Signal(String),
}

/// The signals that an event can send.
pub const SIGNALS: [&str; 8] = ["HUP", "INT", "QUIT", "ABRT", "KILL", "USR1", "USR2", "TERM"];

/// What became of an event in a load point.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRecord {
    /// The event.
    pub event: PlannedEvent,
    /// Time from the start of the window to the event; `None` if the load ended before.
    pub at: Option<Duration>,
    /// The command that was run, if the event has one.
    pub command: Option<HookRecord>,
    /// How many processes of the lab server got a signal, or why none did; `None` if the event
    /// sends none.
    pub signalled: Option<Result<usize, String>>,
}

impl EventRecord {
    /// Returns why the load point is void, if the event failed.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let at = format_duration(self.event.at);
        if let Some(Err(why)) = &self.signalled {
            return Some(format!("the event at {at} {why}"));
        }
        let failure = self.command.as_ref()?.failure.as_ref()?;
        Some(format!("the command of the event at {at} {failure}"))
    }
}

impl PlannedEvent {
    /// Returns the time from the start of the window until a server that is stopped runs again.
    /// Any other event has no length.
    #[must_use]
    pub fn end(&self) -> Duration {
        match self.action {
            EventAction::Stop(time) => self.at.saturating_add(time),
            _ => self.at,
        }
    }
}

/// Returns the length of a window with these events, if none is given; `None` without events.
pub(crate) fn default_window(events: &[PlannedEvent]) -> Option<Duration> {
    let last = events.iter().map(PlannedEvent::end).max()?;
    Some(last.saturating_add(AFTER_EVENTS).min(PERIOD_MAX))
}

impl EventAction {
    /// Returns whether it needs a lab server on this machine.
    #[must_use]
    pub const fn is_of_lab(&self) -> bool {
        matches!(self, Self::Stop(_) | Self::Signal(_))
    }

    /// Returns the name in documents.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Drop(_) => "drop",
            Self::Exec(_) => "exec",
            Self::Stop(_) => "stop",
            Self::Signal(_) => "signal",
        }
    }
}

impl fmt::Display for EventAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drop(percent) => write!(f, "drop {percent}%"),
            Self::Exec(command) => write!(f, "exec {command}"),
            Self::Stop(time) => write!(f, "stop {}", format_duration(*time)),
            Self::Signal(name) => write!(f, "signal {name}"),
        }
    }
}

impl fmt::Display for PlannedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: {}", format_duration(self.at), self.action)
    }
}

/// The text is not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} (for example 'at 30s: drop 100%' or 'at 60s: exec ./failover.sh')")]
pub struct UnknownEvent(String);

impl FromStr for PlannedEvent {
    type Err = UnknownEvent;

    fn from_str(text: &str) -> Result<Self, UnknownEvent> {
        let wrong = |why: &str| UnknownEvent(why.to_owned());
        let written = text.trim().strip_prefix("at ");
        let (at, what) = written
            .and_then(|rest| rest.split_once(':'))
            .ok_or_else(|| wrong("an event is written as `at TIME: WHAT`"))?;
        let at = parse_duration(at.trim())
            .map_err(|error| UnknownEvent(format!("the time of an event: {error}")))?;
        let what = what.trim();
        let (word, rest) = what.split_once(char::is_whitespace).unwrap_or((what, ""));
        let rest = rest.trim();
        let action = match word {
            "drop" => {
                let percent = rest.strip_suffix('%').map(str::trim);
                let percent: Option<f64> = percent.and_then(|percent| percent.parse().ok());
                let is_share = |percent: &f64| *percent > 0.0 && *percent <= 100.0;
                EventAction::Drop(percent.filter(is_share).ok_or_else(|| {
                    wrong("drop needs a share of the connections, above 0% and up to 100%")
                })?)
            }
            "exec" if rest.is_empty() => return Err(wrong("exec needs a shell command")),
            "exec" => EventAction::Exec(rest.to_owned()),
            "stop" => match parse_duration(rest) {
                Ok(time) if time >= STOP_MIN => EventAction::Stop(time),
                _ => return Err(wrong("stop needs a time of 1ms or more, such as stop 2s")),
            },
            "signal" => {
                let name = rest.to_uppercase();
                let name = name.strip_prefix("SIG").unwrap_or(&name);
                if !SIGNALS.contains(&name) {
                    let signals = SIGNALS.join(", ");
                    return Err(UnknownEvent(format!("signal needs one of {signals}")));
                }
                EventAction::Signal(name.to_owned())
            }
            _ => {
                let word: String = word.chars().take(40).collect();
                let why = format!(
                    "`{}` is not an event: give drop, exec, stop or signal",
                    word.escape_debug()
                );
                return Err(UnknownEvent(why));
            }
        };
        Ok(Self { at, action })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_read_back() {
        for text in [
            "at 30s: drop 100%",
            "at 1m 30s: drop 12.5%",
            "at 0s: exec kill -9 $(cat smbd.pid): now",
            "at 10s: stop 2s",
            "at 10s: signal KILL",
        ] {
            let event: PlannedEvent = text.parse().unwrap();
            assert_eq!(event.to_string(), text);
            assert_eq!(event.to_string().parse(), Ok(event));
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_reason() {
        for (text, why) in [
            ("drop 100%", "`at TIME: WHAT`"),
            ("at 30s drop 100%", "`at TIME: WHAT`"),
            ("at soon: drop 100%", "the time of an event"),
            ("at 30: drop 100%", "the time of an event"),
            ("at 30s: drop", "share of the connections"),
            ("at 30s: drop 0%", "share of the connections"),
            ("at 30s: drop 101%", "share of the connections"),
            ("at 30s: drop NaN%", "share of the connections"),
            ("at 30s: exec", "exec needs a shell command"),
            ("at 30s: stop", "a time of 1ms or more"),
            ("at 30s: stop 0s", "a time of 1ms or more"),
            ("at 30s: signal", "one of HUP, INT"),
            ("at 30s: signal STOP", "one of HUP, INT"),
            ("at 30s: explode", "`explode` is not an event"),
            ("at 30s:", "`` is not an event"),
        ] {
            let error = text.parse::<PlannedEvent>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
