package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"memtest/core"
)

// The test program is a harness too, of the null stack with a fault, when its environment names one.
func TestMain(m *testing.M) {
	if fault, set := os.LookupEnv("FAULT"); set {
		os.Exit(core.Main(os.Args, faulty{fault: fault}))
	}
	os.Exit(m.Run())
}

func harness(t *testing.T, fault string, more ...string) (status int, stdout, stderr string) {
	return scenario(t, fault, append([]string{"memory", "sessions=20"}, more...)...)
}

func scenario(t *testing.T, fault string, words ...string) (status int, stdout, stderr string) {
	t.Helper()
	suite := []string{"protocol=none", "cipher=none", "group=none", "certs=none", "auth=none"}
	command := exec.Command(os.Args[0], append(words, suite...)...)
	command.Env = []string{"FAULT=" + fault}
	var out, err strings.Builder
	command.Stdout, command.Stderr = &out, &err
	command.Run()
	return command.ProcessState.ExitCode(), out.String(), err.String()
}

func TestTheNullStackWithoutAFaultIsSound(t *testing.T) {
	status, stdout, stderr := harness(t, "")
	if status != 0 || !strings.Contains(stdout, `"record":"end","status":"measured"`) {
		t.Errorf("exit %d: %s", status, stderr)
	}
}

func TestTenStepsAreTakenAndNoMore(t *testing.T) {
	if status, stdout, stderr := harness(t, "10 steps"); status != 0 || !strings.Contains(stdout, `"server 10"`) {
		t.Errorf("10 steps: exit %d: %s", status, stderr)
	}
	if status, _, stderr := harness(t, "11 steps"); status != 1 || !strings.Contains(stderr, "incomplete after 10 steps") {
		t.Errorf("11 steps: exit %d: %s", status, stderr)
	}
}

func TestAFaultFailsTheRunWithASentence(t *testing.T) {
	for fault, sentence := range map[string]string{
		"incomplete":     "handshakes incomplete after 10 steps",
		"short write":    "took 1023 bytes of a payload of 1024",
		"lost byte":      "received 1023 bytes of a payload of 1024",
		"corrupt byte":   "received other bytes than were sent",
		"other protocol": "negotiated protocol TLSv1.0, the suite asks for none",
		"other group":    "negotiated group P-192, the suite asks for none",
		"no cipher":      "client 0 did not tell its cipher",
		"resumed":        "resumed a session, the suite asks for a full handshake",
		"verified":       "verified its peer, the suite asks for auth=none",
	} {
		status, stdout, stderr := harness(t, fault)
		if status != 1 || !strings.Contains(stderr, sentence) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d: %s", fault, status, stderr)
		}
		if strings.Contains(stdout, `"record":"end"`) {
			t.Errorf("%s: an end line, so a measurement", fault)
		}
	}
}

func TestAFaultFailsATimedRunWithASentence(t *testing.T) {
	for _, it := range []struct{ fault, scenario, sentence string }{
		{"incomplete", "handshake", "handshake 0 of thread 0 incomplete after 10 steps"},
		{"11 steps", "handshake", "handshake 0 of thread 0 incomplete after 10 steps"},
		{"resumed", "handshake", "handshake 0 of thread 0 resumed a session, the suite asks for a full handshake"},
		{"resumed at one end", "handshake", "one end says that it was resumed, the other that it was not"},
		{"unasked", "handshake", "handshake 0 of thread 0: 5 bytes of application data arrived, and none were sent"},
		{"verified", "handshake", "client 0 verified its peer, the suite asks for auth=none"},
		{"other group", "throughput", "client 0 negotiated group P-192, the suite asks for none"},
		{"resumed", "throughput", "handshake 0 of thread 0 resumed a session, the suite asks for a full handshake"},
		{"short write", "throughput", "server 0 took 1023 bytes of a write of 1048576"},
		{"lost byte", "throughput", "client 0 received 1023 bytes of 1048576"},
		{"corrupt byte", "throughput", "client 0 received other bytes than were sent"},
		{"unwritten", "throughput", "client 0 received other bytes than were sent"},
	} {
		status, stdout, stderr := scenario(t, it.fault, it.scenario, "rounds=3")
		if status != 1 || !strings.Contains(stderr, it.sentence) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s, %s: exit %d: %s", it.scenario, it.fault, status, stderr)
		}
		if strings.Contains(stdout, `"record":"end"`) {
			t.Errorf("%s, %s: an end line, so a measurement", it.scenario, it.fault)
		}
	}
}

// Of two handshakes one is resumed: those of even rounds, beside the first, which need not be.
func TestAMissFailsTheRunWithTheHitRate(t *testing.T) {
	status, stdout, stderr := scenario(t, "missed", "handshake", "rounds=16", "tickets=1", "resume=on")
	sentence := "resumed 8 of 16 handshakes, a hit rate of 50.00 %; the suite asks for all\n"
	if status != 1 || !strings.HasSuffix(stderr, sentence) || strings.Contains(stdout, `"record":"thread"`) {
		t.Errorf("exit %d: %s", status, stderr)
	}
}

func TestAFaultFailsAStalledRunWithASentence(t *testing.T) {
	status, _, stderr := scenario(t, "incomplete", "stall", "sessions=20", "point=silent")
	if status != 1 || !strings.HasSuffix(stderr, "handshakes incomplete after 10 steps\n") {
		t.Errorf("exit %d: %s", status, stderr)
	}
}

// Only once a pair was verified: what fails before is no refusal.
func TestAPointThatIsNotReachedIsUnsupportedWithItsName(t *testing.T) {
	for fault, reason := range map[string]string{
		"speaks first later": "does not reach the point silent: the session answers, where it should wait for more",
		"refuses later":      "does not reach the point silent: handshake: no, thank you",
	} {
		status, stdout, stderr := scenario(t, fault, "stall", "sessions=20", "point=silent")
		if status != 77 || !strings.Contains(stderr, reason) || !strings.Contains(stdout, `"status":"unsupported"`) {
			t.Errorf("%s: exit %d: %s", fault, status, stderr)
		}
	}
	status, _, stderr := scenario(t, "at once later", "stall", "sessions=20", "point=silent")
	if status != 1 || !strings.HasSuffix(stderr, "a session is complete before its peer has sent anything\n") {
		t.Errorf("exit %d: %s", status, stderr)
	}
}

func TestWhatAGoProgramCannotDoIs77WithItsReason(t *testing.T) {
	status, stdout, stderr := harness(t, "", "threads=4")
	if status != 77 || !strings.Contains(stderr, "threads=4: ") || !strings.Contains(stdout, `"status":"unsupported"`) {
		t.Errorf("exit %d: %s", status, stderr)
	}
}

func TestASessionResumedWhenNoneWasOfferedFailsTheRun(t *testing.T) {
	status, stdout, stderr := scenario(t, "resumed by nothing", "handshake", "rounds=16", "tickets=1", "resume=on")
	sentence := "handshake 0 of thread 0 resumed a session, and none was offered\n"
	if status != 1 || !strings.HasSuffix(stderr, sentence) || strings.Contains(stdout, `"record":"thread"`) {
		t.Errorf("exit %d: %s", status, stderr)
	}
}
