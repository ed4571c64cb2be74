package core

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// helloWith is a ClientHello with these extensions, in records of at most `most` bytes.
func helloWith(extensions []byte, most int) []byte {
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(body, 4, 1, 2, 3, 4)       // session id
	body = append(body, 0, 2, 0x13, 1, 1, 0) // a cipher suite, a compression method
	body = append(binary.BigEndian.AppendUint16(body, uint16(len(extensions))), extensions...)
	message := append([]byte{clientHello, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	var records []byte
	for len(message) > 0 {
		part := message[:min(most, len(message))]
		records = append(records, handshakeRecord, 3, 1, byte(len(part)>>8), byte(len(part)))
		records = append(records, part...)
		message = message[len(part):]
	}
	return records
}

var (
	groups   = []byte{0, 10, 0, 4, 0, 2, 0, 29}
	names    = []byte{0, 16, 0, 3, 0, 1, 0}
	psk      = []byte{0, 41, 0, 2, 7, 7}
	newNames = []byte{0, 16, 0, 5, 'a', 'b', 'c', 'd', 'e'}
)

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestAnExtensionIsReplacedOrPutLastButBeforeAPreSharedKey(t *testing.T) {
	for _, it := range []struct {
		name          string
		before, after []byte
	}{
		{"new", groups, join(groups, newNames)},
		{"replaced", join(names, groups), join(groups, newNames)},
		{"before a pre_shared_key", join(names, groups, psk), join(groups, newNames, psk)},
		{"alone", nil, newNames},
	} {
		made := &hello{}
		made.capture(helloWith(it.before, mostInRecord))
		made.extend(alpn, []byte("abcde"))
		if want := helloWith(it.after, mostInRecord); !bytes.Equal(made.bytes(), want) {
			t.Errorf("%s: % x, not % x", it.name, made.bytes(), want)
		}
	}
}

func TestAHelloOfSeveralRecordsIsOneMessage(t *testing.T) {
	made, body := &hello{}, make([]byte, 60000)
	made.capture(helloWith(groups, 30))
	made.extend(0xfafa, body)
	long := append([]byte{0xfa, 0xfa, 60000 >> 8, 60000 & 255}, body...)
	if want := helloWith(join(groups, long), mostInRecord); !bytes.Equal(made.bytes(), want) {
		t.Errorf("%d bytes, not %d", made.size, len(want))
	}
}
