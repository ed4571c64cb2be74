//! What is kept of a session so that a later one resumes it: by a client, and by a server that issues ids.

use crate::client_sessions::ClientSessions;
use memtest_driver::{Suite, TICKETS_LIBRARY};
use rustls::client::{Resumption, Tls12Resumption};
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache};
use rustls::ServerConfig;
use std::sync::Arc;

/// As many as an OpenSSL server keeps by default. rustls' own 256 are as many as the core may have threads, and the
/// oldest would go. A session that is resumed in TLS 1.3 is taken out by a search from the oldest on: through those that
/// are kept, one for each client, however many there is room for.
const SERVER_SESSIONS: usize = 20_480;

/// By default there is a store, and a client resumes whatever is in it unasked: so without `resume` nothing is kept, also
/// where the server issues tickets, and every handshake is a full one.
pub fn of_client(suite: &Suite) -> Resumption {
    let tls12 = match suite.store {
        true => Tls12Resumption::SessionIdOnly,
        false => Tls12Resumption::SessionIdOrTickets,
    };
    match suite.resume || suite.tickets != 0 {
        true => Resumption::store(Arc::new(ClientSessions::new(suite.resume, !suite.store))).tls12_resumption(tls12),
        false => Resumption::disabled(),
    }
}

pub fn of_server(config: &mut ServerConfig, suite: &Suite) {
    if suite.tickets == TICKETS_LIBRARY {
        return; // 256 sessions, and ids of them in place of tickets
    }
    match suite.store {
        true => config.session_storage = ServerSessionMemoryCache::new(SERVER_SESSIONS),
        false => config.session_storage = Arc::new(NoServerSessionStorage {}),
    }
}

/// Without it, a server that has a store issues ids in its tickets' place.
pub fn by_ticketer(suite: &Suite) -> bool {
    suite.tickets > 0 && !suite.store
}
