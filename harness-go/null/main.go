// The null stack in Go: no TLS, three blocks a session, flights of known sizes. What the meters say of it is known: what
// is beyond its three blocks is the harness's own, and the goroutine's.
package main

import (
	"fmt"
	"net"
	"os"

	"memtest/core"
)

const firstBytes, secondBytes = 1000, 3032

var flights = [2][]int{{1500, 100}, {8000, 0}} // by role

// session and its two blocks are of 40, 1,000 and 3,032 bytes.
type session struct {
	wire          net.Conn
	first, second *byte
	role          int
}

type driver struct{}

func (driver) Name() string { return "null" }

func (driver) Version() string {
	return "null 1 (no TLS: three blocks of 40, 1,000 and 3,032 bytes a session)"
}

func (driver) Supports(suite *core.Suite) string {
	if suite.Protocol != "none" {
		return `has no TLS; its suite is "none"`
	}
	return ""
}

func (driver) Context(role core.Role, _ *core.Suite) any { return role }

func block(size int, value byte) *byte {
	made := make([]byte, size)
	for i := range made {
		made[i] = value
	}
	return &made[0]
}

func (driver) Session(context any, wire net.Conn) core.Session {
	return &session{wire, block(firstBytes, 1), block(secondBytes, 2), int(context.(core.Role))}
}

var flight [8000]byte // no session's: one goroutine runs at a time, and none stops between filling and writing it

func (it *session) send(size int) error {
	for i := range flight[:size] {
		flight[i] = byte(i)
	}
	_, err := it.wire.Write(flight[:size])
	return err
}

// receive waits for a whole flight, which is one datagram.
func (it *session) receive(size int) error {
	got, err := it.wire.Read(flight[:])
	if err != nil {
		return err
	}
	if got != size {
		return fmt.Errorf("a flight of %d bytes, %d were sent", got, size)
	}
	for i, value := range flight[:size] {
		if value != byte(i) {
			return fmt.Errorf("byte %d of a flight of %d is wrong", i, size)
		}
	}
	return nil
}

// Handshake: client 1,500 -> server 8,000 -> client 100 -> server.
func (it *session) Handshake() error {
	for step, size := range flights[it.role] {
		if it.role == int(core.Server) || step > 0 {
			expected := flights[1-it.role][step-1+it.role]
			if err := it.receive(expected); err != nil {
				return err
			}
		}
		if err := it.send(size); err != nil {
			return err
		}
	}
	return nil
}

func (it *session) Read(bytes []byte) (int, error)  { return it.wire.Read(bytes) }
func (it *session) Write(bytes []byte) (int, error) { return it.wire.Write(bytes) }

func (*session) Negotiated() core.Negotiated {
	return core.Negotiated{Protocol: "none", Cipher: "none", Group: "none"}
}

func main() { os.Exit(core.Main(os.Args, driver{})) }
