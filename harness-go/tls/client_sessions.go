package main

import (
	"crypto/tls"
	"sync/atomic"

	"memtest/core"
)

// clientSessions is what clients get of their servers: counted, and kept, as the library's own cache keeps it, only where
// a later session is to be resumed. Without one a client asks for no ticket.
type clientSessions struct{ kept tls.ClientSessionCache }

var tickets atomic.Uint64

func newClientSessions(suite *core.Suite) *clientSessions {
	if suite.Resume {
		return &clientSessions{tls.NewLRUClientSessionCache(0)}
	}
	return &clientSessions{}
}

func (it *clientSessions) Get(key string) (*tls.ClientSessionState, bool) {
	if it.kept == nil {
		return nil, false
	}
	return it.kept.Get(key)
}

func (it *clientSessions) Put(key string, state *tls.ClientSessionState) {
	if state != nil { // else an old one is to be forgotten
		tickets.Add(1)
	}
	if it.kept != nil {
		it.kept.Put(key, state)
	}
}

func (driver) Tickets() uint64 { return tickets.Load() }
