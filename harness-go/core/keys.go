package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	memoryScenario     = "memory"
	stallScenario      = "stall"
	churnScenario      = "churn"
	contextsScenario   = "contexts"
	handshakeScenario  = "handshake"
	throughputScenario = "throughput"
)

var (
	scenarios = []string{memoryScenario, stallScenario, churnScenario, contextsScenario, handshakeScenario, throughputScenario}
	ofMeters  = scenarios[:4]
	ofTime    = scenarios[4:]
	ofThreads = []string{memoryScenario, stallScenario, churnScenario, handshakeScenario, throughputScenario}
	ofSplit   = []string{memoryScenario, churnScenario} // in a process for each role, too
	ofChurn   = []string{churnScenario}
	ofContext = []string{contextsScenario}
)

// known is a key: the scenarios that have it, and what reads its value.
type known struct {
	of   []string
	read func(value string) error
}

// keys are all there are.
func (it *settings) keys() map[string]known {
	return map[string]known{
		"protocol":      {scenarios, text(&it.suite.Protocol)},
		"cipher":        {scenarios, text(&it.suite.Cipher)},
		"group":         {scenarios, text(&it.suite.Group)},
		"client_groups": {scenarios, optional(&it.clientGroups)},
		"certs":         {scenarios, text(&it.suite.Certs)},
		"auth":          {scenarios, oneOf(&it.suite.Auth, "server, mutual or none", "server", "mutual", "none")},
		"tickets":       {scenarios, it.readTickets},
		"store":         {scenarios, choice(&it.suite.Store, "off", "on")},
		"resume":        {scenarios, choice(&it.suite.Resume, "off", "on")},
		"options":       {scenarios, oneOf(&it.suite.Options, "default, low-memory or drop-peer-chain", "default", "low-memory", "drop-peer-chain")},
		"client_certs":  {scenarios, choice(&it.memory.eachClient, "same", "each")},
		"threads":       {ofThreads, count(&it.threads, 1, maxThreads)},
		"aslr":          {scenarios, choice(&it.aslr, "off", "on")},
		"thp":           {scenarios, oneOf(&it.thp, "off or host", "off", "host")},
		"sessions":      {ofMeters, it.readSessions},
		"role":          {ofSplit, meant(&it.holds)},
		"keep":          {[]string{memoryScenario}, meant(&it.memory.keeps)},
		"wires":         {ofSplit, count(&it.wiresFd, 0, most)},
		"barrier":       {ofSplit, count(&it.barrierFd, 0, most)},
		"data":          {ofSplit, choice(&it.suite.FullRecords, "short", "full")},
		"window":        {ofSplit, it.readWindow},
		"until":         {ofMeters, optional(&it.until)},
		"marks":         {ofMeters, choice(&it.marks, "0", "1")},
		"cpu":           {ofMeters, count(&it.cpu, 0, most)},
		"point":         {[]string{stallScenario}, it.readPoint},
		"pattern":       {ofChurn, oneOf(&it.churn.pattern, "waves, sawtooth or lifetimes", patterns...)},
		"waves":         {ofChurn, count(&it.churn.waves, 1, 1000000)},
		"seed":          {ofChurn, count(&it.churn.seed, 0, most)},
		"trim":          {ofChurn, choice(&it.churn.trim, "off", "on")},
		"cas":           {ofContext, count(&it.contexts.cas, 1, most)},
		"names":         {ofContext, count(&it.contexts.names, 1, maxNames)},
		"sharing":       {ofContext, it.readSharing},
		"rounds":        {ofTime, count(&it.timing.rounds, 1, most)},
		"warmup":        {ofTime, count(&it.timing.warmup, 1, most)},
		"seconds":       {ofTime, count(&it.timing.seconds, 1, 24*60*60)},
		"cpus":          {ofTime, it.readCpus},
		"size":          {[]string{throughputScenario}, count(&it.timing.size, 1, maxSize)},
	}
}

