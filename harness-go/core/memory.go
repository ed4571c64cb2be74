package core

// Scenario `memory`: what N sessions hold at the end of every phase, from contexts to freed.

var (
	quiet              bool // windows before the last are not recorded
	complete, verified bool
)

// keptPairs are all pairs, with what is left of them when their windows are done.
func keptPairs() pairs {
	has := [2]bool{run.holds[Client] && run.memory.keeps[Client], run.holds[Server] && run.memory.keeps[Server]}
	return pairs{count: run.sessions / 2, has: has}
}

// verify is done once: no measurement without it.
func verify() bool {
	if complete && !verified {
		sessionsVerify(keptPairs(), &result)
		ticketsVerify(run.sessions / 2)
	}
	verified = complete
	return verified
}

func begin(name string) {
	if !quiet {
		phaseBegin(name)
	}
}

func finish() {
	if !quiet {
		phaseEnd()
	}
}

func openContexts() {
	begin("contexts")
	contextsOpen()
	meterTrim()
	finish()
}

// freePeers: of a window that is done one role stays. Its peers were verified first, since nobody can tell later; with
// data=full it was used, since later there is nobody to send to.
func freePeers(window pairs) {
	if run.suite.FullRecords {
		use(window, unheard, unseen)
	}
	sessionsVerify(window, &result)
	window.has = [2]bool{!run.memory.keeps[Client], !run.memory.keeps[Server]}
	sessionsFree(window)
}

// openSessions admits a window of pairs at a time. The first takes the remainder, so that the last, which is recorded,
// is full.
func openSessions() {
	count := run.sessions / 2
	size := run.memory.window
	if count%run.memory.window > 0 {
		size = count % run.memory.window
	}
	for first := 0; first < count; first, size = first+size, run.memory.window {
		window := heldPairs(first, size)
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
	verify()
	begin("closed")
	sessionsFree(keptPairs())
	finish()
	begin("trimmed")
	meterTrim()
	finish()
	begin("freed")
	contextsFree()
	finish()
}

func memory() {
	phasesOpen(verify)
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
	phasesClose()
}
