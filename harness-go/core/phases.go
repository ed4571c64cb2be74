package core

import "os"

// The phases of a scenario of memory: what the meters are told when one begins, and what is read at its end.

var (
	phase string
	// areVerified is asked where until= ends the run: whether the sessions were complete, and negotiated the suite.
	areVerified func() bool
)

func phasesOpen(verified func() bool) {
	areVerified = verified
}

func phaseBegin(name string) {
	phase = name
	meterReset()
}

// phaseEnd reads between two meetings: both processes are done with the phase, and neither begins the next.
func phaseEnd() {
	last := run.until != nil && *run.until == phase
	verified := false
	meet(Client, true)
	recordPhase(phase, meterRead())
	if run.marks {
		meterMark(phase)
	}
	if last {
		verified = areVerified()
	}
	meet(Client, true)
	if last {
		recordEnd(verified)
		os.Exit(0) // frees nothing
	}
}

// during is a phase in which this is done.
func during(name string, act func()) {
	phaseBegin(name)
	act()
	phaseEnd()
}

// phasesClose: the last phase has ended.
func phasesClose() {
	if run.until != nil {
		Die("until=%s: no such phase in this run", *run.until)
	}
	recordEnd(true)
}
