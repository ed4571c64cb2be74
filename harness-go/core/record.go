package core

import (
	"errors"
	"os"
	"strconv"
	"time"
)

// NDJSON on stdout, one object a line, as docs/reference/records.md has it.

const schema = 4

var (
	notes   []string
	started time.Time
)

func note(sentence string) {
	notes = append(notes, sentence)
}

func recordOpen() {
	started = time.Now()
}

func lineBegin(record string) {
	line = append(line[:0], '{')
	textOf("record", record)
}

func lineEnd() {
	raw("}\n")
	if _, err := os.Stdout.Write(line); err != nil {
		if of := (*os.PathError)(nil); errors.As(err, &of) {
			err = of.Err // as in C, without "write /dev/stdout" once more
		}
		Die("cannot write to stdout: %v", err)
	}
}

func named(meant [2]bool) string {
	switch {
	case !meant[Server]:
		return "client"
	case !meant[Client]:
		return "server"
	}
	return "both"
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func recordRun() {
	lineBegin("run")
	number("schema", schema)
	textOf("stack", driver.Name())
	textOf("reported", driver.Version())
	textOf("scenario", run.scenario)
	number("sessions", uint64(run.sessions))
	textOf("role", named(run.holds))
	textOf("keep", named(run.memory.keeps))
	textOf("data", map[bool]string{false: "short", true: "full"}[run.suite.FullRecords])
	number("threads", uint64(run.threads))
	if run.memory.window < run.sessions/2 {
		number("window", uint64(run.memory.window))
	} else {
		textOf("window", "all")
	}
	textOf("meter", map[bool]string{false: "rss", true: "time"}[run.timed()])
	textOf("aslr", onOff(run.aslr))
	textOf("thp", run.thp)
	cpuOf("cpu", run.cpu)
	key("notes")
	raw("[")
	for i, it := range notes {
		if i > 0 {
			raw(",")
		}
		quoted(it)
	}
	raw("]")
	if run.timed() {
		timingDeclare()
	}
	if !run.timed() && run.scenario != memoryScenario {
		settingsOf()
	}
	lineEnd()
}

// settingsOf are the keys that are this scenario's alone.
func settingsOf() {
	key("settings")
	raw("{")
	switch run.scenario {
	case stallScenario:
		textOf("point", run.stall.point.name)
	case churnScenario:
		textOf("pattern", run.churn.pattern)
		textOf("waves", strconv.Itoa(run.churn.waves))
		textOf("trim", onOff(run.churn.trim))
		textOf("seed", strconv.Itoa(run.churn.seed))
		textOf("threads", strconv.Itoa(run.threads))
	case contextsScenario:
		textOf("cas", strconv.Itoa(run.contexts.cas))
		textOf("names", strconv.Itoa(run.contexts.names))
		textOf("sharing", run.contexts.sharing)
	}
	raw("}")
}

// cpuOf is null for -1.
func cpuOf(name string, cpu int) {
	if cpu >= 0 {
		number(name, uint64(cpu))
	} else {
		key(name)
		raw("null")
	}
}

func recordPhase(phase string, it *reading) {
	lineBegin("phase")
	textOf("process", named(run.holds))
	textOf("phase", phase)
	number("rss_bytes", it.rss)
	number("rss_anon_bytes", it.rssAnon)
	number("rss_file_bytes", it.rssFile)
	number("rss_shmem_bytes", it.rssShmem)
	number("peak_rss_bytes", it.peakRss)
	number("minor_faults", it.minorFaults)
	number("major_faults", it.majorFaults)
	number("wire_bytes", wiresBytes())
	for _, role := range roles {
		if run.holds[role] {
			number(role.String()+"_sent_bytes", sent[role])
		}
	}
	number("phase_minor_faults", it.phaseMinorFaults)
	number("phase_major_faults", it.phaseMajorFaults)
	number("vm_data_bytes", it.vmData)
	if it.rollup {
		number("rollup_rss_bytes", it.rollupRss)
		number("rollup_anon_bytes", it.rollupAnon)
		number("huge_bytes", it.huge)
	}
	if wave > 0 {
		number("wave", uint64(wave))
	}
	if run.scenario == stallScenario {
		number("received_bytes", stallReceived)
	}
	if _, tells := driver.(Tickets); tells && run.holds[Client] {
		number("tickets", ticketsReceived())
	}
	if !run.marks { // whose runs are about other figures
		books()
	}
	lineEnd()
}

// books are the runtime's own, of runtime.MemStats and in its names, but that of HeapAlloc: after a collection that is
// what is live, and no garbage. RSS is read again then: what is left when the runtime has given back all that it can.
func books() {
	heap := heapRead()
	key("allocator")
	raw(`{"go":{`)
	if collects {
		number("live_bytes", heap.HeapAlloc)
		number("rss_after_collection_bytes", meterRead().resident())
	} else {
		number("heap_alloc_bytes", heap.HeapAlloc)
	}
	number("heap_inuse_bytes", heap.HeapInuse)
	number("heap_idle_bytes", heap.HeapIdle)
	number("heap_released_bytes", heap.HeapReleased)
	number("stack_inuse_bytes", heap.StackInuse)
	number("gc_sys_bytes", heap.GCSys)
	number("sys_bytes", heap.Sys)
	raw("}}")
}

func recordUnsupported(reason string) {
	lineBegin("end")
	textOf("status", "unsupported")
	textOf("reason", reason)
	lineEnd()
}

func recordEnd(whole bool) {
	lineBegin("end")
	textOf("status", "measured")
	key("negotiated")
	if whole {
		agreed()
	} else {
		raw("null")
	}
	if sealed != "" {
		textOf("sealed", sealed)
	}
	number("elapsed_ns", uint64(time.Since(started)))
	lineEnd()
}

func agreed() {
	said := &result[Server]
	if run.holds[Client] {
		said = &result[Client]
	}
	raw("{")
	flag("resumed", said.Resumed)
	textOf("protocol", said.Protocol)
	textOf("cipher", said.Cipher)
	textOf("group", said.Group)
	textOf("group_from", "session")
	flag("retried", retryAll.Load() == retryYes)
	for _, role := range roles { // of a role in another process only that one can tell
		if run.holds[role] {
			flag(role.String()+"_verified", result[role].PeerVerified)
		} else {
			key(role.String() + "_verified")
			raw("null")
		}
	}
	raw("}")
}
