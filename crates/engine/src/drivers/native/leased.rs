//! Listings under leases on directories, watches, and changes of the directories of both. Without
//! them, nothing here is called but the first check.

use std::task::{Context, Poll};

use smbench_model::Nanos;
use smbench_model::action::{Action, ChangeFilter};
use smbench_model::kind::OpKind;
use smbench_model::operations::Mix;
use smbench_model::sessions::Caching;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::oplock_break::BreakNotification;
use smbench_protocol::connection::NoCredit;
use smbench_protocol::{Completion, ProtocolError};

use super::encode::To;
use super::request::MixEncoder;
use super::state::{CachingNews, GroupState};
use super::steps::{named, purpose};
use crate::drivers::changes::{AwaitedNotice, MadeFile};
use crate::drivers::driver::{Answer, Call, Extent, Sink, slot_of};
use crate::drivers::dropped::Dropped;
use crate::drivers::listings::{self, CachedTurn, Listings, NamesLease};
use crate::drivers::requests::create;
use crate::drivers::site::Site;
use crate::machine::clock;
use crate::smb::session::caching::{self, Object};

/// Makes the listings that clients keep, if leases on directories are asked for, or if clients
/// learn what others change.
pub(super) fn listings_of(site: &Site, clients: usize, places: usize) -> Option<Box<Listings>> {
    let leases = matches!(site.plan.sessions.caching, Caching::DirectoryLease(_));
    let needs = |action: &Action| matches!(action, Action::Watch { .. } | Action::Neighbour { .. });
    let files = &site.plan.only().workload.files;
    let is_used = leases || site.mix.actions().iter().any(needs);
    is_used.then(|| Box::new(Listings::new(&site.changes, files, clients, places)))
}

impl GroupState<MixEncoder> {
    /// Encodes the CREATE of a step, or of a lookup, with a lease if it has one. A listing may be
    /// answered from memory instead.
    #[cold]
    pub(super) fn open_leased(&mut self, call: &Call, to: To<'_>) -> Result<(), NoCredit> {
        let operation = &call.operation;
        let Some(listings) = &mut self.listings else {
            unreachable!("only called with leases on directories");
        };
        let object = match operation.kind {
            OpKind::ListOpen if listings.answers(call) => return Ok(()),
            OpKind::ListOpen => Some(Object::Directory(operation.file)),
            OpKind::CopyInCreate => Some(Object::Copy(operation.file)),
            _ => None,
        };
        let files = self.encoder.mix.files();
        let (oplock, lease) = object.map_or((OplockLevel::None, None), |object| {
            let parent = listings::parent(files, object);
            self.cache.request(call.member, object, parent)
        });
        let client = self.held[call.member].client;
        let place = self.places.get_mut(call.slot as usize);
        let MixEncoder { folder, mix, .. } = &mut self.encoder;
        let name = named(folder, mix, place.as_deref(), client, operation);
        let mut request = create::of_step(purpose(operation.kind), name);
        request.oplock = oplock;
        request.contexts = lease.as_slice();
        to.create(&request)?;
        if let Some(place) = place {
            place.caching = CachingNews::of(oplock);
        }
        if operation.kind == OpKind::ListOpen {
            let key = self
                .cache
                .key(call.member, Object::Directory(operation.file));
            listings.begin(call, key);
        }
        Ok(())
    }

    /// Encodes a watch.
    pub(super) fn watch(&mut self, call: &Call, to: To<'_>) -> Result<(), NoCredit> {
        self.directory(call, to)?;
        let Action::Watch { filter, .. } = self.encoder.mix.action(&call.operation) else {
            unreachable!("only a watch watches");
        };
        let is_name =
            |of: &ChangeFilter| matches!(of, ChangeFilter::FileName | ChangeFilter::DirName);
        let awaited = if filter.iter().all(is_name) {
            AwaitedNotice::Names
        } else {
            AwaitedNotice::All
        };
        if let Some(listings) = &mut self.listings {
            listings.watch(call.slot, awaited);
        }
        self.places[slot_of(call.slot)].caching = CachingNews::Watch;
        Ok(())
    }

