package core

import (
	"fmt"
	"os"
)

// refusable names what a library refuses when it fails now; empty where a failure is one.
var refusable string

// refusalsBegin: until refusalsEnd, what the run dies of is a refusal, for the stack cannot do this.
func refusalsBegin(what string) {
	refusable = what
}

func refusalsEnd() {
	refusable = ""
}

// lacking is the sentence for what this driver lacks. Tools take the suite off again (run/validate.py, strip_suite).
func lacking(lacks string) string {
	suite := &run.suite
	return fmt.Sprintf("%s: %s (%s, %s, %s)", driver.Version(), lacks, suite.Protocol, suite.Cipher, suite.Group)
}

// endUnsupported says so, and ends the run with exit 77.
func endUnsupported(reason string) {
	recordUnsupported(reason)
	fmt.Fprintf(os.Stderr, "memtest: %s: %s\n", driver.Name(), reason)
	os.Exit(77)
}

// fail ends the run where the library does not go on: a refusal has its words alone, for all sessions are alike then.
func (it *session) fail(doing string, err error) {
	if refusable != "" {
		Die("%s: %v", doing, err)
	}
	Die("%s %d: %s: %v", it.role(), it.pair(), doing, err)
}
