package core

import (
	"bytes"
	"testing"
)

// A wire of two pairs, as memtest/wire.c lays it out.
func wires(t *testing.T) (client, server *end) {
	t.Helper()
	run = &settings{wiresFd: -1, holds: [2]bool{true, true}}
	wiresOpen(4)
	return &end{index: 2}, &end{index: 3}
}

func file(t *testing.T, at int64, size int) []byte {
	t.Helper()
	found := make([]byte, size)
	if _, err := pread(wiresFd, found, at); err != nil {
		t.Fatal(err)
	}
	return found
}

func sample(size int) []byte {
	made := make([]byte, size)
	for i := range made {
		made[i] = byte(i*7 + size)
	}
	return made
}

func TestAWriteIsLengthAndBytesFromAPageOn(t *testing.T) {
	client, _ := wires(t)
	client.put(sample(5000))
	client.put([]byte{1, 2, 3})
	ring := int64(2 * 64 * 4096)
	if got := file(t, ring, 6); !bytes.Equal(got, append([]byte{0x88, 0x13, 0, 0}, sample(5000)[:2]...)) {
		t.Errorf("the first write begins with % x", got)
	}
	if got := file(t, ring+2*4096, 7); !bytes.Equal(got, []byte{3, 0, 0, 0, 1, 2, 3}) {
		t.Errorf("the second write is % x", got)
	}
	if got := wiresBytes(); got != 3*4096 {
		t.Errorf("%d bytes in flight, 3 pages are right", got)
	}
}

func TestBytesArriveAsAStreamAndLeaveNoMemory(t *testing.T) {
	client, server := wires(t)
	sent, got, some := sample(9000), []byte{}, make([]byte, 1700)
	client.put(sent[:5000])
	client.put(sent[5000:])
	for given := server.take(some); given > 0; given = server.take(some) {
		got = append(got, some[:given]...)
	}
	if !bytes.Equal(got, sent) {
		t.Errorf("%d other bytes arrived", len(got))
	}
	if left := wiresBytes(); left != 0 {
		t.Errorf("%d bytes are still in flight", left)
	}
	if client.take(some) != 0 {
		t.Error("what the client wrote came back to it")
	}
}

func TestARingIsFullAndGoesAround(t *testing.T) {
	client, server := wires(t)
	some := make([]byte, 100000)
	for round := range 20 {
		sent := sample(90000 + round)
		for write := range 2 {
			if !client.put(sent) {
				t.Fatalf("round %d: write %d was not taken", round, write)
			}
		}
		if client.put(sent) {
			t.Fatalf("round %d: a third write was taken, where two fill the ring", round)
		}
		for range 2 {
			if given := server.take(some); !bytes.Equal(some[:given], sent) {
				t.Fatalf("round %d: %d other bytes arrived", round, given)
			}
		}
	}
}

func TestResetLeavesNothingOfThesePairsAndAllOfTheOthers(t *testing.T) {
	client, server := wires(t)
	other := &end{index: 0}
	client.put(sample(10))
	server.put(sample(10))
	other.put(sample(10))
	if !client.unread() || !server.unread() || other.unread() {
		t.Error("what was written to an end is unread there, and nowhere else")
	}
	wiresReset(pairs{first: 1, count: 1})
	if left := wiresBytes(); left != 4096 {
		t.Errorf("%d bytes in flight, the other pair's page is right", left)
	}
}
