package core

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// run is argv, understood, and then as it came about.
var run *settings

var driver Driver

var dying sync.Mutex // once locked it stays so: the first thread that fails has the word

// Die ends the run with exit 1 and the sentence "memtest: STACK: ..." on stderr; where the library may refuse, with exit
// 77 and its words as the reason.
func Die(format string, arguments ...any) {
	dying.Lock()
	if refusable != "" {
		endUnsupported(lacking(refusable + ": " + fmt.Sprintf(format, arguments...)))
	}
	fmt.Fprintf(os.Stderr, "memtest: %s: %s\n", driver.Name(), fmt.Sprintf(format, arguments...))
	os.Exit(1)
}

// Main is the whole program: 0 measured, 1 failed, 2 usage, 77 unsupported.
func Main(argv []string, of Driver) int {
	driver = of
	asked, err := parse(argv)
	if errors.Is(err, errUsage) {
		fmt.Fprintln(os.Stderr, err)
		return 2
	} else if err != nil {
		fmt.Fprintf(os.Stderr, "memtest: %v\n", err)
		return 2
	}
	run = asked
	environmentApply(argv)
	recordOpen()
	note("GOGC=100, GOMEMLIMIT=off: Go's defaults, whatever the environment says")
	if run.timed() {
		note("clock: CLOCK_MONOTONIC, which Go reads without a system call; CLOCK_MONOTONIC_RAW it does not")
	} else {
		if !collects {
			note("left alone: no phase's end has the runtime collect or give back what is free")
		}
		meterOpen()
	}
	reason := unsupported()
	recordRun()
	if reason != "" {
		endUnsupported(reason)
	}
	if !run.timed() {
		wiresOpen(run.sessions)
		peerMustAgree()
		sessions = make([]*session, run.sessions)
	}
	map[string]func(){
		memoryScenario:     memory,
		stallScenario:      stall,
		churnScenario:      churn,
		contextsScenario:   manyContexts,
		handshakeScenario:  handshakes,
		throughputScenario: transfers,
	}[run.scenario]()
	return 0
}

// unsupported is why this run cannot be made, by any program in Go or by this driver; empty when it can.
func unsupported() string {
	if preloaded := strings.TrimSpace(os.Getenv("LD_PRELOAD")); preloaded != "" {
		return fmt.Sprintf("a Go program calls no malloc, and loads no library: LD_PRELOAD=%s has no effect", preloaded)
	}
	if run.threads > 1 && !run.timed() {
		return fmt.Sprintf("threads=%d: Go's scheduler places goroutines, so no thread has a share of the sessions", run.threads)
	}
	lacks := driver.Supports(&run.suite)
	if lacks == "" && run.scenario == stallScenario {
		lacks = stallLacks()
	}
	if _, names := driver.(Namer); lacks == "" && run.contexts.names > 1 && !names {
		lacks = "this driver serves one name"
	}
	if lacks == "" && run.contexts.cas > 1 && run.suite.Auth == "none" {
		lacks = "auth=none: clients verify nobody, so they have no store of roots"
	}
	if lacks != "" {
		return lacking(lacks)
	}
	return ""
}
