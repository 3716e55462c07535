//! A part of a capture: requests that were sent in some time, by a client, by a user, to a
//! share.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::names::NodeNumber;
use crate::sessions::SessionRecord;
use crate::tcp::Moment;

/// A time that rates and means are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureSpan {
    /// Nanoseconds from 1970 to its begin.
    pub begin_ns: u64,
    /// Nanoseconds from 1970 to its end.
    pub end_ns: u64,
}

impl CaptureSpan {
    /// Returns its length in nanoseconds.
    #[must_use]
    pub const fn length_ns(self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

/// A part of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CaptureSlice {
    pub(crate) from_ns: u64,
    /// The first instant that is no part.
    pub(crate) to_ns: u64,
    pub(crate) client: Option<IpAddr>,
    pub(crate) user: Option<String>,
    pub(crate) share: Option<String>,
    /// The shares with that name: each server has one.
    pub(crate) share_nodes: BTreeSet<NodeNumber>,
}

impl Default for CaptureSlice {
    /// Returns the whole capture.
    fn default() -> Self {
        Self {
            from_ns: 0,
            to_ns: u64::MAX,
            client: None,
            user: None,
            share: None,
            share_nodes: BTreeSet::new(),
        }
    }
}

impl CaptureSlice {
    /// Returns whether a client sent a message in the time of the slice.
    pub(crate) fn has(&self, at: Moment, client: IpAddr) -> bool {
        self.has_time(at) && self.client.is_none_or(|wanted| wanted == client)
    }

    /// Returns whether something happened in the time of the slice.
    pub(crate) fn has_time(&self, at: Moment) -> bool {
        (self.from_ns..self.to_ns).contains(&at.time_ns)
    }

    /// Returns the time of the slice within that of the capture; `None` if no time was given.
    pub(crate) fn span(&self, capture: CaptureSpan) -> Option<CaptureSpan> {
        let within = |time_ns: u64| time_ns.max(capture.begin_ns).min(capture.end_ns);
        let is_given = self.from_ns > 0 || self.to_ns < u64::MAX;
        is_given.then(|| CaptureSpan {
            begin_ns: within(self.from_ns),
            end_ns: within(self.to_ns),
        })
    }

    /// Returns whether a message of a server is a part that no request asked for. Its user
    /// and its share are not known.
    pub(crate) fn has_unasked(&self, at: Moment, client: IpAddr) -> bool {
        self.user.is_none() && self.share.is_none() && self.has(at, client)
    }

    /// Returns whether it has requests of a session.
    pub(crate) fn has_session(&self, session: Option<&mut SessionRecord>) -> bool {
        self.user.is_none() || session.is_some_and(|session| session.is_of_user)
    }

    /// Returns whether it has requests to a share.
    pub(crate) fn has_share(&self, share: Option<NodeNumber>) -> bool {
        self.share.is_none() || share.is_some_and(|share| self.share_nodes.contains(&share))
    }

    /// Returns whether a log-on is one of its user: by the whole name, by the part without
    /// the domain, or by the name in outputs.
    pub(crate) fn is_of_user(&self, recorded: &str, written: &str) -> bool {
        let Some(wanted) = self.user.as_deref() else {
            return false;
        };
        let short = recorded.rsplit('\\').next().unwrap_or_default();
        let short = short.split('@').next().unwrap_or_default();
        [recorded, written, short]
            .iter()
            .any(|name| equal(name, wanted))
    }

    /// Notes a share, if it has the name of the slice.
    pub(crate) fn note_share(&mut self, recorded: &str, written: &str, node: Option<NodeNumber>) {
        if let (Some(wanted), Some(node)) = (self.share.as_deref(), node)
            && (equal(recorded, wanted) || equal(written, wanted))
        {
            self.share_nodes.insert(node);
        }
    }

    /// Returns whether it may be less than the whole capture.
    pub(crate) fn is_part(&self) -> bool {
        *self != Self::default()
    }
}

/// Returns whether two names are equal, ignoring case.
fn equal(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_known_with_and_without_the_domain() {
        let slice = |user: &str| CaptureSlice {
            user: Some(user.to_owned()),
            ..CaptureSlice::default()
        };
        for (wanted, recorded) in [
            ("ann", r"CORP\Ann"),
            (r"corp\ANN", r"CORP\Ann"),
            ("ann", "ann@EXAMPLE.COM"),
            ("ann@example.com", "ann@EXAMPLE.COM"),
            ("0123456789abcdef", r"CORP\Ann"),
        ] {
            assert!(
                slice(wanted).is_of_user(recorded, "0123456789abcdef"),
                "{wanted}"
            );
        }
        assert!(!slice("an").is_of_user(r"CORP\Ann", ""));
        assert!(!slice("corp").is_of_user(r"CORP\Ann", ""));
        assert!(!CaptureSlice::default().is_of_user("", ""));
    }

    #[test]
    fn a_time_is_cut_to_the_capture() {
        let span = |begin_ns, end_ns| CaptureSpan { begin_ns, end_ns };
        let slice = |from_ns, to_ns| CaptureSlice {
            from_ns,
            to_ns,
            ..CaptureSlice::default()
        };
        let capture = span(10, 20);
        assert_eq!(CaptureSlice::default().span(capture), None);
        assert_eq!(slice(12, 15).span(capture), Some(span(12, 15)));
        assert_eq!(slice(5, 30).span(capture), Some(capture));
        assert_eq!(slice(0, 15).span(capture), Some(span(10, 15)));
        assert_eq!(slice(12, u64::MAX).span(capture), Some(span(12, 20)));
        assert_eq!(slice(30, 40).span(capture), Some(span(20, 20)));
    }
}
