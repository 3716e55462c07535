//! The place of a worker's sockets under load.

use std::rc::Rc;

use crate::drivers::cuts::Cuts;
use crate::drivers::dropped::Dropped;
use crate::machine::poller::Poller;
use crate::machine::socket::ConnectionSocket;

/// Where the sockets of a worker are under load.
#[derive(Clone, Debug)]
pub struct LoadSockets {
    pub(crate) poller: Rc<Poller>,
    /// The groups whose connections events can cut.
    pub(crate) cuts: Rc<Cuts>,
    /// Whether the load runs, so that events of other sockets must not be lost.
    is_running: bool,
}

impl LoadSockets {
    /// Makes a place for the sockets of a load that has not begun.
    pub(crate) fn new(poller: Rc<Poller>) -> Self {
        Self {
            poller,
            cuts: Rc::default(),
            is_running: false,
        }
    }

    /// Returns the same place for sockets that are added while the load runs.
    pub(crate) fn under_load(&self) -> Self {
        Self {
            poller: Rc::clone(&self.poller),
            cuts: Rc::clone(&self.cuts),
            is_running: true,
        }
    }

    /// Moves a socket there.
    pub(crate) fn take(&self, socket: &mut ConnectionSocket) -> Result<(), Dropped> {
        let moved = socket.enter(&self.poller).and_then(|()| {
            if self.is_running {
                Ok(())
            } else {
                // Takes in what the new socket reports, so that the load need not.
                self.poller.settle()
            }
        });
        moved.map_err(|error| {
            Dropped::Other(format!("its socket cannot be put under load: {error}"))
        })
    }
}
