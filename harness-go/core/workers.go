package core

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// The threads of a timed run. Each warms up, waits for all, and works until the first of them has done its rounds,
// or its seconds are over: so none is ever measured without the others beside it.

// worker is one of them, with its pair.
type worker struct {
	index       int
	sides       [2]side // by role, here and below
	flows       [2]flow // what each writes
	contexts    [2]any  // the client's is its own, the server's is shared
	source      []byte  // of a transfer: what one write sends
	now         func() uint64
	lap         [parts]uint64 // of this round, in the units of now
	offers      bool          // a client of this context got before what the next offers
	round       int           // so far
	warmed      int           // of those, before the ones that count
	before      traffic       // of both ends, and the turns, when the round began
	turnsBefore int
	agreed      [2]Negotiated
	rounds      int // of those that count, here and below
	resumed     int
	preempted   int64
	elapsed     uint64
	parts       [parts]intervals
	_           [64]byte // no cache line is two workers'
}

// timed is a scenario.
type timed struct {
	open, round, after, close func(*worker)
	room                      int // of a flow
	first, last               part
}

var (
	stop            atomic.Bool
	ready, finished sync.WaitGroup // of all workers: to be timed; with what is timed
)

func (it *worker) cpu() int {
	if len(run.timing.cpus) == 0 {
		return -1
	}
	return run.timing.cpus[it.index%len(run.timing.cpus)]
}

func (it *worker) pin() {
	var set cpuSet
	if it.cpu() < 0 {
		return
	}
	set.add(it.cpu())
	if err := affinitySet(&set); err != nil {
		Die("cpus: %d: %v", it.cpu(), err)
	}
}

func (it *worker) lapEnd(of part, since, until uint64) { it.lap[of] += until - since }

func (it *worker) traffic() (traffic, int) {
	client, server := &it.sides[Client], &it.sides[Server]
	both := traffic{client.writes + server.writes, client.reads + server.reads,
		client.traffic.written + server.traffic.written, client.traffic.read + server.traffic.read}
	return both, client.turns + server.turns
}

func (it *worker) makeRound(scenario *timed) {
	it.before, it.turnsBefore = it.traffic()
	it.lap = [parts]uint64{}
	scenario.round(it)
	it.round++
}

// deadline is when rounds end, if their number does not end them before: after that part of the seconds.
func deadline(part uint64) uint64 {
	if run.timing.seconds == 0 {
		return math.MaxUint64
	}
	return clockNs() + uint64(run.timing.seconds)*1e9/part
}

func (it *worker) makeRounds(scenario *timed) {
	usage, until := threadUsage(), deadline(1)
	began := clockNs()
	for it.rounds == 0 || !stop.Load() {
		it.makeRound(scenario)
		for one := scenario.first; one <= scenario.last; one++ {
			it.parts[one].add(it.lap[one], bytesOf(one))
		}
		if it.rounds++; it.rounds == run.timing.rounds || clockNs() >= until {
			stop.Store(true)
		}
	}
	it.elapsed = clockNs() - began
	it.preempted = threadUsage().Nivcsw - usage.Nivcsw
}

// countFaults is apart, since asking for them takes a system call.
func (it *worker) countFaults(scenario *timed) {
	resumed, until := it.resumed, deadline(8)
	it.now = threadFaults
	for counted := 0; counted == 0 || counted < run.timing.warmup && clockNs() < until; counted++ {
		it.makeRound(scenario)
		for one := scenario.first; one <= scenario.last; one++ {
			it.parts[one].faults += it.lap[one]
			it.parts[one].faultsCount++
		}
	}
	it.resumed = resumed
}

func (it *worker) open(scenario *timed) {
	it.pin()
	for one := scenario.first; one <= scenario.last; one++ {
		it.parts[one].open()
	}
	for _, role := range roles {
		it.flows[role].bytes = outside(scenario.room)
		it.sides[role].open(role, it.index, &it.flows[1-role], &it.flows[role])
		it.sides[role].inbox = make([]byte, 1)
	}
	it.contexts[Client] = driver.Context(Client, &run.suite)
	it.now = clockNs
	scenario.open(it)
}

func (it *worker) warmUp(scenario *timed) {
	for until := deadline(8); it.warmed == 0 || it.warmed < run.timing.warmup && clockNs() < until; it.warmed++ {
		it.makeRound(scenario)
	}
	it.resumed = 0
}

// work is all that a worker's goroutine does, on a thread of its own that ends with it.
func (it *worker) work(scenario *timed) {
	runtime.LockOSThread()
	it.open(scenario)
	it.warmUp(scenario)
	meetAll(&ready)
	it.makeRounds(scenario)
	meetAll(&finished)
	scenario.after(it)
	it.countFaults(scenario)
	scenario.close(it)
	it.ownParts()
	for _, role := range roles {
		it.sides[role].stop()
	}
}

func meetAll(at *sync.WaitGroup) {
	at.Done()
	at.Wait()
}

// work runs a scenario: makes the server's context, all workers and their rounds, and prints them.
func work(scenario *timed) {
	if certsMayBeRefused() {
		refusalsBegin("does not take the suite's certificates")
	}
	workers, server := make([]worker, run.threads), driver.Context(Server, &run.suite)
	refusalsEnd()
	var done sync.WaitGroup
	ready.Add(run.threads)
	finished.Add(run.threads)
	for i := range workers {
		workers[i].index, workers[i].contexts[Server] = i, server
		done.Go(func() { workers[i].work(scenario) })
	}
	done.Wait()
	mustHaveResumed(workers)
	for i := range workers {
		workers[i].print()
	}
	result = workers[0].agreed
	recordEnd(true)
}

// mustHaveResumed: a miss is a full handshake, and the figure would be of neither.
func mustHaveResumed(workers []worker) {
	rounds, resumed := 0, 0
	for i := range workers {
		rounds += workers[i].rounds
		resumed += workers[i].resumed
	}
	if run.suite.Resume && resumed < rounds {
		Die("resumed %d of %d handshakes, a hit rate of %.2f %%; the suite asks for all", resumed, rounds,
			100*float64(resumed)/float64(rounds))
	}
}