    /// Keeps the listing of a slot, instead of closing its directory; returns whether it does.
    pub(super) fn keeps_listing(&mut self, call: &Call) -> bool {
        let Some(listings) = &mut self.listings else {
            return false;
        };
        let open = &mut self.places[slot_of(call.slot)].open;
        let least = names_of(&self.encoder.mix, call);
        let (keeps, in_favour) = listings.keep(call, *open, least);
        if keeps {
            *open = smbench_protocol::FileId::default();
        }
        if let Some(open) = in_favour {
            self.cache.close(self.held[call.member].session, open);
        }
        keeps
    }

    /// Notes what a call that was sent changes.
    #[inline]
    pub(super) fn note_change(
        &mut self,
        call: &Call,
        sent: Result<(), NoCredit>,
    ) -> Result<(), NoCredit> {
        match self.listings {
            Some(_) if sent.is_ok() => self.note_leased(call),
            _ => {}
        }
        sent
    }

    #[cold]
    fn note_leased(&mut self, call: &Call) {
        let Some(listings) = &mut self.listings else {
            return;
        };
        if call.operation.kind == OpKind::CopyInClose {
            let client = self.held[call.member].client;
            let number = call.operation.file;
            listings.make(call.slot, MadeFile { client, number });
        }
        let own = self.cache.key(call.member, Object::Directory(0));
        let place = self.places.get_mut(call.slot as usize);
        // Opens with a lease name that of their directory.
        let names_lease = match &place {
            Some(place)
                if place.caching == CachingNews::Grant
                    && matches!(call.operation.kind, OpKind::CopyInCreate | OpKind::Create) =>
            {
                NamesLease::Yes(own)
            }
            _ => NamesLease::No,
        };
        if let Some(place) = place
            && place.caching == CachingNews::None
        {
            place.caching = CachingNews::Listing;
        }
        for ended in listings.change(call, names_lease, clock::now()) {
            self.cache
                .close(self.held[ended.member].session, ended.open);
        }
    }
}

/// Returns the least number of names that a listing has. Only a tree says which names are there,
/// and only all of them are counted.
fn names_of(mix: &Mix, call: &Call) -> usize {
    match (mix.files().tree(), mix.action(&call.operation)) {
        (Some(tree), Action::List { pattern, .. }) if pattern == "*" => {
            tree.children(call.operation.file).len()
        }
        _ => 0,
    }
}

impl<E> GroupState<E> {
    /// Processes what an answer says about caching.
    #[cold]
    pub(super) fn caching_answered(
        &mut self,
        news: CachingNews,
        done: &Completion<'_>,
        answer: Option<&mut Answer<'_>>,
        now: Nanos,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        let granted = match news {
            CachingNews::Grant => caching::granted(done).map_err(ProtocolError::from)?,
            CachingNews::None | CachingNews::Listing | CachingNews::Watch => None,
        };
        if let Some(granted) = granted {
            sink.granted(granted);
        }
        let answer = answer.filter(|answer| answer.extent != Extent::Part);
        if let (Some(listings), Some(answer)) = (&mut self.listings, answer) {
            listings.answered(answer, granted, now);
            listings.report(sink);
            let is_notice = news == CachingNews::Watch && listings::is_notice(answer.status);
            if is_notice || listings.shows_nothing_new(answer) {
                answer.extent = Extent::Apart;
            }
        }
        Ok(())
    }

    /// Processes the interim answer to a request of a slot.
    pub(super) fn pending(&mut self, slot: u32, now: Nanos) {
        if let Some(listings) = &mut self.listings {
            listings.watching(slot, now);
        }
    }

    /// Returns whether there are answers from memory, instead of waiting for data.
    #[inline]
    pub(super) fn poll_listings(&mut self, context: &Context<'_>) -> Poll<Result<usize, Dropped>> {
        match self.listings.as_mut().map(|listings| listings.turn()) {
            Some(CachedTurn::Now) => Poll::Ready(Ok(0)),
            Some(CachedTurn::Others) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Some(CachedTurn::Nothing) | None => Poll::Pending,
        }
    }

    /// Ends the listings under a lease that the server breaks.
    pub(super) fn listings_broken(
        &mut self,
        notification: &BreakNotification,
        now: Nanos,
        sink: &mut impl Sink,
    ) {
        let (Some(listings), BreakNotification::Lease(broken)) = (&mut self.listings, notification)
        else {
            return;
        };
        for ended in listings.broken(broken.key, now) {
            self.cache
                .close(self.held[ended.member].session, ended.open);
        }
        listings.report(sink);
    }
}
