package core

import (
	"bytes"
	"errors"
	"net"
	"testing"
)

// Both ends of a link, of which no read may wait.
func links(room int) (client, server *link) {
	flows := [2]flow{{bytes: make([]byte, room)}, {bytes: make([]byte, room)}}
	alone := func() bool { return false }
	return &link{in: &flows[1], out: &flows[0], wait: alone}, &link{in: &flows[0], out: &flows[1], wait: alone}
}

func TestALinkGivesWhatWasWrittenAsAStreamAndBeginsAgain(t *testing.T) {
	client, server := links(100)
	for range 5 { // more than there is room for
		client.Write(sample(40))
		client.Write(sample(30))
		var got []byte
		some := make([]byte, 33)
		for server.unread() {
			given, err := server.Read(some)
			if err != nil || given == 0 {
				t.Fatalf("%d bytes, %v", given, err)
			}
			got = append(got, some[:given]...)
		}
		if !bytes.Equal(got, append(sample(40), sample(30)...)) {
			t.Fatalf("%d other bytes arrived", len(got))
		}
	}
	if client.traffic != (traffic{writes: 10, written: 350}) || server.traffic != (traffic{reads: 15, read: 350}) {
		t.Errorf("%+v, %+v", client.traffic, server.traffic)
	}
}

func TestALinkThatIsFullTakesNothing(t *testing.T) {
	client, server := links(100)
	client.Write(sample(60))
	if taken, err := client.Write(sample(41)); taken != 0 || err == nil {
		t.Errorf("%d bytes were taken, %v", taken, err)
	}
	if given, _ := server.Read(make([]byte, 100)); given != 60 {
		t.Errorf("%d bytes arrived", given)
	}
}

func TestAReadWithoutANextTurnEnds(t *testing.T) {
	client, _ := links(100)
	if given, err := client.Read(make([]byte, 1)); given != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("%d bytes, %v", given, err)
	}
}
