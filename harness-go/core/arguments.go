package core

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	most       = 1000000000
	maxThreads = 256
	maxKey     = 31 // characters
	maxSize    = 1 << 30
	maxNames   = 100000 // they have five digits
)

// settings are argv, understood: what every scenario has, then what belongs to one. A part of another scenario has its
// defaults.
type settings struct {
	scenario           string
	suite              Suite
	clientGroups       *string // as asked for; nil where it is not
	sessions           int
	threads            int
	aslr               bool    // as asked for; as it is once environmentApply is done
	thp                string  // "off" or "host" as asked for, then "off", "always", "madvise" or "never"
	cpu                int     // of a run that is not timed; -1: not pinned
	until              *string // the last phase; nil without one
	marks              bool
	holds              [2]bool // by role: the sessions that this process makes
	wiresFd, barrierFd int     // shared with the other process; -1 without one
	memory             struct {
		window     int     // of churn, too: pairs in the handshake at a time
		eachClient bool    // client_certs=each: every client has a certificate of its own
		keeps      [2]bool // by role: the sessions that stay when a window is done
	}
	stall struct {
		point *stallPoint // where peers stop
	}
	churn struct {
		pattern     string // which sessions end with a wave
		waves, seed int    // what is random begins with the seed
		trim        bool   // the runtime gives back what it can when a wave has ended
	}
	contexts struct {
		cas, names int // roots that a client trusts, certificates that a server has
		sharing    string
		shares     [2]bool // by role: all sessions have one context, and not one each
	}
	timing struct { // of the timed scenarios
		rounds, warmup int   // those of the thread that is done first, and of each before
		seconds        int   // 0: rounds end by their number alone
		size           int   // of the scenario throughput: bytes of a write
		cpus           []int // of its threads in turn; empty: not pinned
	}
}

func (it *settings) timed() bool {
	return slices.Contains(ofTime, it.scenario)
}

func (it *settings) alone() bool {
	return it.holds[Client] && it.holds[Server]
}

func (it *settings) keepsBoth() bool {
	return it.memory.keeps[Client] && it.memory.keeps[Server]
}

var errUsage = errors.New("usage")

// parse reads every key=value. One that is not known is refused: a misspelt knob must not be measured as its default.
func parse(argv []string) (*settings, error) {
	if len(argv) < 2 || !slices.Contains(scenarios, argv[1]) {
		const words = "protocol=P cipher=C group=G certs=DIR [key=value ...]"
		return nil, fmt.Errorf("%w: %s memory sessions=N %s\n       %s stall sessions=N point=P %s\n"+
			"       %s churn sessions=N pattern=P waves=N %s\n"+
			"       %s contexts sessions=N [cas=N] [names=N] [sharing=shared|each-client|each-server] %s\n"+
			"       %s handshake|throughput rounds=N %s",
			errUsage, argv[0], words, argv[0], words, argv[0], words, argv[0], words, argv[0], words)
	}
	both := [2]bool{true, true}
	it := &settings{scenario: argv[1], suite: Suite{Auth: "server", Options: "default"}, threads: 1, thp: "off", cpu: -1,
		holds: both, wiresFd: -1, barrierFd: -1}
	it.memory.keeps = both
	it.churn.seed = 1
	it.contexts.cas, it.contexts.names, it.contexts.sharing, it.contexts.shares = 1, 1, "shared", both
	it.timing.size = 1 << 20
	for _, argument := range argv[2:] {
		key, value, found := strings.Cut(argument, "=")
		if !found || key == "" || len(key) > maxKey {
			return nil, fmt.Errorf("%s: arguments are key=value", argument)
		}
		if err := it.read(key, value); err != nil {
			return nil, fmt.Errorf("%s: %w", argument, err)
		}
	}
	if err := it.whole(); err != nil {
		return nil, err
	}
	it.derive()
	return it, nil
}

func text(result *string) func(string) error {
	return func(value string) error {
		*result = value
		return nil
	}
}

// optional reads any text, an empty one too: no phase has that name, and the run says so.
func optional(result **string) func(string) error {
	return func(value string) error {
		*result = &value
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
	it.memory.window = 0
	if value == "all" {
		return nil
	}
	return count(&it.memory.window, 1, most)(value)
}

func (it *settings) readPoint(value string) error {
	if it.stall.point = stallPointNamed(value); it.stall.point == nil {
		return errors.New("no such point; docs/reference/records.md lists them")
	}
	return nil
}

func (it *settings) readSharing(value string) error {
	it.contexts.shares = [2]bool{value != "each-client", value != "each-server"}
	return oneOf(&it.contexts.sharing, "shared, each-client or each-server", "shared", "each-client", "each-server")(value)
}

// readTickets reads "library", or how many.
func (it *settings) readTickets(value string) error {
	it.suite.Tickets = TicketsLibrary
	if value == "library" {
		return nil
	}
	if count(&it.suite.Tickets, 0, most)(value) != nil {
		return errors.New("must be library, or how many")
	}
	return nil
}

// readCpus reads "0,1".
func (it *settings) readCpus(value string) error {
	it.timing.cpus = nil
	for one := range strings.SplitSeq(value, ",") {
		var cpu int
		if err := count(&cpu, 0, most)(one); err != nil {
			return err
		}
		it.timing.cpus = append(it.timing.cpus, cpu)
	}
	if len(it.timing.cpus) > maxThreads {
		return errors.New("are more CPUs than there can be threads")
	}
	return nil
}
