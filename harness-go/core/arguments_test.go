package core

import (
	"slices"
	"strings"
	"testing"
)

var sound = []string{"harness", "memory", "sessions=20", "protocol=p", "cipher=c", "group=g", "certs=d"}

func TestArgumentsThatMakeNoRunAreRefused(t *testing.T) {
	for _, it := range []struct{ argument, sentence string }{
		{"sessions=3", "must be even: half are clients, half are servers"},
		{"sessions=0", "must be a whole number from 2 to 1000000000"},
		{"sessions=-2", "must be a whole number from 2 to 1000000000"},
		{"sessions=+2", "must be a whole number from 2 to 1000000000"},
		{"sessions=99999999999999999999", "must be a whole number from 2 to 1000000000"},
		{"sessions", "arguments are key=value"},
		{"=2", "arguments are key=value"},
		{strings.Repeat("k", 32) + "=2", "arguments are key=value"},
		{"sesions=2", "sesions=2: unknown key; docs/reference/records.md lists them all"},
		{"store=maybe", "store=maybe: must be off or on"},
		{"auth=some", "must be server, mutual or none"},
		{"options=worst", "must be default, low-memory or drop-peer-chain"},
		{"marks=2", "must be 0 or 1"},
		{"thp=on", "must be off or host"},
		{"window=0", "must be a whole number from 1 to 1000000000"},
		{"threads=257", "must be a whole number from 1 to 256"},
		{"role=none", "must be both, client or server"},
		{"role=client", "role= needs wires=FD, the wires that its peer has too"},
		{"wires=7", "wires= is for role=client and role=server"},
		{"barrier=7", "barrier= is for role=client and role=server"},
		{"certs=", "certs= is missing"},
	} {
		_, err := parse(append(slices.Clone(sound), it.argument))
		if err == nil || !strings.HasSuffix(err.Error(), it.sentence) {
			t.Errorf("%s: %v", it.argument, err)
		}
	}
}

var soundTimed = []string{"harness", "handshake", "rounds=20", "protocol=p", "cipher=c", "group=g", "certs=d"}

func TestArgumentsThatMakeNoTimedRunAreRefused(t *testing.T) {
	for _, it := range []struct{ argument, sentence string }{
		{"rounds=0", "rounds=0: must be a whole number from 1 to 1000000000"},
		{"warmup=0", "warmup=0: must be a whole number from 1 to 1000000000"},
		{"cpus=", "cpus=: must be a whole number from 0 to 1000000000"},
		{"cpus=0,", "must be a whole number from 0 to 1000000000"},
		{"cpus=0-1", "must be a whole number from 0 to 1000000000"},
		{"cpus=" + strings.Repeat("0,", 256) + "0", "are more CPUs than there can be threads"},
		{"size=5", "size=5: is no key of the scenario handshake"},
		{"sessions=2", "sessions=2: is no key of the scenario handshake"},
		{"cpu=1", "cpu=1: is no key of the scenario handshake"},
		{"resume=on", "resume=on needs store=on or tickets, which clients can offer"},
	} {
		_, err := parse(append(slices.Clone(soundTimed), it.argument))
		if err == nil || !strings.HasSuffix(err.Error(), it.sentence) {
			t.Errorf("%s: %v", it.argument, err)
		}
	}
	for scenario, sentence := range map[string]string{
		"memory":     "rounds=20: is no key of the scenario memory",
		"throughput": "resume=on is of the scenarios memory, churn and handshake",
	} {
		asked := append(slices.Clone(soundTimed), "tickets=1", "resume=on")
		asked[1] = scenario
		if _, err := parse(asked); err == nil || err.Error() != sentence {
			t.Errorf("%s: %v", scenario, err)
		}
	}
	if _, err := parse(slices.Delete(slices.Clone(soundTimed), 2, 3)); err == nil || err.Error() != "rounds= is missing" {
		t.Errorf("without rounds: %v", err)
	}
}

func TestTimedArgumentsAreUnderstood(t *testing.T) {
	it, err := parse(append(slices.Clone(soundTimed), "threads=3", "cpus=0,5", "tickets=1", "resume=on"))
	if err != nil {
		t.Fatal(err)
	}
	if it.timing.rounds != 20 || it.timing.warmup != 2 || it.sessions != 6 || !slices.Equal(it.timing.cpus, []int{0, 5}) || !it.suite.Resume {
		t.Errorf("%+v", it)
	}
	for rounds, warmup := range map[string]int{"1": 1, "7": 1, "16": 2} {
		if it, err := parse(append(slices.Clone(soundTimed), "rounds="+rounds)); err != nil || it.timing.warmup != warmup {
			t.Errorf("rounds=%s: %+v, %v", rounds, it, err)
		}
	}
}

func TestArgumentsAreUnderstood(t *testing.T) {
	it, err := parse(append(slices.Clone(sound), "window=3", "keep=server", "cpu=1", "aslr=on", "thp=host"))
	if err != nil {
		t.Fatal(err)
	}
	if it.sessions != 20 || it.memory.window != 3 || it.memory.keeps != [2]bool{false, true} || it.cpu != 1 || !it.aslr || it.thp != "host" {
		t.Errorf("%+v", it)
	}
	for _, window := range []string{"all", "10", "11"} {
		if it, err := parse(append(slices.Clone(sound), "window="+window)); err != nil || it.memory.window != 10 {
			t.Errorf("window=%s of 10 pairs: %+v, %v", window, it, err)
		}
	}
}

func TestTheRuntimesOptionsAreNotInheritedAndAMaskIs(t *testing.T) {
	given := []string{"PATH=/bin", "GOGC=5", "GOMEMLIMIT=1GiB", "GODEBUG=tlsmlkem=0,cpu.aes=off,cpu.avx2=off"}
	kept, dropped := environmentKept(given)
	if !dropped || !slices.Equal(kept, []string{"PATH=/bin", "GODEBUG=cpu.aes=off,cpu.avx2=off"}) {
		t.Errorf("%v, dropped: %v", kept, dropped)
	}
	if again, dropped := environmentKept(kept); dropped || !slices.Equal(again, kept) {
		t.Errorf("what was kept is not left alone: %v", again)
	}
}
