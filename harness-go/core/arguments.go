package core

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	most       = 1000000000
	maxThreads = 256
	maxKey     = 31 // characters
)

// settings are argv, understood.
type settings struct {
	suite              Suite
	sessions           int
	window             int // pairs in the handshake at a time
	until              string
	marks              bool
	holds, keeps       [2]bool // by role: the sessions that this process makes; those that stay when a window is done
	wiresFd, barrierFd int     // shared with the other process; -1 without one
	threads            int
	aslr               bool   // as asked for; as it is once environmentApply is done
	thp                string // "off" or "host" as asked for, then "off", "always", "madvise" or "never"
	cpu                int    // -1: not pinned
}

func (it *settings) alone() bool {
	return it.holds[Client] && it.holds[Server]
}

func (it *settings) keepsBoth() bool {
	return it.keeps[Client] && it.keeps[Server]
}

var errUsage = errors.New("usage")

// parse reads every key=value. One that is not known is refused: a misspelt knob must not be measured as its default.
func parse(argv []string) (*settings, error) {
	if len(argv) < 2 || argv[1] != "memory" {
		return nil, fmt.Errorf("%w: %s memory sessions=N protocol=P cipher=C group=G certs=DIR [key=value ...]",
			errUsage, argv[0])
	}
	both := [2]bool{true, true}
	it := &settings{suite: Suite{Auth: "server", Knobs: "default"}, holds: both, keeps: both, wiresFd: -1,
		barrierFd: -1, threads: 1, thp: "off", cpu: -1}
	known := it.keys()
	for _, argument := range argv[2:] {
		key, value, found := strings.Cut(argument, "=")
		if !found || key == "" || len(key) > maxKey {
			return nil, fmt.Errorf("%s: arguments are key=value", argument)
		}
		read := known[key]
		if read == nil {
			return nil, fmt.Errorf("%s: unknown key; docs/records.md lists them all", argument)
		}
		if err := read(value); err != nil {
			return nil, fmt.Errorf("%s: %w", argument, err)
		}
	}
	if err := it.whole(); err != nil {
		return nil, err
	}
	if it.window == 0 || it.window > it.sessions/2 {
		it.window = it.sessions / 2
	}
	return it, nil
}

// keys are all there are, and what reads the value of each.
func (it *settings) keys() map[string]func(value string) error {
	return map[string]func(string) error{
		"sessions": it.readSessions,
		"protocol": text(&it.suite.Protocol),
		"cipher":   text(&it.suite.Cipher),
		"group":    text(&it.suite.Group),
		"certs":    text(&it.suite.Certs),
		"auth":     oneOf(&it.suite.Auth, "server, mutual or none", "server", "mutual", "none"),
		"tickets":  count(&it.suite.Tickets, 0, most),
		"store":    choice(&it.suite.Store, "off", "on"),
		"knobs":    oneOf(&it.suite.Knobs, "default or best", "default", "best"),
		"role":     meant(&it.holds),
		"keep":     meant(&it.keeps),
		"wires":    count(&it.wiresFd, 0, most),
		"barrier":  count(&it.barrierFd, 0, most),
		"threads":  count(&it.threads, 1, maxThreads),
		"window":   it.readWindow,
		"until":    text(&it.until),
		"marks":    choice(&it.marks, "0", "1"),
		"cpu":      count(&it.cpu, 0, most),
		"aslr":     choice(&it.aslr, "off", "on"),
		"thp":      oneOf(&it.thp, "off or host", "off", "host"),
	}
}

func text(result *string) func(string) error {
	return func(value string) error {
		*result = value
		return nil
	}
}

func count(result *int, least, most uint64) func(string) error {
	return func(value string) error {
		number, err := strconv.ParseUint(value, 10, 64)
		if err != nil || number < least || number > most {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		*result = int(number)
		return nil
	}
}

func oneOf(result *string, named string, values ...string) func(string) error {
	return func(value string) error {
		for _, it := range values {
			if value == it {
				*result = value
				return nil
			}
		}
		return errors.New("must be " + named)
	}
}

func choice(result *bool, no, yes string) func(string) error {
	return func(value string) error {
		*result = value == yes
		if !*result && value != no {
			return fmt.Errorf("must be %s or %s", no, yes)
		}
		return nil
	}
}

// meant reads "both", or one of the roles.
func meant(result *[2]bool) func(string) error {
	return func(value string) error {
		*result = [2]bool{value != "server", value != "client"}
		if result[Client] && result[Server] && value != "both" {
			return errors.New("must be both, client or server")
		}
		return nil
	}
}

func (it *settings) readSessions(value string) error {
	if err := count(&it.sessions, 2, most)(value); err != nil {
		return err
	}
	if it.sessions%2 != 0 {
		return errors.New("must be even: half are clients, half are servers")
	}
	return nil
}

func (it *settings) readWindow(value string) error {
	it.window = 0
	if value == "all" {
		return nil
	}
	return count(&it.window, 1, most)(value)
}

// whole is about what is missing, and what one process of a pair needs or only a process with both ends can do.
func (it *settings) whole() error {
	for _, key := range []struct {
		name    string
		missing bool
	}{
		{"sessions", it.sessions == 0}, {"protocol", it.suite.Protocol == ""}, {"cipher", it.suite.Cipher == ""},
		{"group", it.suite.Group == ""}, {"certs", it.suite.Certs == ""},
	} {
		if key.missing {
			return fmt.Errorf("%s= is missing", key.name)
		}
	}
	switch alone := it.alone(); {
	case !alone && it.wiresFd < 0:
		return errors.New("role= needs wires=FD, the wires that its peer has too")
	case !alone && it.barrierFd < 0:
		return errors.New("role= needs barrier=FD, a socket to its peer")
	case !alone && !it.keepsBoth():
		return errors.New("keep= is for role=both: it frees what this process holds")
	case alone && it.wiresFd >= 0:
		return errors.New("wires= is for role=client and role=server")
	case alone && it.barrierFd >= 0:
		return errors.New("barrier= is for role=client and role=server")
	}
	return nil
}
