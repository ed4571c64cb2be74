package core

import "encoding/binary"

// A client's first flight as bytes: captured from a session of the stack's own, taken apart and put together again. RFC
// 8446, 4.1.2 and 5.1; its form is that of TLS 1.2 too. As in memtest/hello.c.

const (
	helloBytes      = 128 * 1024 // at most, with its records
	recordHeader    = 5
	mostInRecord    = 16384
	handshakeHeader = 4
	handshakeRecord = 22
	clientHello     = 1
	preSharedKey    = 41 // which stays last
)

// hello is outside of Go's heap, as all that the harness has and is large.
type hello struct {
	size    int
	records [helloBytes]byte
}

func (it *hello) bytes() []byte { return it.records[:it.size] }

// message is the one in these records.
func message(records []byte) []byte {
	var taken []byte
	for len(records) > 0 {
		if len(records) < recordHeader || records[0] != handshakeRecord {
			Die("the client's first flight is not a ClientHello alone")
		}
		length := int(binary.BigEndian.Uint16(records[3:]))
		if length > len(records)-recordHeader {
			Die("the client's first flight ends within a record")
		}
		taken = append(taken, records[recordHeader:recordHeader+length]...)
		records = records[recordHeader+length:]
	}
	if len(taken) < handshakeHeader || taken[0] != clientHello || number24(taken[1:]) != len(taken)-handshakeHeader {
		Die("the client's first flight is not one ClientHello")
	}
	return taken
}

func number24(bytes []byte) int {
	return int(bytes[0])<<16 | int(binary.BigEndian.Uint16(bytes[1:]))
}

// capture takes what the bytes of `flight` are: records of one ClientHello.
func (it *hello) capture(flight []byte) {
	if len(flight) > helloBytes {
		Die("the client's first flight has %d bytes, and there is room for %d", len(flight), helloBytes)
	}
	message(flight)
	it.size = copy(it.records[:], flight)
}

// extensionsAt is where the extensions' length stands: behind version, random, session id, cipher suites and compression
// methods.
func extensionsAt(message []byte) int {
	at := handshakeHeader + 2 + 32
	at += 1 + int(message[at])
	at += 2 + int(binary.BigEndian.Uint16(message[at:]))
	return at + 1 + int(message[at])
}

func appendExtension(to []byte, kind uint16, body []byte) []byte {
	to = binary.BigEndian.AppendUint16(to, kind)
	to = binary.BigEndian.AppendUint16(to, uint16(len(body)))
	return append(to, body...)
}

// extensionsWith are those of `from` without the one of this kind, and with its new body: before a pre_shared_key, or
// last.
func extensionsWith(from []byte, kind uint16, body []byte) (made []byte) {
	put := false
	for len(from) > 0 {
		known, length := binary.BigEndian.Uint16(from), 4+int(binary.BigEndian.Uint16(from[2:]))
		if known == preSharedKey && !put {
			made, put = appendExtension(made, kind, body), true
		}
		if known != kind {
			made = append(made, from[:length]...)
		}
		from = from[length:]
	}
	if !put {
		made = appendExtension(made, kind, body)
	}
	return made
}

// extension is the body of the extension of this kind.
func (it *hello) extension(kind uint16) []byte {
	message := message(it.bytes())
	for from := message[extensionsAt(message)+2:]; len(from) > 0; {
		length := 4 + int(binary.BigEndian.Uint16(from[2:]))
		if binary.BigEndian.Uint16(from) == kind {
			return from[4:length]
		}
		from = from[length:]
	}
	Die("the client's ClientHello has no extension %d", kind)
	return nil
}

// extend gives the extension of this kind a body, whatever it had before; records are made anew.
func (it *hello) extend(kind uint16, body []byte) {
	before := message(it.bytes())
	at := extensionsAt(before)
	if at+2 > len(before) || at+2+int(binary.BigEndian.Uint16(before[at:])) != len(before) {
		Die("the client's ClientHello has no extensions")
	}
	if len(before)-at+4+len(body) > 0xffff {
		Die("no ClientHello has room for an extension of %d bytes beside its others", len(body))
	}
	made := extensionsWith(before[at+2:], kind, body)
	after := append([]byte{}, before[:at]...)
	after = append(binary.BigEndian.AppendUint16(after, uint16(len(made))), made...)
	length := len(after) - handshakeHeader
	after[1], after[2], after[3] = byte(length>>16), byte(length>>8), byte(length)
	it.pack(after)
}

// pack makes records of a message.
func (it *hello) pack(message []byte) {
	records := it.records[:0]
	for len(message) > 0 {
		part := message[:min(len(message), mostInRecord)]
		records = append(records, handshakeRecord, 3, 1, byte(len(part)>>8), byte(len(part)))
		records = append(records, part...)
		message = message[len(part):]
	}
	it.size = len(records)
}
