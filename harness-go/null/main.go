// The null stack in Go: no TLS, three blocks a session, flights of known sizes. What the meters say of it is known: what
// is beyond its three blocks is the harness's own, and the goroutine's.
package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"unsafe"

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
	if suite.Resume {
		return "this driver resumes no sessions"
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

func (driver) Session(context any, wire net.Conn, _ string) core.Session {
	return &session{wire, block(firstBytes, 1), block(secondBytes, 2), int(context.(core.Role))}
}

// flight is of all sessions, and only read.
var flight = func() (bytes [8000]byte) {
	for i := range bytes {
		bytes[i] = byte(i)
	}
	return bytes
}()

func (it *session) send(size int) error {
	_, err := it.wire.Write(flight[:size])
	return err
}

// receive takes a whole flight in, by way of the session's second block.
func (it *session) receive(size int) error {
	block := unsafe.Slice(it.second, secondBytes)
	for at := 0; at < size; {
		got, err := it.wire.Read(block[:min(secondBytes, size-at)])
		if err != nil {
			return err
		}
		if !bytes.Equal(block[:got], flight[at:at+got]) {
			return fmt.Errorf("a byte after %d of a flight of %d is wrong", at, size)
		}
		at += got
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
