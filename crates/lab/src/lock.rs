//! Locks that stay usable after a panic of another holder.
//!
//! Invariant: every critical section of this crate keeps its data valid at each
//! step. So a poisoned lock is still usable, and one failed request does not
//! make all later ones fail.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Takes shared access to `lock`.
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Takes exclusive access to `lock`.
pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
