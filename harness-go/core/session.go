package core

import (
	"errors"
	"net"
	"time"
)

// session is one end of a pair: what the driver made, the goroutine that it blocks, and its end of the wire. As a Go
// server's connection it has a goroutine of its own for as long as it lives; one runs at a time, and it hands on.
type session struct {
	Session
	end
	resume   chan struct{} // closed: the session is over
	complete bool
}

var (
	parked  = make(chan struct{}) // whichever goroutine of a session runs comes here before the next may
	scratch [recordBytes + 1]byte
	inbox   struct { // what a session received in this step
		bytes [2 * recordBytes]byte
		size  int // also of what did not fit
	}
)

func newSession(context any, pair int, role Role) *session {
	it := &session{end: end{index: uint32(2*pair) + uint32(role)}, resume: make(chan struct{})}
	it.Session = driver.Session(context, wire{it}, nameOf(pair))
	go it.serve()
	<-parked
	return it
}

// step lets the session go on until it would block on the wire or its handshake is complete; true when it is.
func (it *session) step() bool {
	inbox.size = 0
	it.resume <- struct{}{}
	<-parked
	return it.complete
}

// free ends the goroutine; nobody has the session then, and the next collection finds it.
func (it *session) free() {
	close(it.resume)
	<-parked
}

// park ends this session's step; false when there is no next.
func (it *session) park() bool {
	parked <- struct{}{}
	_, more := <-it.resume
	return more
}

func (it *session) serve() {
	defer func() { parked <- struct{}{} }()
	if !it.park() {
		return
	}
	if err := it.Handshake(); errors.Is(err, net.ErrClosed) {
		return
	} else if err != nil {
		it.fail("handshake", err)
	}
	it.complete = true
	if !it.park() {
		return
	}
	for {
		given, err := it.Session.Read(scratch[:])
		if errors.Is(err, net.ErrClosed) {
			return
		} else if err != nil {
			it.fail("read", err)
		}
		copy(inbox.bytes[min(inbox.size, len(inbox.bytes)):], scratch[:given])
		inbox.size += given
	}
}

func (it *session) pair() int  { return int(it.index / 2) }
func (it *session) role() Role { return Role(it.index % 2) }

var errFull = errors.New("the wire is full")

// wire is the session's end as the library sees it: a connection whose reads block until the next step.
type wire struct{ *session }

func (it wire) Read(bytes []byte) (int, error) {
	for {
		if given := it.take(bytes); given > 0 {
			return given, nil
		}
		if !it.park() {
			return 0, net.ErrClosed
		}
	}
}

func (it wire) Write(bytes []byte) (int, error) {
	if len(bytes) > 0 && !it.put(bytes) {
		return 0, errFull
	}
	return len(bytes), nil
}

// Nobody asks these of it: there is no address, no time limit, and nothing to close.
func (wire) Close() error                     { return nil }
func (wire) LocalAddr() net.Addr              { return nil }
func (wire) RemoteAddr() net.Addr             { return nil }
func (wire) SetDeadline(time.Time) error      { return nil }
func (wire) SetReadDeadline(time.Time) error  { return nil }
func (wire) SetWriteDeadline(time.Time) error { return nil }
