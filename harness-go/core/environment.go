package core

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
)

// The laboratory: one CPU, no address randomisation, no transparent huge pages, and Go's runtime by its defaults; what
// cannot be had is noted. All but the last takes effect at exec only, since the runtime has threads and a heap before
// any of this is reached; so the process starts itself again, once; its pid stays.
func environmentApply(argv []string) {
	runtime.LockOSThread()
	again := pin(run.allowed())
	personality, changed := personalitySet(run.aslr)
	again = again || changed
	environment, dropped := environmentKept(os.Environ())
	off := run.thp == "off"
	_, err := quick(syscall.SYS_PRCTL, prSetThpDisable, boolean(off), 0, 0)
	if again || dropped {
		if err := syscall.Exec("/proc/self/exe", argv, environment); err != nil {
			Die("cannot start /proc/self/exe again: %v", err)
		}
	}
	runtime.UnlockOSThread()
	runtimeDefaults()
	aslrSay(personality)
	if err != nil || !off {
		run.thp = thpOfHost()
	}
	if mask := os.Getenv("GODEBUG"); mask != "" {
		note("GODEBUG=" + mask)
	}
}

func boolean(value bool) uintptr {
	if value {
		return 1
	}
	return 0
}

// runtimeDefaults has the collector's settings be Go's defaults, and as many places to run as there are threads that do.
// In the memory scenario one goroutine runs at a time: with one place, what it allocates comes from one cache.
func runtimeDefaults() {
	places := 1
	if run.timed() {
		places = run.threads
	}
	runtime.GOMAXPROCS(places)
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(math.MaxInt64)
}

// allowed are the CPUs of this process: those of its threads, so that the runtime's own have no others.
func (it *settings) allowed() []int {
	if it.cpu >= 0 {
		return []int{it.cpu}
	}
	return it.timing.cpus
}

// pin is true when this process was on other CPUs.
func pin(cpus []int) bool {
	var now, wanted, then cpuSet
	if len(cpus) == 0 {
		return false
	}
	for _, cpu := range cpus {
		wanted.add(cpu)
	}
	affinity(&now)
	if now == wanted {
		return false
	}
	if err := affinitySet(&wanted); err != nil {
		if run.timed() {
			return false // each thread will say which of its CPUs is not there
		}
		Die("cpu=%d: %v", run.cpu, err)
	}
	affinity(&then) // the kernel leaves out what is not there; of a thread's own it says so
	return then != now
}

// personalitySet is as asked for, whatever the parent has; what it was, -1 where the kernel does not say, and whether
// it is another now.
func personalitySet(aslr bool) (int, bool) {
	now, err := quick(syscall.SYS_PERSONALITY, personalityAsk, 0, 0, 0)
	if err != nil {
		return -1, false
	}
	wanted := now | addrNoRandomize
	if aslr {
		wanted = now &^ addrNoRandomize
	}
	if wanted == now {
		return now, false
	}
	quick(syscall.SYS_PERSONALITY, uintptr(wanted), 0, 0, 0)
	then, _ := quick(syscall.SYS_PERSONALITY, personalityAsk, 0, 0, 0)
	return now, then == wanted
}

// aslrSay: the program's own addresses are fixed, as of any static one; what is randomised or not is the kernel's part.
func aslrSay(personality int) {
	asked := run.aslr
	level, err := os.ReadFile("/proc/sys/kernel/randomize_va_space")
	off := err == nil && strings.TrimSpace(string(level)) == "0"
	run.aslr = !off && personality&addrNoRandomize == 0 || personality == -1 && !off
	if run.aslr && !asked {
		note("address randomisation could not be switched off")
	}
	if !run.aslr && asked {
		note("address randomisation could not be switched on")
	}
	if !run.aslr {
		note("the runtime places its heap at random nevertheless, as Go does from 1.26 on")
	}
}

// environmentKept has none of the variables that turn the runtime's knobs, but for a mask of the CPU's features; and
// whether there were others.
func environmentKept(environment []string) (kept []string, dropped bool) {
	for _, it := range environment {
		name, value, _ := strings.Cut(it, "=")
		switch name {
		case "GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GOTRACEBACK":
			dropped = true
			continue
		case "GODEBUG":
			masks := strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
			var features []string
			for _, one := range masks {
				if strings.HasPrefix(one, "cpu.") {
					features = append(features, one)
				}
			}
			if left := strings.Join(features, ","); left != value {
				dropped = true
				it = fmt.Sprintf("GODEBUG=%s", left)
			}
		}
		kept = append(kept, it)
	}
	return kept, dropped
}

// thpOfHost is the word in brackets: "always [madvise] never".
func thpOfHost() string {
	if run.thp == "off" {
		note("transparent huge pages could not be switched off")
	}
	line, _ := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	_, rest, _ := strings.Cut(string(line), "[")
	word, _, found := strings.Cut(rest, "]")
	if !found {
		return "never" // a kernel without them
	}
	return word
}
