//! What a client's sessions get of their servers: counted, and kept only where a later one is to be resumed.

use crate::{Key, NamedGroup, Tls12State, Tls13State};
use memtest_driver::ticket_received;
use rustls::client::{ClientSessionMemoryCache, ClientSessionStore};

/// As many as the library keeps by default.
const CLIENT_SESSIONS: usize = 256;

#[derive(Debug)]
pub struct ClientSessions {
    kept: Option<ClientSessionMemoryCache>,
    /// In TLS 1.2 a session is kept by its id or by a ticket, and which of them is not told.
    by_ticket: bool,
}

impl ClientSessions {
    pub fn new(keeps: bool, by_ticket: bool) -> Self {
        Self { kept: keeps.then(|| ClientSessionMemoryCache::new(CLIENT_SESSIONS)), by_ticket }
    }
}

impl ClientSessionStore for ClientSessions {
    fn set_kx_hint(&self, key: Key<'static>, group: NamedGroup) {
        if let Some(kept) = &self.kept {
            kept.set_kx_hint(key, group);
        }
    }

    fn kx_hint(&self, key: &Key<'_>) -> Option<NamedGroup> {
        self.kept.as_ref()?.kx_hint(key)
    }

    fn set_tls12_session(&self, key: Key<'static>, state: Tls12State) {
        if self.by_ticket {
            ticket_received();
        }
        if let Some(kept) = &self.kept {
            kept.set_tls12_session(key, state);
        }
    }

    fn tls12_session(&self, key: &Key<'_>) -> Option<Tls12State> {
        self.kept.as_ref()?.tls12_session(key)
    }

    fn remove_tls12_session(&self, key: &Key<'static>) {
        if let Some(kept) = &self.kept {
            kept.remove_tls12_session(key);
        }
    }

    fn insert_tls13_ticket(&self, key: Key<'static>, state: Tls13State) {
        ticket_received();
        if let Some(kept) = &self.kept {
            kept.insert_tls13_ticket(key, state);
        }
    }

    fn take_tls13_ticket(&self, key: &Key<'static>) -> Option<Tls13State> {
        self.kept.as_ref()?.take_tls13_ticket(key)
    }
}
