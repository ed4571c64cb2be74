package core

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Clients that each have a certificate of their own (client_certs=each): a context for each, from CERTS/clients/NNN; and
// what servers say of whom they have verified, whether the clients have one certificate or many.

var (
	clientContexts []any               // by pair; of a process with clients
	clientDigests  [][sha256.Size]byte // by pair, of the certificate that its server verified; zeros: not yet
	clientCommon   [sha256.Size]byte   // the same of all pairs, where all clients have one certificate; zeros: not yet
)

func (it *settings) clientsWhole() error {
	switch {
	case it.memory.eachClient && it.scenario != memoryScenario:
		return errors.New("client_certs=each is of the scenario memory")
	case it.memory.eachClient && it.suite.Auth != "mutual":
		return errors.New("client_certs=each needs auth=mutual: else clients have none")
	}
	return nil
}

func clientCerts(pair int) string {
	return fmt.Sprintf("%s/clients/%03d", run.suite.Certs, pair)
}

func clientsThere() (count int) {
	for {
		if _, err := os.Stat(filepath.Join(clientCerts(count), "client-chain.pem")); err != nil {
			return count
		}
		count++
	}
}

func clientsOpen() {
	pairs := run.sessions / 2
	if run.holds[Server] {
		clientDigests = make([][sha256.Size]byte, pairs)
	}
	if !run.holds[Client] {
		return
	}
	if count := clientsThere(); count < pairs {
		Die("client_certs=each: %s has certificates of %d clients, and sessions=%d needs %d; "+
			"memtest/certs/README.md says how to make more", run.suite.Certs, count, run.sessions, pairs)
	}
	clientContexts = make([]any, pairs)
	for pair := range clientContexts {
		suite := run.suite
		suite.Certs = clientCerts(pair)
		clientContexts[pair] = driver.Context(Client, &suite)
	}
}

func clientsFree() {
	clientContexts, clientDigests = nil, nil
}

// clientVerified is about a server that has verified its client. It ends the run where that is not the certificate of the
// suite's client_certs.
func clientVerified(pair int, certificate []byte) {
	var none [sha256.Size]byte
	digest := sha256.Sum256(certificate)
	if !run.memory.eachClient {
		if clientCommon != none && clientCommon != digest {
			Die("server %d verified another certificate than the servers before it, the suite has client_certs=same", pair)
		}
		clientCommon = digest
		return
	}
	for other := range clientDigests {
		if other != pair && bytes.Equal(clientDigests[other][:], digest[:]) {
			Die("servers %d and %d verified the same certificate, the suite has client_certs=each", other, pair)
		}
	}
	clientDigests[pair] = digest
}
