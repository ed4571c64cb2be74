package core

// Scenario `churn`: sessions come and go over waves, at N of them open. What is live, and what is resident, when all are
// open and when a wave has ended. The contexts stay, and with them all that a library keeps of sessions gone. As in
// memtest/churn.c.

const (
	stragglersOf  = 100 // one pair of so many stays when its wave ends
	stayWaves     = 3   // and through the ends of so many waves, its own among them
	lifetimeWaves = 4   // of lifetimes the mean: so many parts of all sessions, one of them ends with a wave
)

var (
	patterns    = []string{"waves", "sawtooth", "lifetimes"}
	wave        int    // from 1; 0 before the first and after the last
	opened      int    // pairs, in all waves so far
	stays       []byte // by pair: 1 where it is open when a wave has ended. Outside of Go's heap
	randomState uint64
)

func pairCount() int { return run.sessions / 2 }

func allPairs() pairs { return heldPairs(0, pairCount()) }

// endingPairs are those that a wave opens, for none is there; once it is chosen, those that end with it.
func endingPairs() pairs {
	all := allPairs()
	all.hasPair = ends
	return all
}

func ends(pair int) bool { return stays[pair] == 0 }

// random is SplitMix64: the same numbers in every language.
func random() uint64 {
	randomState += 0x9e3779b97f4a7c15
	z := randomState
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// straggles: evenly apart, so that they pin as many pages as they can; each wave has the next ones.
func straggles(pair, wave int) bool {
	count := max(1, pairCount()/stragglersOf)
	apart := pairCount() / count
	return wave > 0 && pair%apart == wave%apart && pair/apart < count
}

func staysAsStraggler(pair int) bool {
	for back := range stayWaves {
		if straggles(pair, wave-back) {
			return true
		}
	}
	return false
}

// chooseAtRandom: just as many each time, each pair as likely as any other (selection sampling).
func chooseAtRandom() {
	wanted := uint64(max(1, pairCount()/lifetimeWaves))
	for pair := range stays {
		end := random()%uint64(len(stays)-pair) < wanted
		stays[pair] = byte(boolean(!end))
		wanted -= uint64(boolean(end))
	}
}

// choose says which sessions end with this wave: in waves all of them.
func choose() {
	switch run.churn.pattern {
	case "sawtooth":
		for pair := range stays {
			stays[pair] = byte(boolean(staysAsStraggler(pair)))
		}
	case "lifetimes":
		chooseAtRandom()
	}
}

// windowFrom is from `first` on, as far as there are pairs of the window in it.
func windowFrom(first int) pairs {
	window := endingPairs()
	window.first, window.count = first, 0
	for open := 0; first+window.count < pairCount() && open < run.memory.window; window.count++ {
		open += int(boolean(ends(first + window.count)))
	}
	return window
}

func openWave() {
	for first := 0; first < pairCount(); {
		window := windowFrom(first)
		sessionsNew(contexts, window)
		handshake(window, unheard, unseen)
		established(window)
		first = window.first + window.count
	}
	use(allPairs(), unheard, unseen) // those that stayed, too: they still carry data
}

func closeWave() {
	sessionsFree(endingPairs())
	wiresReset(endingPairs()) // the other process, where there is one, has read what it had to
	if run.churn.trim {
		meterTrim()
	}
}

func oneWave() {
	during("open", openWave)
	sessionsVerify(endingPairs(), &result) // all that it opened
	for pair := range stays {
		opened += int(boolean(ends(pair)))
	}
	ticketsVerify(opened)
	choose()
	during("closed", closeWave)
}

// drain closes all that stayed.
func drain() {
	for pair := range stays {
		stays[pair] ^= 1
	}
	sessionsFree(endingPairs())
}

func churn() {
	stays, randomState = outside(pairCount()), uint64(run.churn.seed)
	clear(stays) // resident from the start on
	phasesOpen(func() bool { return true })
	during("contexts", func() {
		contextsOpen()
		meterTrim()
	})
	for wave = 1; wave <= run.churn.waves; wave++ {
		oneWave()
	}
	wave = 0
	during("drained", drain)
	during("trimmed", meterTrim)
	during("freed", contextsFree)
	phasesClose()
}
