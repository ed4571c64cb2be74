package core

// Scenario `handshake`: pairs are made, complete their handshakes and are freed, one after the other.

var (
	newParts  = [2]part{clientNew, serverNew}
	stepParts = [2]part{clientSteps, serverSteps}
	freeParts = [2]part{clientFree, serverFree}
)

func (it *worker) sessionsNew() {
	for _, role := range roles {
		it.sides[role].begin()
		side, began := &it.sides[role], it.now()
		side.session = driver.Session(it.contexts[role], &side.link, ServerName)
		it.lapEnd(newParts[role], began, it.now())
	}
}

// complete reads the clock at every change of roles: what is between two readings is one role's.
func (it *worker) complete() {
	at := it.now()
	for k := 0; it.sides[Client].due() || it.sides[Server].due(); k++ {
		if k == maxSteps {
			Die("handshake %d of thread %d incomplete after %d steps", it.round, it.index, maxSteps)
		}
		for _, role := range roles {
			if it.sides[role].due() {
				it.sides[role].turn()
				end := it.now()
				it.lapEnd(stepParts[role], at, end)
				at = end
			}
		}
	}
}

// verify: `offered` is whether the client had something to resume.
func (it *worker) verify(offered bool) {
	for _, role := range roles {
		it.agreed[role] = agrees(role, it.index, it.sides[role].session)
		retryAgrees(role, it.index, it.sides[role].retried())
	}
	if more := it.sides[Client].size + it.sides[Server].size; more > 0 {
		Die("handshake %d of thread %d: %d bytes of application data arrived, and none were sent", it.round, it.index, more)
	}
	resumed := it.agreed[Client].Resumed
	if resumed != it.agreed[Server].Resumed {
		Die("handshake %d of thread %d: one end says that it was resumed, the other that it was not", it.round, it.index)
	}
	if resumed && !offered {
		but := "the suite asks for a full handshake"
		if run.suite.Resume {
			but = "and none was offered"
		}
		Die("handshake %d of thread %d resumed a session, %s", it.round, it.index, but)
	}
	if resumed {
		it.resumed++
	}
}

// sessionsFree: what nobody has any more is free; it is the collector that finds it, whenever that runs.
func (it *worker) sessionsFree() {
	for _, role := range roles {
		side := &it.sides[role]
		side.end()
		began := it.now()
		side.session = nil
		it.lapEnd(freeParts[role], began, it.now())
	}
}

func handshakeRound(it *worker) {
	it.sessionsNew()
	it.complete()
	it.verify(it.offers)
	it.offers = run.suite.Resume
	it.sessionsFree()
}

// The one full handshake that all resumed ones go back to.
func handshakeOpen(it *worker) {
	if run.suite.Resume {
		handshakeRound(it)
	}
}

func handshakes() {
	work(&timed{
		open:  handshakeOpen,
		round: handshakeRound,
		after: func(*worker) {},
		close: func(*worker) {},
		room:  256 * 1024,
		first: clientNew,
		last:  serverFree,
	})
}
