//! Why a driver takes no call now.

/// The reason why a driver did not accept a call. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// Not enough credits. The call is submitted again when something has been
    /// received. A group that waits for credits with nothing in flight is dropped,
    /// unless [`Driver::is_awaited`](super::driver::Driver::is_awaited).
    Credits,
    /// Bytes of earlier calls must be sent first. The call is submitted again when
    /// [`Driver::has_room`](super::driver::Driver::has_room).
    Room,
    /// The session of the client has expired and is being reauthenticated.
    Session,
    /// A connection of the client was lost and is being replaced.
    Link,
    /// An earlier call of the client must be answered first. The call is submitted again
    /// when something has been received.
    Earlier,
    /// A call of another client must be answered first. The call is submitted again soon.
    Others,
    /// The client has no further operations, because it has walked its tree so often as the plan
    /// says. It is retired.
    Over,
}
