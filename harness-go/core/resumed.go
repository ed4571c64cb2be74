package core

import "runtime"

// Sessions that are resumed: pair by pair, an earlier pair completes its handshake and is gone before the session that
// counts is made. What it leaves is in the contexts: a library in Go keeps there what clients got.
func sessionsNewResumed(contexts [2]any, of pairs) {
	for pair := of.first; pair < of.first+of.count; pair++ {
		if of.hasPair != nil && !of.hasPair(pair) {
			continue
		}
		one := pairs{first: pair, count: 1, has: of.has}
		before := ticketsReceived()
		sessionsNewFull(contexts, one)
		handshake(one, unheard, unseen)
		established(one)
		sessionsFree(one)
		ticketsLeaveOut(before)
		wiresReset(one)
		meet(Client, true) // the other process has reset it too
		sessionsNewFull(contexts, one)
	}
	if collects {
		runtime.GC() // what the earlier sessions were is no peak of those that count
	}
}

// Tickets is a driver that can tell how many tickets the clients of this process have received.
type Tickets interface {
	Tickets() uint64
}

var ticketsUncounted uint64 // of all that the driver tells of

func ticketsTold() uint64 {
	if it, tells := driver.(Tickets); tells {
		return it.Tickets()
	}
	return 0
}

// ticketsReceived is since ticketsBegin, but for those left out.
func ticketsReceived() uint64 { return ticketsTold() - ticketsUncounted }

func ticketsBegin() { ticketsUncounted = ticketsTold() }

// ticketsLeaveOut leaves out what came since there were so many.
func ticketsLeaveOut(before uint64) { ticketsUncounted += ticketsReceived() - before }

// ticketsVerify ends the run unless the clients received as many as the suite asks for. A session that was resumed may
// get fewer.
func ticketsVerify(clients int) {
	suite := &run.suite
	if _, tells := driver.(Tickets); !tells || suite.Tickets == TicketsLibrary || !run.holds[Client] {
		return
	}
	each := suite.Tickets
	if suite.Protocol == "TLSv1.2" { // there is one, and none where the server keeps the session itself
		each = min(each, 1)
		if suite.Store {
			each = 0
		}
	}
	asked, received := uint64(clients*each), ticketsReceived()
	if received > asked || received < asked && !suite.Resume {
		Die("clients received %d tickets in %d sessions, the suite asks for %d", received, clients, asked)
	}
}
