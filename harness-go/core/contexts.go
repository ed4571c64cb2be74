package core

// Contexts, and what is done before anything counts: a pair is used and freed, so that what a library allocates once
// does not look like a session's.

var (
	contexts [2]any
	result   [2]Negotiated // by role: of the session that was verified last
)

func unheard(string) {}
func unseen()        {}

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

func warmUp() {
	first := heldPairs(0, 1)
	sessionsNew(contexts, first)
	handshake(first, unheard, unseen)
	established(first)
	use(first, unheard, unseen)
	sessionsVerify(first, &result)
	sessionsFree(first)
	wiresReset(first)
}

func contextsOpen() {
	for _, role := range roles {
		if run.holds[role] {
			contexts[role] = driver.Context(role, &run.suite)
		}
	}
	warmUp()
}

func contextsFree() {
	contexts = [2]any{}
}