func (it *settings) read(name, value string) error {
	key, found := it.keys()[name]
	if !found {
		return errors.New("unknown key; docs/reference/records.md lists them all")
	}
	if !slices.Contains(key.of, it.scenario) {
		return fmt.Errorf("is no key of the scenario %s", it.scenario)
	}
	return key.read(value)
}

// whole is about what is missing, and what the keys, each fine by itself, must be together.
func (it *settings) whole() error {
	churns := it.scenario == churnScenario
	for _, key := range []struct {
		name    string
		missing bool
	}{
		{"rounds", it.timed() && it.timing.rounds == 0}, {"sessions", !it.timed() && it.sessions == 0},
		{"point", it.scenario == stallScenario && it.stall.point == nil},
		{"pattern", churns && it.churn.pattern == ""},
		{"waves", churns && it.churn.waves == 0},
		{"protocol", it.suite.Protocol == ""}, {"cipher", it.suite.Cipher == ""},
		{"group", it.suite.Group == ""}, {"certs", it.suite.Certs == ""},
	} {
		if key.missing {
			return fmt.Errorf("%s= is missing", key.name)
		}
	}
	if err := it.groupsWhole(); err != nil {
		return err
	}
	if err := it.rolesWhole(); err != nil {
		return err
	}
	if err := it.resumptionWhole(); err != nil {
		return err
	}
	if err := it.contextsWhole(); err != nil {
		return err
	}
	if it.churn.pattern == "sawtooth" && it.sessions < 8 {
		return errors.New("pattern=sawtooth needs 8 sessions, so that the stragglers of four waves are not the same ones")
	}
	return it.clientsWhole()
}

// groupsWhole: among the client's groups is its server's, and none is empty. Without the key it offers just that one.
func (it *settings) groupsWhole() error {
	suite := &it.suite
	suite.ClientGroups = suite.Group
	if it.clientGroups != nil {
		suite.ClientGroups = *it.clientGroups
	}
	if suite.ClientGroups == GroupsLibrary {
		return nil
	}
	names := strings.Split(suite.ClientGroups, ":")
	has := slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, suite.Group) })
	if !has || slices.Contains(names, "") {
		return errors.New("client_groups= must be library, or names with colons between, of which one is group=")
	}
	return nil
}

// rolesWhole is what one process of a pair needs, or only a process with both ends can do.
func (it *settings) rolesWhole() error {
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

func (it *settings) resumptionWhole() error {
	resumes := []string{memoryScenario, churnScenario, handshakeScenario}
	switch suite := &it.suite; {
	case suite.Resume && !slices.Contains(resumes, it.scenario):
		return errors.New("resume=on is of the scenarios memory, churn and handshake")
	case suite.Resume && suite.Tickets < 0:
		return errors.New("resume=on needs a number of tickets, not the library's own")
	case suite.Resume && !suite.Store && suite.Tickets == 0:
		return errors.New("resume=on needs store=on or tickets, which clients can offer")
	}
	return nil
}

func (it *settings) contextsWhole() error {
	switch {
	case it.contexts.names > 1 && !it.contexts.shares[Server]:
		return errors.New("names= of more than one needs one server context: sharing=shared or each-client")
	case it.contexts.cas > 1 && it.suite.Auth == "mutual":
		return errors.New("cas= of more than one is not of auth=mutual: clients have their certificates elsewhere")
	case it.contexts.names > 1 && it.suite.Auth == "mutual":
		return errors.New("names= of more than one is not of auth=mutual")
	}
	return nil
}

// derive is what follows: a timed run's sessions are one pair a thread, made again and again.
func (it *settings) derive() {
	if it.timed() {
		it.sessions = 2 * it.threads
	}
	if it.timing.warmup == 0 {
		it.timing.warmup = max(1, it.timing.rounds/8)
	}
	if it.memory.window == 0 || it.memory.window > it.sessions/2 {
		it.memory.window = it.sessions / 2
	}
}
