package core

import (
	"net"
	"syscall"
)

// outside is memory that the collector neither sees nor counts: with what is the harness's in Go's heap it would collect
// less often.
func outside(size int) []byte {
	const flags = syscall.MAP_PRIVATE | syscall.MAP_ANON | syscall.MAP_NORESERVE
	bytes, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, flags)
	if err != nil {
		Die("%d bytes of memory: %v", size, err)
	}
	return bytes
}

// flow is one direction of a timed pair's connection. When it was read to its end it begins again at its start, so it
// stays as small in the caches as what is in flight.
type flow struct {
	bytes         []byte
	written, read int // since it was empty
	first         retryWatch
}

// traffic is what went over a link so far.
type traffic struct{ writes, reads, written, read int }

// link is a role's end: each write is one copy into the peer's flow, each read one out of its own. A read of what is not
// there waits for the next turn.
type link struct {
	wire    // what nobody asks of a connection
	in, out *flow
	traffic
	wait func() bool // false when there is no next turn
}

func (it *link) Write(bytes []byte) (int, error) {
	out := it.out
	if len(bytes) > len(out.bytes)-out.written {
		return 0, errFull
	}
	copy(out.bytes[out.written:], bytes)
	out.written += len(bytes)
	out.first.watch(bytes)
	it.writes++
	it.traffic.written += len(bytes)
	return len(bytes), nil
}

func (it *link) Read(bytes []byte) (int, error) {
	for !it.unread() {
		if !it.wait() {
			return 0, net.ErrClosed
		}
	}
	return it.take(bytes), nil
}

func (it *link) take(bytes []byte) int {
	in := it.in
	given := copy(bytes, in.bytes[in.read:in.written])
	in.read += given
	if in.read == in.written {
		in.read, in.written = 0, 0
	}
	it.reads++
	it.traffic.read += given
	return given
}

// begin: another session has this end now.
func (it *link) begin() { it.out.first = retryWatch{} }

// retried: of the two flows one is a server's; what a client sends first is no ServerHello.
func (it *link) retried() bool { return it.in.first.seen() || it.out.first.seen() }

func (it *link) unread() bool { return it.in.written > 0 }
