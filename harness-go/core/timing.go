package core

import (
	"syscall"
	"time"
	"unsafe"
)

// What the clock says, kept by part and printed.

type part int

const (
	clientNew part = iota
	clientSteps
	clientFree
	serverNew
	serverSteps
	serverFree
	sendPart
	receivePart
	sealPart
	wireWrite
	wireRead
	clockPart
	parts
)

var partNames = [parts]string{"client_new", "client", "client_free", "server_new", "server", "server_free",
	"send", "receive", "seal", "wire_write", "wire_read", "clock"}

// intervals are those of one part, of one thread.
type intervals struct {
	count, ns, bytes    uint64
	faults, faultsCount uint64
	histogram           []uint64 // nil: none is kept
}

var epoch = time.Now()

// clockNs is CLOCK_MONOTONIC, read through the vDSO. Of CLOCK_MONOTONIC_RAW Go has the system call only: 218 ns in place
// of 28. The two part by what NTP corrects, at most 0.05 %.
func clockNs() uint64 {
	return uint64(time.Since(epoch))
}

func threadUsage() (usage syscall.Rusage) {
	const thread = 1 // RUSAGE_THREAD
	syscall.RawSyscall(syscall.SYS_GETRUSAGE, thread, uintptr(unsafe.Pointer(&usage)), 0)
	return usage
}

func threadFaults() uint64 {
	usage := threadUsage()
	return uint64(usage.Minflt)
}

func (it *intervals) open() {
	bytes := outside(histogramCounts * 8)
	it.histogram = unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(bytes))), histogramCounts)
}

func (it *intervals) add(ns, bytes uint64) {
	it.count++
	it.ns += ns
	it.bytes += bytes
	if it.histogram != nil {
		it.histogram[histogramIndex(ns)]++
	}
}

func timingDeclare() {
	number("rounds", uint64(run.timing.rounds))
	number("warmup_rounds", uint64(run.timing.warmup))
	if run.scenario == throughputScenario {
		number("size_bytes", uint64(run.timing.size))
	}
	if len(run.timing.cpus) > 0 {
		key("cpus")
		raw("[" + joined(run.timing.cpus) + "]")
	}
}

func (it *worker) print() {
	lineBegin("thread")
	number("thread", uint64(it.index))
	cpuOf("cpu", it.cpu())
	number("rounds", uint64(it.rounds))
	number("resumed", uint64(it.resumed))
	number("elapsed_ns", it.elapsed)
	number("preempted", uint64(it.preempted))
	key("parts")
	separator := byte('[')
	for one := range parts {
		if it.parts[one].count > 0 {
			line = append(line, separator)
			it.parts[one].print(partNames[one])
			separator = ','
		}
	}
	raw("]")
	lineEnd()
}

func (it *intervals) print(name string) {
	raw("{")
	textOf("part", name)
	number("count", it.count)
	number("total_ns", it.ns)
	if it.bytes > 0 {
		number("bytes", it.bytes)
	}
	if it.faultsCount > 0 {
		number("faults", it.faults)
		number("faults_count", it.faultsCount)
	}
	if it.histogram != nil {
		key("histogram")
		separator := byte('[')
		for index, count := range it.histogram {
			if count > 0 {
				line = append(line, separator)
				pair(histogramValue(index), count)
				separator = ','
			}
		}
		raw("]")
	}
	raw("}")
}
