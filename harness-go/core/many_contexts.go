package core

import (
	"fmt"
	"syscall"
)

// Scenario `contexts`: what contexts hold, apart from sessions. One for all sessions of a role, or one each; of clients
// with as many trusted roots, of servers with as many names, as argv has them. As in memtest/many_contexts.c.
//
// The files are beside those of the suite: cas-N/root.pem has N roots, the suite's among them; names/N/chain.pem and
// key.pem are of one name.

var (
	suites      [2]Suite // by role
	ownContexts [2][]any // by role and pair, where sessions have contexts of their own
)

// beside is a directory beside the suite's files, which must have this file.
func beside(directory, file string) string {
	path := run.suite.Certs + "/" + directory
	if whole := path + "/" + file; syscall.Access(whole, 4) != nil {
		Die("%s: there is no such file; memtest/certs/make_many.py makes those that there can be", whole)
	}
	return path
}

func namePath(number int) string {
	return beside(fmt.Sprintf("names/%05d", number), "chain.pem")
}

func suitesOpen() {
	suites = [2]Suite{run.suite, run.suite}
	if run.contexts.cas > 1 {
		suites[Client].Certs = beside(fmt.Sprintf("cas-%d", run.contexts.cas), "root.pem")
	}
	if run.contexts.names > 1 {
		namePath(run.contexts.names - 1)
	}
	for _, role := range roles {
		if !run.contexts.shares[role] {
			ownContexts[role] = make([]any, run.sessions/2) // eight bytes and eight more a context are the harness's
		}
	}
}

// addNames adds those from `first` on.
func addNames(context any, first int) {
	for number := first; number < run.contexts.names; number++ {
		suite := run.suite
		suite.Certs = namePath(number)
		driver.(Namer).AddName(context, serverName(number), &suite)
	}
}

// warmUpContexts uses a pair with contexts of its own, which asks for the last name. What the library takes once for the
// process, it takes here; and what it refuses of a store or a name is a refusal.
func warmUpContexts() {
	first := heldPairs(0, 1)
	if run.contexts.cas > 1 {
		refusalsBegin("does not take this many trusted roots")
	}
	contexts[Client] = driver.Context(Client, &suites[Client])
	refusalsEnd()
	contexts[Server] = driver.Context(Server, &suites[Server])
	if run.contexts.names > 1 {
		refusalsBegin("does not take a certificate for a name")
		addNames(contexts[Server], run.contexts.names-1)
		refusalsEnd()
	}
	sessionsNew(contexts, first)
	handshake(first, unheard, unseen)
	established(first)
	sessionsVerify(first, &result)
	use(first, unheard, unseen)
	sessionsFree(first)
	wiresReset(first)
	contextsFree()
}

func openContext(pair int, role Role) {
	if run.contexts.shares[role] && pair > 0 {
		return
	}
	context := driver.Context(role, &suites[role])
	if role == Server {
		addNames(context, 1)
	}
	if run.contexts.shares[role] {
		contexts[role] = context
	} else {
		ownContexts[role][pair] = context
	}
}

func newSessionOfContext(pair int, role Role) {
	context := contexts[role]
	if !run.contexts.shares[role] {
		context = ownContexts[role][pair]
	}
	sessions[2*pair+int(role)] = newSession(context, pair, role)
}

func manyContexts() {
	all, complete := allPairs(), false
	suitesOpen()
	phasesOpen(func() bool { return complete })
	during("library", func() {
		warmUpContexts()
		meterTrim()
	})
	during("opened", func() { all.each(openContext) })
	during("established", func() {
		all.each(newSessionOfContext)
		handshake(all, unheard, unseen)
		established(all)
		sessionsVerify(all, &result)
		complete = true
	})
	during("closed", func() { sessionsFree(all) })
	during("freed", func() {
		contextsFree()
		for _, role := range roles {
			clear(ownContexts[role])
		}
	})
	during("trimmed", meterTrim)
	phasesClose()
}
