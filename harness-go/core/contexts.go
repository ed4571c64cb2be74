package core

import "os"

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

// certsMayBeRefused: of kinds that not every stack takes. What the library says of them is then a refusal.
func certsMayBeRefused() bool {
	_, err := os.Stat(run.suite.Certs + "/may-be-refused")
	return err == nil
}

func contextsNew() {
	for _, role := range roles {
		if run.holds[role] && !(run.memory.eachClient && role == Client) {
			contexts[role] = driver.Context(role, &run.suite)
		}
	}
	if run.memory.eachClient {
		clientsOpen()
	}
}

// warmUpPairs is one pair; where each client has a context of its own, one of each context.
func warmUpPairs() pairs {
	if run.memory.eachClient {
		return heldPairs(0, run.sessions/2)
	}
	return heldPairs(0, 1)
}

func contextsOpen() {
	first := warmUpPairs()
	refusable := certsMayBeRefused()
	if refusable {
		refusalsBegin("does not take the suite's certificates")
	}
	contextsNew()
	sessionsNew(contexts, first)
	handshake(first, unheard, unseen)
	established(first)
	if refusable {
		refusalsEnd()
	}
	use(first, unheard, unseen)
	sessionsVerify(first, &result)
	ticketsVerify(first.count)
	sessionsFree(first)
	wiresReset(first)
	ticketsBegin()
}

func contextsFree() {
	contexts = [2]any{}
	clientsFree()
}
