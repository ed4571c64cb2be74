package core

import (
	"encoding/binary"
	"errors"
	"syscall"
)

// Two processes in one lockstep: a byte each way over a stream socket says that both have come this far. When a process
// ends, however it ends, the kernel closes its end, and the other reads that at once. As in memtest/barrier.c.

func peerRole() Role {
	if run.holds[Client] {
		return Server
	}
	return Client
}

func peerEnded() {
	Die("the %s's process has ended", peerRole())
}

// swapMust ends the run here unless all was sent or received.
func swapMust(done, size int, err error) {
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		Die("barrier=%d: %v", run.barrierFd, err)
	}
	if done != size {
		peerEnded()
	}
}

func swap(mine, theirs []byte) {
	done, err := send(run.barrierFd, mine)
	swapMust(done, len(mine), err)
	done, err = receive(run.barrierFd, theirs)
	for errors.Is(err, syscall.EINTR) { // nothing was received: with something, it would have been said
		done, err = receive(run.barrierFd, theirs)
	}
	swapMust(done, len(theirs), err)
}

// peerMustAgree is the first meeting. Under other arguments the two would part somewhere later, and neither could say why.
func peerMustAgree() {
	if run.alone() {
		return
	}
	client := uint64(0)
	if run.holds[Client] {
		client = 1
	}
	keys := [...]string{"sessions", "window", "threads", "role"}
	values := [...]uint64{uint64(run.sessions), uint64(run.window), uint64(run.threads), client}
	var mine, theirs [8 * len(values)]byte
	for i, value := range values {
		binary.NativeEndian.PutUint64(mine[8*i:], value)
	}
	swap(mine[:], theirs[:])
	if binary.NativeEndian.Uint64(theirs[8*3:]) == client {
		Die("the other process was started with role=%s too", 1-peerRole())
	}
	for i, key := range keys[:3] {
		if other := binary.NativeEndian.Uint64(theirs[8*i:]); other != values[i] {
			Die("the %s's process was started with %s=%d, this one with %s=%d", peerRole(), key, other, key, values[i])
		}
	}
}

var byteOfMine, byteOfTheirs [1]byte

// meet waits until the other process is here too; the value is that of the process which holds `role`.
func meet(role Role, value bool) bool {
	if run.alone() {
		return value
	}
	byteOfMine[0] = 0
	if value {
		byteOfMine[0] = 1
	}
	swap(byteOfMine[:], byteOfTheirs[:])
	if run.holds[role] {
		return value
	}
	return byteOfTheirs[0] != 0
}

// peerMustLive does not wait.
func peerMustLive() {
	if !run.alone() && ended(run.barrierFd) {
		peerEnded()
	}
}
