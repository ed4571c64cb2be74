package core

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
)

// Scenario `throughput`: a server writes, a client reads, round after round over one established pair a thread.

const leastRoundBytes = 64 * 1024

var sealed string // the tag of a first record, hexadecimal; empty without a sealer

func writes() int { return max(1, leastRoundBytes/run.timing.size) }

func roundBytes() int { return writes() * run.timing.size }

func bytesOf(of part) uint64 {
	if of == sendPart || of == receivePart {
		return uint64(roundBytes())
	}
	return 0
}

// sendAll is of the thread's goroutine, while the server's waits in Read.
func (it *worker) sendAll() {
	for range writes() {
		taken, err := it.sides[Server].session.Write(it.source)
		if err != nil {
			Die("server %d: write: %v", it.index, err)
		}
		if taken != run.timing.size {
			Die("server %d took %d bytes of a write of %d, and no more", it.index, taken, run.timing.size)
		}
	}
}

// stamp: each round sends other bytes than the one before.
func (it *worker) stamp() {
	var round [8]byte
	binary.NativeEndian.PutUint64(round[:], uint64(it.round))
	copy(it.source, round[:])
}

func (it *worker) compare() {
	client := &it.sides[Client]
	if client.size != roundBytes() {
		Die("client %d received %d bytes of %d", it.index, client.size, roundBytes())
	}
	for at := 0; at < client.size; at += run.timing.size {
		if !bytes.Equal(client.inbox[at:at+run.timing.size], it.source) {
			Die("client %d received other bytes than were sent", it.index)
		}
	}
	client.size = 0
}

func transferRound(it *worker) {
	it.stamp()
	began := it.now()
	it.sendAll()
	sent := it.now()
	it.sides[Client].turn()
	received := it.now()
	it.lapEnd(sendPart, began, sent)
	it.lapEnd(receivePart, sent, received)
	it.compare()
}

func pattern(size int) []byte {
	made := outside(size)
	for i := range made {
		made[i] = byte(i)
	}
	return made
}

func transferOpen(it *worker) {
	it.source = pattern(run.timing.size)
	it.sides[Client].inbox = pattern(roundBytes())
	it.sessionsNew()
	it.complete()
	it.verify(false)
}

// sealRounds seals as many bytes as a round has, in records of a size that the session's would have.
func sealRounds(it *worker) {
	sealer, has := driver.(Sealer)
	if !has {
		return
	}
	seal := sealer.Sealer(&run.suite)
	if seal == nil {
		return
	}
	record := pattern(recordBytes + SealTagBytes)
	seal(record)
	if it.index == 0 { // what all libraries with this cipher make of the same record
		sealed = hex.EncodeToString(record[recordBytes:])
	}
	it.parts[sealPart].open()
	size := min(run.timing.size, recordBytes)
	count := roundBytes() / size
	for round := range it.warmed + it.rounds {
		began := clockNs()
		for range count {
			seal(record[:size+SealTagBytes])
		}
		if until := clockNs(); round >= it.warmed {
			it.parts[sealPart].add(until-began, uint64(count*size))
		}
	}
}

func transferClose(it *worker) {
	for _, role := range roles {
		it.sides[role].end()
		it.sides[role].session = nil
	}
}

func transfers() {
	work(&timed{
		open:  transferOpen,
		round: transferRound,
		after: sealRounds,
		close: transferClose,
		room:  2*roundBytes() + writes()*256 + 1<<20, // however small the records that a stack makes
		first: sendPart,
		last:  receivePart,
	})
}
