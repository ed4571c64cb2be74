// Package core is the program that every harness in Go is: argv in, one measurement out, as docs/reference/records.md has it.
// It shares no line with memtest/*.c, and memtest/tests/test_differential.py holds the two to the same behaviour.
package core

import "net"

// Role is the end of a pair that a session is.
type Role int

const (
	Client Role = iota
	Server
)

var roles = [2]Role{Client, Server}

func (role Role) String() string {
	return [...]string{"client", "server"}[role]
}

// ServerName is the host that every certificate directory's leaf is for.
const ServerName = "localhost"

// Suite is one protocol configuration, as named in suites.toml. Names are OpenSSL's for ciphers and groups.
type Suite struct {
	Protocol, Cipher, Group string
	ClientGroups            string // a client's in order of preference, with colons between, or GroupsLibrary
	Certs                   string // directory with root.pem, chain.pem (leaf first), key.pem; of clients, with client- before
	Auth                    string
	Tickets                 int // that a server issues, or TicketsLibrary
	Store                   bool
	Resume                  bool // a client context's sessions offer what the ones before them got
	Options                 string
	FullRecords             bool // data=full: each end sends and receives a full record too, then waits in Read
}

// TicketsLibrary is what a suite has in Tickets where the library does as it does unless it is told otherwise.
const TicketsLibrary = -1

// GroupsLibrary is what a suite has in ClientGroups where a client offers what it does unless it is told otherwise.
const GroupsLibrary = "library"

// Negotiated is what one session agreed on, as the library reports it.
type Negotiated struct {
	Protocol, Cipher, Group string
	Resumed                 bool
	PeerVerified            bool   // chain verified up to the root in the store and, on a client, the host name matched
	Peer                    []byte // the peer's own certificate; nil without one
}

// Driver puts a TLS implementation behind the core. It never counts, prints, loops over sessions, or knows how many
// there are; whatever fails calls Die.
type Driver interface {
	Name() string
	Version() string
	Supports(*Suite) string                                        // empty when this stack can do the suite, else the reason in a few words
	Context(Role, *Suite) any                                      // of a server: sessions of several threads at once
	Session(context any, wire net.Conn, serverName string) Session // which a client asks for, and verifies
}

// Namer is a driver whose server serves several names.
type Namer interface {
	// AddName: a server's context, before its first session, serves this name too, with chain.pem and key.pem of
	// suite.Certs: in the way in which servers have the library do that.
	AddName(context any, serverName string, suite *Suite)
}

// Session blocks in what the wire does not have yet, as libraries in Go do: the core gives each a goroutine.
type Session interface {
	Handshake() error
	Read([]byte) (int, error)
	Write([]byte) (int, error) // by another goroutine than Read's, which may be blocked meanwhile
	Negotiated() Negotiated
}

// SealTagBytes is of every AEAD that a suite may have.
const SealTagBytes = 16

// Sealer is a driver with the library's own AEADs, called directly. The key is the bytes 0, 1, 2, ...; the nonce a
// big-endian counter, which is 0 for the first record; the additional data are 13 zeros.
type Sealer interface {
	// Sealer is nil for a cipher that only the library itself can call.
	Sealer(*Suite) Seal
}

// Seal encrypts a record in place: all but the last SealTagBytes of it, where the tag goes.
type Seal func(record []byte)
