package core

import (
	"fmt"
	"strings"
)

// Lockstep: nobody takes a step before everybody has taken the previous one, in the other process too.

const (
	shortBytes  = 1024      // what a session sends and receives at least once
	recordBytes = 16 * 1024 // the most that a record holds: its plaintext
	pairsAtOnce = 1000      // in flight: wires hold no more than a record of each
	maxSteps    = 10
)

// pairs are [first, first+count), and which of their sessions are here: in another process, or freed, they are not.
type pairs struct {
	first, count int
	has          [2]bool
	hasPair      func(pair int) bool // or nil: all of them
}

// heldPairs have the sessions that this process holds.
func heldPairs(first, count int) pairs {
	return pairs{first: first, count: count, has: run.holds}
}

func (of pairs) only(role Role) pairs {
	of.has[1-role] = false
	return of
}

// sessions has both ends of every pair, nil where there is none. Its eight bytes a session are the harness's.
var sessions []*session

func (of pairs) each(visit func(pair int, role Role)) {
	for pair := of.first; pair < of.first+of.count; pair++ {
		if of.hasPair != nil && !of.hasPair(pair) {
			continue
		}
		peerMustLive()
		for _, role := range roles {
			if of.has[role] {
				visit(pair, role)
			}
		}
	}
}

func (of pairs) eachSession(visit func(it *session)) {
	of.each(func(pair int, role Role) { visit(sessions[2*pair+int(role)]) })
}

// sessionsNew makes sessions; with resume=on each of them is about to be resumed.
func sessionsNew(contexts [2]any, of pairs) {
	if run.suite.Resume {
		sessionsNewResumed(contexts, of)
	} else {
		sessionsNewFull(contexts, of)
	}
}

func sessionsNewFull(contexts [2]any, of pairs) {
	of.each(func(pair int, role Role) {
		context := contexts[role]
		if role == Client && run.memory.eachClient {
			context = clientContexts[pair]
		}
		sessions[2*pair+int(role)] = newSession(context, pair, role)
	})
}

// stepAll steps every session of a role once, here or in the other process; true when all of them are complete.
func stepAll(role Role, of pairs) bool {
	complete := true
	of.only(role).eachSession(func(it *session) {
		complete = it.step() && complete
	})
	return meet(role, complete)
}

func handshake(of pairs, begin func(phase string), end func()) {
	var complete [2]bool
	for k := 1; !complete[Client] || !complete[Server]; k++ {
		if k > maxSteps {
			refusalsEnd()
			Die("handshakes incomplete after %d steps", maxSteps)
		}
		for _, role := range roles {
			begin(fmt.Sprintf("%s %d", role, k))
			complete[role] = stepAll(role, of)
			end()
		}
	}
}

// established is one more step of each, which reads tickets and writes nothing: every goroutine then waits in Read.
func established(of pairs) {
	for _, role := range roles {
		if !stepAll(role, of) {
			Die("a complete %s session fell back into its handshake", role)
		}
	}
}

var outbox [recordBytes]byte

// payloadOf is the first bytes of a payload that no other pair or direction has; every harness sends the same.
func payloadOf(from Role, pair, size int) []byte {
	for i := range outbox[:size] {
		outbox[i] = byte((i ^ (pair >> (8 * (i % 4)))) + 101*int(from))
	}
	return outbox[:size]
}

func payload(from Role, of pairs, size int) {
	end := of.first + of.count
	for some := of; some.first < end; some.first += some.count {
		some.count = min(end-some.first, pairsAtOnce)
		some.only(from).eachSession(func(it *session) { payloadWrite(it, size) })
		meet(from, true)
		some.only(1 - from).eachSession(func(it *session) { payloadRead(it, size) })
		meet(1-from, true)
	}
}

// payloadWrite is done by this goroutine, while the session's own waits in Read.
func payloadWrite(it *session, size int) {
	taken, err := it.Session.Write(payloadOf(it.role(), it.pair(), size))
	if err != nil {
		Die("%s %d: write: %v", it.role(), it.pair(), err)
	}
	if taken != size {
		Die("%s %d took %d bytes of a payload of %d", it.role(), it.pair(), taken, size)
	}
}

func payloadRead(it *session, size int) {
	it.step()
	if inbox.size != size {
		Die("%s %d received %d bytes of a payload of %d", it.role(), it.pair(), inbox.size, size)
	}
	if string(inbox.bytes[:size]) != string(payloadOf(1-it.role(), it.pair(), size)) {
		Die("%s %d received other bytes than were sent", it.role(), it.pair())
	}
}

// waitInRead has each go on to where it waits in Read again.
func waitInRead(of pairs) {
	of.eachSession(func(it *session) {
		it.step()
		if inbox.size > 0 {
			Die("%s %d received more than was sent", it.role(), it.pair())
		}
	})
}

func sessionsFree(of pairs) {
	of.each(func(pair int, role Role) {
		sessions[2*pair+int(role)].free()
		sessions[2*pair+int(role)] = nil
	})
}

// sessionsVerify ends the run at the first difference from the suite, else gives what the last of each role agreed on.
func sessionsVerify(of pairs, result *[2]Negotiated) {
	asked, resumed := 0, 0
	of.eachSession(func(it *session) {
		result[it.role()] = agrees(it.role(), it.pair(), it)
		retryAgrees(it.role(), it.pair(), it.first.seen())
		if it.role() == Server && result[Server].PeerVerified {
			clientVerified(it.pair(), result[Server].Peer)
		}
		asked++
		if !result[it.role()].Resumed {
			return
		}
		resumed++
		if !run.suite.Resume {
			Die("%s %d resumed a session, the suite asks for a full handshake", it.role(), it.pair())
		}
	})
	if run.suite.Resume && resumed < asked {
		Die("resumed %d of %d sessions, the suite asks for all; a store that is full has dropped what was not yet "+
			"offered again, so let fewer pairs wait for it: window=, or fewer sessions", resumed, asked)
	}
}

// agrees is what the session agreed on. It ends the run where that is not as the suite asks, but for resumption.
func agrees(role Role, index int, it Session) Negotiated {
	verifies := run.suite.Auth == "mutual" || role == Client && run.suite.Auth != "none"
	found := it.Negotiated()
	same := func(what, negotiated, asked string) {
		if negotiated == "" {
			Die("%s %d did not tell its %s", role, index, what)
		}
		if !strings.EqualFold(negotiated, asked) {
			Die("%s %d negotiated %s %s, the suite asks for %s", role, index, what, negotiated, asked)
		}
	}
	same("protocol", found.Protocol, run.suite.Protocol)
	same("cipher", found.Cipher, run.suite.Cipher)
	same("group", found.Group, run.suite.Group)
	found.Group = run.suite.Group // in the suite's spelling
	if found.PeerVerified != verifies {
		how := map[bool]string{true: "did not verify", false: "verified"}[verifies]
		Die("%s %d %s its peer, the suite asks for auth=%s", role, index, how, run.suite.Auth)
	}
	return found
}
