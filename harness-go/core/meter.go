package core

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"
)

// The RSS meter: what the kernel says of this process, read at a phase's end, as memtest/meter.c reads it; then the
// runtime's own figures. Descriptors are kept and buffers static, so that no phase grows by its own reading.

type reading struct {
	rss, rssAnon, rssFile, rssShmem    uint64
	peakRss                            uint64 // since meterReset; no less than what is resident now
	minorFaults, majorFaults           uint64 // since the start
	phaseMinorFaults, phaseMajorFaults uint64
	vmData                             uint64
	rollup                             bool // smaps_rollup could be read:
	rollupRss, rollupAnon, huge        uint64
}

var (
	statusFd, rollupFd, clearRefsFd = -1, -1, -1
	lines                           [8192]byte
	phaseBegan, usage               syscall.Rusage
	last                            reading
	heap                            runtime.MemStats
	five                            = []byte("5")
)

func openFile(path string, mode int) int {
	fd, err := syscall.Open(path, mode|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// meterOpen reads once: what this kernel or container refuses is noted, and the rest is measured.
func meterOpen() {
	if statusFd = openFile("/proc/self/status", os.O_RDONLY); statusFd < 0 {
		Die("cannot read /proc/self/status")
	}
	rollupFd = openFile("/proc/self/smaps_rollup", os.O_RDONLY)
	meterRead()
	heapRead()
	if !last.rollup {
		note("smaps_rollup cannot be read: there are no rollup_... and no huge_bytes")
	}
	clearRefsFd = openFile("/proc/self/clear_refs", os.O_WRONLY)
	if done, _ := pwrite(clearRefsFd, five, 0); done != 1 {
		note("clear_refs cannot be written: peak_rss_bytes is the peak since the start, not of the phase")
		clearRefsFd = -1
	}
}

func usageRead(result *syscall.Rusage) {
	syscall.RawSyscall(syscall.SYS_GETRUSAGE, syscall.RUSAGE_SELF, uintptr(unsafe.Pointer(result)), 0)
}

// meterReset begins a phase: peaks start again.
func meterReset() {
	if clearRefsFd >= 0 {
		if done, err := pwrite(clearRefsFd, five, 0); done != 1 {
			Die("cannot write /proc/self/clear_refs: %v", err)
		}
	}
	usageRead(&phaseBegan)
}

// field is the value of a line "Name:   123 kB", in bytes.
func field(lines []byte, name string) uint64 {
	_, rest, found := bytes.Cut(lines, []byte(name))
	if !found {
		Die("/proc/self/status or smaps_rollup has no %s", name[1:])
	}
	value := uint64(0)
	for _, digit := range bytes.TrimLeft(rest, " \t") {
		if digit < '0' || digit > '9' {
			break
		}
		value = 10*value + uint64(digit-'0')
	}
	return value * 1024
}

func readStatus() {
	size, err := pread(statusFd, lines[:], 0)
	if size <= 0 {
		Die("cannot read /proc/self/status: %v", err)
	}
	usageRead(&usage)
	status := lines[:size]
	last.rss, last.rssAnon = field(status, "\nVmRSS:"), field(status, "\nRssAnon:")
	last.rssFile, last.rssShmem = field(status, "\nRssFile:"), field(status, "\nRssShmem:")
	last.vmData, last.peakRss = field(status, "\nVmData:"), field(status, "\nVmHWM:")
	last.minorFaults, last.majorFaults = uint64(usage.Minflt), uint64(usage.Majflt)
	last.phaseMinorFaults = uint64(usage.Minflt - phaseBegan.Minflt)
	last.phaseMajorFaults = uint64(usage.Majflt - phaseBegan.Majflt)
}

// readRollup has the same by a walk of the page tables, so exact on any kernel; linear in RSS.
func readRollup() {
	size, _ := pread(rollupFd, lines[:], 0)
	last.rollup = size > 0
	if !last.rollup {
		return
	}
	rollup := lines[:size]
	last.rollupRss, last.rollupAnon = field(rollup, "\nRss:"), field(rollup, "\nAnonymous:")
	last.huge = field(rollup, "\nAnonHugePages:")
}

// meterRead: the high-water mark may lag (per-CPU counters, kernel 6.2), and what is resident now was reached.
func meterRead() *reading {
	readStatus()
	readRollup()
	last.peakRss = max(last.peakRss, last.resident())
	return &last
}

// resident is exact where the page tables could be walked.
func (it *reading) resident() uint64 {
	if it.rollup {
		return it.rollupRss
	}
	return it.rss
}

// heapRead is after RSS: it collects, so that what the runtime calls allocated is what is live, and gives back what is
// then free. Else the runtime would do so by itself, during the phases to come and at the clock's pace; and RSS would
// depend on how long they take. A harness built with the tag left_alone does neither, as a server does neither.
func heapRead() *runtime.MemStats {
	if collects {
		meterTrim()
	}
	runtime.ReadMemStats(&heap)
	return &heap
}

// meterTrim has the runtime give back all that it holds free. What a sync.Pool keeps survives one collection.
func meterTrim() {
	runtime.GC()
	debug.FreeOSMemory()
}

// meterMark is a call that tools see by its name.
//
//go:noinline
func meterMark(phase string) {
	runtime.KeepAlive(phase)
}
