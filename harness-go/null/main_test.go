package main

import (
	"net"
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

type faulty struct {
	driver
	fault string
}

func (of faulty) Session(context any, wire net.Conn) core.Session {
	return &broken{of.driver.Session(context, wire).(*session), of.fault}
}

type broken struct {
	*session
	fault string
}

func (it *broken) Handshake() error {
	if it.fault == "incomplete" {
		_, err := it.wire.Read(make([]byte, 0)) // waits for ever
		for err == nil {
			_, err = it.wire.Read(make([]byte, 1))
		}
		return err
	}
	if rounds, slow := slow[it.fault]; slow {
		return it.rounds(rounds)
	}
	return it.session.Handshake()
}

// slow is how often a byte goes each way until the client has received the last, one step after it sent that.
var slow = map[string]int{"10 steps": 9, "11 steps": 10}

func (it *broken) rounds(count int) error {
	turns := []func(int) error{it.send, it.receive}
	for turn := it.role; turn < it.role+2*count; turn++ {
		if err := turns[turn%2](1); err != nil {
			return err
		}
	}
	return nil
}

func (it *broken) Write(bytes []byte) (int, error) {
	switch it.fault {
	case "short write":
		return it.session.Write(bytes[:1023])
	case "lost byte":
		it.session.Write(bytes[:1023])
	case "corrupt byte":
		bytes[1000] ^= 1
		return it.session.Write(bytes)
	default:
		return it.session.Write(bytes)
	}
	return len(bytes), nil
}

func (it *broken) Negotiated() core.Negotiated {
	found := it.session.Negotiated()
	switch it.fault {
	case "other protocol":
		found.Protocol = "TLSv1.0"
	case "other group":
		found.Group = "P-192"
	case "no cipher":
		found.Cipher = ""
	case "resumed":
		found.Resumed = true
	case "verified":
		found.PeerVerified = true
	}
	return found
}

func harness(t *testing.T, fault string, more ...string) (status int, stdout, stderr string) {
	t.Helper()
	suite := []string{"protocol=none", "cipher=none", "group=none", "certs=none", "auth=none"}
	command := exec.Command(os.Args[0], append(append([]string{"memory", "sessions=20"}, suite...), more...)...)
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

func TestWhatAGoProgramCannotDoIs77WithItsReason(t *testing.T) {
	status, stdout, stderr := harness(t, "", "threads=4")
	if status != 77 || !strings.Contains(stderr, "threads=4: ") || !strings.Contains(stdout, `"status":"unsupported"`) {
		t.Errorf("exit %d: %s", status, stderr)
	}
}
