package core

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	refusalsEnd() // not what this process's library does not take
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

const termBytes = 128

// terms are what both must have been started with, each as in argv, in the order of memtest/barrier.c: certificates may
// lie in a directory of each one's own.
func terms() [18]string {
	suite := &run.suite
	until, mark, tickets, store, resume, data := "", 0, "library", "off", "off", "short"
	if run.until != nil {
		until = *run.until
	}
	if run.marks {
		mark = 1
	}
	if suite.Tickets != TicketsLibrary {
		tickets = strconv.Itoa(suite.Tickets)
	}
	if run.suite.FullRecords {
		data = "full"
	}
	if suite.Store {
		store = "on"
	}
	if suite.Resume {
		resume = "on"
	}
	return [...]string{
		"role=" + (1 - peerRole()).String(),
		fmt.Sprint("sessions=", run.sessions),
		fmt.Sprint("window=", run.memory.window),
		fmt.Sprint("threads=", run.threads),
		"until=" + until,
		fmt.Sprint("marks=", mark),
		"protocol=" + suite.Protocol,
		"cipher=" + suite.Cipher,
		"group=" + suite.Group,
		"client_groups=" + suite.ClientGroups,
		"auth=" + suite.Auth,
		"tickets=" + tickets,
		"store=" + store,
		"resume=" + resume,
		"options=" + suite.Options,
		"client_certs=" + map[bool]string{false: "same", true: "each"}[run.memory.eachClient],
		"data=" + data,
		scenarioTerm(),
	}
}

// scenarioTerm is with the keys of churn that both must have alike.
func scenarioTerm() string {
	if run.scenario == churnScenario {
		return fmt.Sprintf("scenario=churn pattern=%s waves=%d seed=%d", run.churn.pattern, run.churn.waves, run.churn.seed)
	}
	return "scenario=" + run.scenario
}

// peerMustAgree is the first meeting. Under other arguments the two would part somewhere later, and neither could say why.
func peerMustAgree() {
	if run.alone() {
		return
	}
	mine := terms()
	var sent, received [len(mine) * termBytes]byte
	for i := range mine {
		mine[i] = mine[i][:min(len(mine[i]), termBytes-1)]
		copy(sent[i*termBytes:], mine[i])
	}
	swap(sent[:], received[:])
	for i, term := range mine {
		theirs, _, _ := strings.Cut(string(received[i*termBytes:(i+1)*termBytes]), "\x00")
		switch same := strings.EqualFold(term, theirs); {
		case i == 0 && same:
			Die("the other process was started with %s too", term)
		case i > 0 && !same:
			Die("the %s's process was started with %s, this one with %s", peerRole(), theirs, term)
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
