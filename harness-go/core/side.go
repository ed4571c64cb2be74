package core

import "iter"

// side is one role of a timed pair: the session of the round, the goroutine that it blocks, and its end of the link. A
// library that blocks is timed by handing over: the thread's goroutine switches to the session's, which switches back
// when it waits for bytes that are not there. Exactly one of them runs, on one thread, and the runtime's coroutines
// (iter.Pull) switch without its scheduler. The goroutine is that of all sessions of a role, one after the other, so its
// stack has grown before the first is timed.
type side struct {
	link
	role     Role
	index    int // of the thread
	session  Session
	inbox    []byte // what it reads when it is complete: a whole round's, from its start on
	size     int    // of what it read in this round
	complete bool
	over     bool
	next     func() (struct{}, bool)
	stop     func()
	turns    int
}

func (it *side) open(role Role, index int, in, out *flow) {
	it.role, it.index, it.link.in, it.link.out = role, index, in, out
	it.next, it.stop = iter.Pull(func(handOver func(struct{}) bool) {
		it.wait = func() bool { return handOver(struct{}{}) && !it.over }
		for handOver(struct{}{}) {
			if it.session != nil { // else the turn was an empty one
				it.serve()
			}
		}
	})
	it.next()
}

// turn lets the session go on until it waits; it is due when the session is incomplete, or has something to read.
func (it *side) turn() {
	it.turns++
	it.next()
}

func (it *side) due() bool { return !it.complete || it.unread() }

// serve is what a connection's goroutine does in Go: the handshake, and reading until it is over.
func (it *side) serve() {
	if err := it.session.Handshake(); err != nil {
		Die("%s %d: handshake: %v", it.role, it.index, err)
	}
	it.complete = true
	for { // the Read that waits at a round's end is that of the next
		given, err := it.session.Read(it.inbox[it.size%len(it.inbox):])
		if err != nil && it.over {
			return
		} else if err != nil {
			Die("%s %d: read: %v", it.role, it.index, err)
		}
		it.size += given
	}
}

// end has the session's Read fail, as that of a closed connection, and its goroutine wait for another session.
func (it *side) end() {
	it.over = true
	it.next()
	it.over, it.complete, it.size = false, false, 0
}
