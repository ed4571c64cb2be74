package core

import (
	"strings"
	"sync/atomic"
)

// A HelloRetryRequest is a ServerHello whose random is the SHA-256 of its name: RFC 8446, 4.1.3. It is the first that a
// server sends, in a record of its own. As in memtest/hello_retry.c.

const anyByte = -1

var retryRequest = [...]int{
	22, 3, anyByte, anyByte, anyByte, 2, anyByte, anyByte, anyByte, 3, 3, // headers of a record, and of a ServerHello
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
	0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
}

// retryWatch is how many of the first bytes that a server sent were compared, and whether one is no HelloRetryRequest's.
type retryWatch struct {
	compared uint8
	differs  bool
}

func (it *retryWatch) watch(bytes []byte) {
	for ; len(bytes) > 0 && int(it.compared) < len(retryRequest) && !it.differs; bytes = bytes[1:] {
		expected := retryRequest[it.compared]
		it.differs = expected != anyByte && expected != int(bytes[0])
		it.compared++
	}
}

func (it *retryWatch) seen() bool { return int(it.compared) == len(retryRequest) && !it.differs }

const (
	retryUnknown = iota // before the first handshake
	retryNo
	retryYes
)

var retryAll atomic.Int32 // as the first one was that is verified

// retryExpected: a client has a key share of the first group that it offers, and of no other that its server might
// choose, unless the library chooses all that it offers.
func retryExpected() int32 {
	suite := &run.suite
	first, _, _ := strings.Cut(suite.ClientGroups, ":")
	switch {
	case suite.Protocol == "TLSv1.2": // has none
		return retryNo
	case suite.ClientGroups == GroupsLibrary:
		return retryUnknown
	case strings.EqualFold(first, suite.Group):
		return retryNo
	}
	return retryYes
}

// retryAgrees ends the run where a HelloRetryRequest is missing, or is not asked for.
func retryAgrees(role Role, index int, seen bool) {
	retried, expected := int32(retryNo), retryExpected()
	said, first := map[Role]string{Client: "received", Server: "sent"}[role], "is"
	if seen {
		retried = retryYes
	}
	if expected == retryYes {
		first = "is not"
	}
	retryAll.CompareAndSwap(retryUnknown, retried)
	a := map[int32]string{retryNo: "no", retryYes: "a"}[retried]
	if expected != retryUnknown && retried != expected {
		Die("%s %d %s %s HelloRetryRequest, where the client's first group %s its server's", role, index, said, a, first)
	}
	if retried != retryAll.Load() {
		Die("%s %d %s %s HelloRetryRequest, other than the first one", role, index, said, a)
	}
}
