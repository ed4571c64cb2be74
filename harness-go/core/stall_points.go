package core

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
)

// Where a peer stops, and what it has sent: RFC 8446, 4 and 5.1. Every record that is sent is complete, for a library
// may wait for the whole of one before it looks at what a message announces. As in memtest/stall_points.c.

// stallPoint is where a peer stops: one table of memtest/stall_points.toml.
type stallPoint struct {
	name           string
	role           Role // of the sessions that are left waiting
	answers        bool // they have written when they are left
	completes      bool // all that the peer sends arrives, so they may be complete
	largeChain     bool // the suite's own certificates may be too large for the stack
	protocol, auth string
	ticket         bool                          // the suite's servers issue tickets
	prepare        func(*stallPoint)             // or nil: once, before the first session
	deliver        func(pair int, _ *stallPoint) // or nil: nothing is sent
	bytes          int                           // that are announced, or that an extension or a ticket has
	names          int                           // of authorities in a certificate request
	extension      uint16
}

const (
	serverHello       = 2
	certificate       = 11
	hostName          = 0
	alpn              = 16
	pskExchangeModes  = 45
	keyShare          = 51
	applicationRecord = 23
	flightBytes       = 256 * 1024
)

var (
	captured hello
	flight   [flightBytes]byte
	large    [0xffff]byte // the body of an extension
	caNames  []byte       // of a certificate request: each behind its length
)

// beginClient makes a client of the pair, up to its first flight; the pair's other end has not seen it.
func beginClient(pair int) *session {
	client := newSession(contexts[Client], pair, Client)
	client.step()
	return client
}

// capture is of what the stack's own client sends first.
func capture(*stallPoint) {
	client := beginClient(0)
	captured.capture(intercept(&end{index: uint32(Server)}, flight[:]))
	client.free()
	wiresReset(pairs{count: 1})
}

// announce sends a record of six bytes: the header of a message of that many, and its first two.
func announce(pair int, kind byte, bytes int, minor byte) {
	stallSend(pair, []byte{handshakeRecord, 3, minor, 0, 6, kind, byte(bytes >> 16), byte(bytes >> 8), byte(bytes), 3, 3})
}

func announceHello(pair int, of *stallPoint)       { announce(pair, clientHello, of.bytes, 1) }
func announceServerHello(pair int, of *stallPoint) { announce(pair, serverHello, of.bytes, 3) }
func sendHello(pair int, _ *stallPoint)            { stallSend(pair, captured.bytes()) }

func sendHelloByBytes(pair int, _ *stallPoint) {
	hello := captured.bytes()
	for at := range len(hello) - 1 {
		stallSend(pair, hello[at:at+1])
	}
}

// announceCertificate: in TLS 1.2 a client's Certificate is in the clear.
func announceCertificate(pair int, of *stallPoint) {
	sendHello(pair, of)
	announce(pair, certificate, of.bytes, 3)
}

// extend: ALPN is a list of names with their lengths; a host name has its length and that of its list before it.
func extend(of *stallPoint) {
	capture(of)
	body := large[:of.bytes]
	for i := range body {
		body[i] = 'x'
	}
	switch of.extension {
	case alpn:
		body[0], body[1] = byte((of.bytes-2)>>8), byte(of.bytes-2)
		for at := 2; at < of.bytes; at += 10 {
			body[at] = 9
			if of.bytes-at <= 19 {
				body[at] = byte(of.bytes - at - 1)
			}
		}
	case hostName:
		name := of.bytes - 5
		copy(body, []byte{byte((name + 3) >> 8), byte(name + 3), 0, byte(name >> 8), byte(name)})
		for at := 5 + 63; at < of.bytes-1; at += 64 {
			body[at] = '.' // as no label is longer
		}
	}
	captured.extend(of.extension, body)
}

// offerTicket: a ticket that the server has never issued, with its age, and one binder as long as the suite's hash: RFC
// 8446, 4.2.11. A client that offers one says how it would use it, too.
func offerTicket(of *stallPoint) {
	capture(of)
	binder := 32
	if strings.Contains(run.suite.Cipher, "SHA384") {
		binder = 48
	}
	captured.extend(pskExchangeModes, []byte{1, 1})
	body := large[:4+of.bytes+4+3+binder]
	for i := range body {
		body[i] = 'x'
	}
	copy(body, []byte{byte((of.bytes + 6) >> 8), byte(of.bytes + 6), byte(of.bytes >> 8), byte(of.bytes)})
	copy(body[4+of.bytes+4:], []byte{0, byte(binder + 1), byte(binder)})
	captured.extend(preSharedKey, body)
}

