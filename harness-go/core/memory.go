package core

import (
	"os"
)

// Scenario `memory`: what N sessions hold at the end of every phase, from contexts to freed.

var (
	contexts           [2]any
	phase              string
	quiet              bool // windows before the last are not recorded
	complete, verified bool
	result             [2]Negotiated
)

// pairsOf are the pairs while their handshakes go on.
func pairsOf(first, count int) pairs {
	return pairs{first, count, run.holds}
}

// keptPairs are all pairs, with what is left of them when their windows are done.
func keptPairs() pairs {
	has := [2]bool{run.holds[Client] && run.keeps[Client], run.holds[Server] && run.keeps[Server]}
	return pairs{0, run.sessions / 2, has}
}

// verifyAll is done once: no measurement without it.
func verifyAll() {
	if complete && !verified {
		sessionsVerify(keptPairs(), &result)
	}
	verified = complete
}

func begin(name string) {
	if !quiet {
		phase = name
		meterReset()
	}
}

// finish reads between two meetings: both processes are done with the phase, and neither begins the next.
func finish() {
	if quiet {
		return
	}
	last := run.until != nil && *run.until == phase
	meet(Client, true)
	recordPhase(phase, meterRead())
	if run.marks {
		meterMark(phase)
	}
	if last {
		verifyAll()
	}
	meet(Client, true)
	if last {
		recordEnd(verified)
		os.Exit(0) // frees nothing
	}
}

// use has each end send and receive, as much as data= has it, and then wait in Read.
func use(of pairs, begin func(phase string), end func()) {
	exchange := func(phase string, from Role, size int) {
		begin(phase)
		payload(from, of, size)
		end()
	}
	exchange("payload", Client, shortBytes)
	exchange("reply", Server, shortBytes)
	if !run.suite.FullRecords {
		return
	}
	exchange("full payload", Client, recordBytes)
	exchange("full reply", Server, recordBytes)
	begin("blocked")
	waitInRead(of)
	end()
}

// warmUp is one pair, used and freed: what a library allocates once does not look like a session's.
func warmUp() {
	first := pairsOf(0, 1)
	if run.eachClient {
		first = pairsOf(0, run.sessions/2) // what each context makes once
	}
	sessionsNew(contexts, first)
	handshake(first, func(string) {}, func() {})
	established(first)
	use(first, func(string) {}, func() {})
	sessionsVerify(first, &result)
	sessionsFree(first)
	wiresReset(first)
}

func openContexts() {
	begin("contexts")
	for _, role := range roles {
		if run.holds[role] && !(run.eachClient && role == Client) {
			contexts[role] = driver.Context(role, &run.suite)
		}
	}
	if run.eachClient {
		clientsOpen()
	}
	warmUp()
	meterTrim()
	finish()
}

// freePeers: of a window that is done one role stays. Its peers were verified first, since nobody can tell later; with
// data=full it was used, since later there is nobody to send to.
func freePeers(window pairs) {
	if run.suite.FullRecords {
		use(window, func(string) {}, func() {})
	}
	sessionsVerify(window, &result)
	window.has = [2]bool{!run.keeps[Client], !run.keeps[Server]}
	sessionsFree(window)
}

// openSessions admits a window of pairs at a time. The first takes the remainder, so that the last, which is recorded,
// is full.
func openSessions() {
	count := run.sessions / 2
	size := run.window
	if count%run.window > 0 {
		size = count % run.window
	}
	for first := 0; first < count; first, size = first+size, run.window {
		window := pairsOf(first, size)
		quiet = first+size < count
		begin("sessions")
		sessionsNew(contexts, window)
		finish()
		handshake(window, begin, finish)
		if quiet || !run.keepsBoth() {
			established(window) // as a server that goes on to read: the next window meets sessions at rest
		}
		if !run.keepsBoth() {
			freePeers(window)
		}
	}
}

// restWithoutPeers is about those that stayed when their peers were freed: all at rest or, with data=full, all in use.
func restWithoutPeers() {
	begin(map[bool]string{false: "established", true: "blocked"}[run.suite.FullRecords])
	if run.suite.FullRecords {
		waitInRead(keptPairs())
	} else {
		established(keptPairs())
	}
	complete = true
	finish()
}

func useSessions() {
	begin("established")
	established(keptPairs())
	complete = true
	finish()
	use(keptPairs(), begin, finish)
}

func closeSessions() {
	verifyAll()
	begin("closed")
	sessionsFree(keptPairs())
	finish()
	begin("trimmed")
	meterTrim()
	finish()
	begin("freed")
	contexts = [2]any{}
	clientsFree()
	finish()
}

func memory() {
	wiresOpen(run.sessions)
	peerMustAgree()
	sessions = make([]*session, run.sessions)
	openContexts()
	openSessions()
	if run.keepsBoth() {
		useSessions()
	} else {
		restWithoutPeers()
	}
	begin("idle")
	finish()
	closeSessions()
	if run.until != nil {
		Die("until=%s: no such phase in this run", *run.until)
	}
	recordEnd(true)
}
