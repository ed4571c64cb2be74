package core

import "fmt"

// Scenario `stall`: what sessions hold whose peers stop on the way. The core speaks for the peers: they are bytes, and
// cost nothing here. Each point is tried at one session first: what a library refuses is unsupported, with its words. As
// in memtest/stall.c.

var (
	peer          *end   // from which the core speaks to the session of the pair at hand
	stallReceived uint64 // that the sessions which count have been sent so far
	counts        bool
)

func refusedPoint() string {
	return "does not reach the point " + run.stall.point.name
}

func waiting(pair int) *session {
	return sessions[2*pair+int(run.stall.point.role)]
}

// notReached: the library does other than the point asks for: of the first session a refusal, of a later one a failure.
func notReached(pair int, why string) {
	if counts {
		Die("session %d %s, although the first one did: %s", pair, refusedPoint(), why)
	}
	refusalsBegin(refusedPoint())
	Die("%s", why)
}

// stallStep: what the library says of itself in a step is a refusal; before it and behind it, a failure is a failure.
func stallStep(it *session) bool {
	refusalsBegin(refusedPoint())
	defer refusalsEnd()
	return it.step()
}

// stallSend sends to the session that waits, which then takes a step.
func stallSend(pair int, bytes []byte) {
	if !peer.put(bytes) {
		Die("stall: the wire has no room for %d bytes", len(bytes))
	}
	if counts {
		stallReceived += uint64(len(bytes))
	}
	it := waiting(pair)
	for k := 0; k < maxSteps && it.unread(); k++ {
		if stallStep(it) && !run.stall.point.completes {
			Die("point %s: the session is complete, where it should wait", run.stall.point.name)
		}
	}
}

// intercept is what has arrived at an end, read before a session does; as much as there is room for.
func intercept(at *end, room []byte) []byte {
	size := 0
	for size < len(room) {
		more := at.take(room[size:])
		if more == 0 {
			break
		}
		size += more
	}
	return room[:size]
}

func check(pair int) {
	point, written := run.stall.point, peer.unread() // which nobody ever reads; a client's hello
	switch {
	case waiting(pair).unread():
		notReached(pair, "the session leaves bytes unread")
	case written && !point.answers && point.role == Server:
		notReached(pair, "the session answers, where it should wait for more")
	case !written && point.answers:
		notReached(pair, "the session writes nothing, where it should answer")
	}
}

func connect(pair int, role Role) {
	it := newSession(contexts[role], pair, role)
	sessions[2*pair+int(role)] = it
	if stallStep(it) {
		Die("a session is complete before its peer has sent anything")
	}
}

func stallOne(pair int, role Role) {
	peer = &end{index: uint32(2*pair) + uint32(1-role)}
	if run.stall.point.deliver != nil {
		run.stall.point.deliver(pair, run.stall.point)
	}
	check(pair)
}

func waitingPairs(count int) pairs {
	return pairs{count: count, has: [2]bool{run.stall.point.role == Client, run.stall.point.role == Server}}
}

// stallWarmUp: one session stalls and is freed before those that count.
func stallWarmUp() {
	first := waitingPairs(1)
	if run.stall.point.prepare != nil {
		run.stall.point.prepare(run.stall.point)
	}
	first.each(connect)
	first.each(stallOne)
	sessionsFree(first)
	wiresReset(first)
	counts = true
}

// stallLacks is why the suite has no such point, in a few words; empty where it has.
func stallLacks() string {
	suite, point := &run.suite, run.stall.point
	switch {
	case suite.Protocol == "none" && point.deliver != nil:
		return "without TLS no peer stops but one that sends nothing"
	case point.protocol != "" && suite.Protocol != point.protocol:
		return fmt.Sprintf("the point %s is of %s", point.name, point.protocol)
	case point.auth != "" && suite.Auth != point.auth:
		return fmt.Sprintf("the point %s is of mutual authentication", point.name)
	case point.ticket && suite.Tickets == 0:
		return fmt.Sprintf("the point %s is of a suite with tickets", point.name)
	}
	return ""
}

func stall() {
	all := waitingPairs(run.sessions / 2)
	phasesOpen(func() bool { return true }) // a pair was verified with the contexts
	during("contexts", func() {
		if run.stall.point.largeChain {
			refusalsBegin(refusedPoint())
		}
		contextsOpen()
		refusalsEnd()
		stallWarmUp()
		meterTrim()
	})
	during("connected", func() { all.each(connect) })
	during("stalled", func() { all.each(stallOne) })
	during("closed", func() { sessionsFree(all) })
	during("trimmed", meterTrim)
	during("freed", contextsFree)
	phasesClose()
}
