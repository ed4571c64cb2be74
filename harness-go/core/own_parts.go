package core

// What of a round is the harness's: the link's copying with the handing over at its reads, and the clock. Measured
// apart, of rounds like the last.

const (
	ownRounds = 256
	ownBytes  = 1 << 26 // of fewer rounds, if they are long
)

// chunk is the mean of what one call moved.
func chunk(bytes, calls int) int { return max(1, (bytes+calls-1)/max(1, calls)) }

func (it *worker) ownParts() {
	now, turns := it.traffic()
	written, turns := now.written-it.before.written, turns-it.turnsBefore
	write := chunk(written, now.writes-it.before.writes)
	read := chunk(now.read-it.before.read, now.reads-it.before.reads)
	bytes := outside(max(1, written))
	for range min(ownRounds, ownBytes/(written+1)+1) { // as in memtest/own_parts.c
		began := clockNs()
		for at := 0; at < written; at += write {
			it.sides[Server].link.Write(bytes[at:min(at+write, written)])
		}
		copied := clockNs()
		for at := 0; at < written; at += read {
			it.sides[Client].take(bytes[at:min(at+read, written)])
		}
		for turn := range turns {
			it.sides[turn%2].turn()
		}
		it.parts[wireRead].add(clockNs()-copied, uint64(written))
		it.parts[wireWrite].add(copied-began, uint64(written))
	}
	for range ownRounds {
		began := clockNs()
		it.parts[clockPart].add(clockNs()-began, 0)
	}
}