// readNames: the file stands beside the certificates of all kinds.
func readNames(*stallPoint) {
	path := filepath.Join(run.suite.Certs, "../ca-names.der")
	names, err := os.ReadFile(path)
	if err != nil {
		Die("%s: there is no such file; memtest/certs/make_certs.sh makes it", path)
	}
	caNames = names
}

// repeatShare: the client's own key share, as often as it fits: RFC 8446, 4.2.8, allows one of each group.
func repeatShare(of *stallPoint) {
	capture(of)
	shares := captured.extension(keyShare)[2:]
	body := large[:2]
	for len(body)+len(shares) <= of.bytes {
		body = append(body, shares...)
	}
	binary.BigEndian.PutUint16(body, uint16(len(body)-2))
	captured.extend(keyShare, body)
}

// serverFlight steps the server of a client that waits, and takes what it writes before the client reads it.
func serverFlight(server *session, pair int) []byte {
	for k := 0; k < maxSteps && server.unread(); k++ {
		server.step()
	}
	return intercept(&waiting(pair).end, flight[:])
}

// sendRequest: a real server's first flight, with other names in its certificate request. It is freed before the client
// has it.
func sendRequest(pair int, of *stallPoint) {
	server := newSession(contexts[Server], pair, Server)
	messages := clearMessages(serverFlight(server, pair))
	server.free()
	left := server.end
	peer = &left
	stallSend(pair, serverRecords(withNames(messages, caNames, of.names)))
}

// sendTicket: a real server goes as far as its ticket, which the client gets: its own, or one of as many bytes as the
// point has.
func sendTicket(pair int, of *stallPoint) {
	server := newSession(contexts[Server], pair, Server)
	peer = &server.end
	stallSend(pair, serverFlight(server, pair))
	messages := clearMessages(serverFlight(server, pair))
	server.free()
	left := server.end
	peer = &left
	if of.bytes > 0 {
		messages = withTicket(messages, of.bytes)
	}
	stallSend(pair, serverRecords(messages))
}

// firstProtectedRecord is up to the first record of application data, which in TLS 1.3 begins the client's Certificate.
func firstProtectedRecord(flight []byte) []byte {
	for at, end := 0, 0; at+recordHeader <= len(flight); at = end {
		end = at + recordHeader + int(binary.BigEndian.Uint16(flight[at+3:]))
		if end > len(flight) {
			Die("the client's second flight ends within a record")
		}
		if flight[at] == applicationRecord {
			return flight[:end]
		}
	}
	Die("the client's second flight has no protected record")
	return nil
}

// secondFlight is what a real client answers a server that has got its first flight. It is freed before the server has
// the answer.
func secondFlight(pair int) []byte {
	client := beginClient(pair)
	peer = &client.end
	stallSend(pair, intercept(&waiting(pair).end, flight[:]))
	client.step()
	second := intercept(&waiting(pair).end, flight[:])
	client.free()
	left := client.end
	peer = &left
	return second
}

func sendClientFlight(pair int, _ *stallPoint) { stallSend(pair, secondFlight(pair)) }

// sendServerFlight: a real server's first flight, whole. It is freed before the client has it.
func sendServerFlight(pair int, _ *stallPoint) {
	server := newSession(contexts[Server], pair, Server)
	first := serverFlight(server, pair)
	server.free()
	left := server.end
	peer = &left
	stallSend(pair, first)
}

// sendFirstOfCertificate: of the client's Certificate the first record arrives.
func sendFirstOfCertificate(pair int, of *stallPoint) {
	second := secondFlight(pair)
	if len(second) < of.bytes {
		Die("the client's second flight has %d bytes, too few for a certificate message of %d", len(second), of.bytes)
	}
	stallSend(pair, firstProtectedRecord(second))
}

// stallPointNamed is nil where there is none.
func stallPointNamed(name string) *stallPoint {
	for i := range stallPoints {
		if stallPoints[i].name == name {
			return &stallPoints[i]
		}
	}
	return nil
}
