package core

import "encoding/binary"

// A server's flight of TLS 1.2 as bytes: messages in the clear, taken from a session of the stack's own, and changed. RFC
// 5246, 6.2.1, 7.4 and 7.4.4; RFC 5077, 3.3. As in memtest/server_flight.c.

const (
	newSessionTicket   = 4
	certificateRequest = 13
)

// clearMessages are those at the beginning of a flight, up to the first record that has none.
func clearMessages(records []byte) (taken []byte) {
	for len(records) >= recordHeader && records[0] == handshakeRecord {
		length := recordHeader + int(binary.BigEndian.Uint16(records[3:]))
		if length > len(records) {
			Die("the server's flight ends within a record")
		}
		taken = append(taken, records[recordHeader:length]...)
		records = records[length:]
	}
	if len(taken) == 0 {
		Die("the server's flight has no message in the clear")
	}
	return taken
}

// serverRecords are the records of these messages.
func serverRecords(messages []byte) (records []byte) {
	for len(messages) > 0 {
		part := messages[:min(len(messages), mostInRecord)]
		records = append(records, handshakeRecord, 3, 3, byte(len(part)>>8), byte(len(part)))
		records = append(records, part...)
		messages = messages[len(part):]
	}
	return records
}

// withMessage gives the message of a type another body, which `change` makes of the one that it has.
func withMessage(messages []byte, kind byte, name string, change func(old []byte) []byte) []byte {
	for at := 0; at+handshakeHeader <= len(messages); {
		end := at + handshakeHeader + number24(messages[at+1:])
		if end > len(messages) {
			Die("the server's flight ends within a message")
		}
		if messages[at] == kind {
			body := change(messages[at+handshakeHeader : end])
			made := append([]byte{}, messages[:at]...)
			made = append(made, kind, byte(len(body)>>16), byte(len(body)>>8), byte(len(body)))
			return append(append(made, body...), messages[end:]...)
		}
		at = end
	}
	Die("the server's flight has no %s", name)
	return nil
}

// withNames has the first names of authorities in its CertificateRequest: each of `names` is behind its length, in two
// bytes. Before them are the types of certificates and the algorithms of signatures.
func withNames(messages, names []byte, count int) []byte {
	length := 0
	for range count {
		if length+2 > len(names) || length+2+int(binary.BigEndian.Uint16(names[length:])) > len(names) {
			Die("memtest/certs/ca-names.der has fewer than %d names", count)
		}
		length += 2 + int(binary.BigEndian.Uint16(names[length:]))
	}
	return withMessage(messages, certificateRequest, "CertificateRequest", func(old []byte) []byte {
		kept := 1 + int(old[0])
		kept += 2 + int(binary.BigEndian.Uint16(old[kept:]))
		body := binary.BigEndian.AppendUint16(append([]byte{}, old[:kept]...), uint16(length))
		return append(body, names[:length]...)
	})
}

// withTicket has a ticket of so many bytes in its NewSessionTicket, behind its lifetime, which stays.
func withTicket(messages []byte, bytes int) []byte {
	return withMessage(messages, newSessionTicket, "NewSessionTicket", func(old []byte) []byte {
		body := binary.BigEndian.AppendUint16(append([]byte{}, old[:4]...), uint16(bytes))
		for range bytes {
			body = append(body, 'x')
		}
		return body
	})
}
