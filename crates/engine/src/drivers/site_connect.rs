//! Sets up the sessions of a run's groups, for the first time and after a loss. Not here: how a
//! driver does that.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::drivers::driver::{Connector, Driver, Opened};
use crate::drivers::remains::Reopening;
use crate::drivers::site::Site;
use crate::smb::session::SessionError;

/// A driver with sessions of its own on a site.
pub(crate) trait SiteDriver: Driver {
    /// Sets up the sessions of these clients. `again` has what is left of those that they lost,
    /// if they lost some.
    async fn open(
        site: &Site,
        clients: &[u32],
        again: Option<&Reopening>,
    ) -> Result<Opened<Self>, SessionError>;
}

/// Sets up the driver `D` for the groups of a run.
pub(crate) struct SiteConnect<D>(Arc<Site>, PhantomData<fn() -> D>);

impl<D> SiteConnect<D> {
    pub(crate) const fn new(site: Arc<Site>) -> Self {
        Self(site, PhantomData)
    }
}

impl<D> Clone for SiteConnect<D> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.0))
    }
}

impl<D: SiteDriver> Connector for SiteConnect<D> {
    type Driver = D;

    async fn open(&self, clients: &[u32]) -> Result<Opened<D>, SessionError> {
        let opened = D::open(&self.0, clients, None).await;
        opened.map_err(SessionError::of_own_file)
    }

    fn nodes(&self) -> usize {
        self.0.endpoint.nodes().len().max(1)
    }

    async fn reopen(&self, clients: &[u32], again: &Reopening) -> Result<Opened<D>, SessionError> {
        let opened = D::open(&self.0, clients, Some(again)).await;
        opened.map_err(SessionError::of_own_file)
    }
}
