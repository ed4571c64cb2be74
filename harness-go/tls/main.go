// Go's crypto/tls behind the driver interface.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"memtest/core"
)

type driver struct{}

func (driver) Name() string { return "go" }

func (driver) Version() string { return runtime.Version() + " crypto/tls" }

func (driver) Supports(suite *core.Suite) string {
	if _, err := offer(suite); err != nil {
		return err.Error()
	}
	return ""
}

// Context has just what the suite asks for. A client holds the root only; a server the leaf, its key and the intermediate.
//
// What stays as it is by default: every client of this process shares one parsed certificate of each that its servers
// have, and a session's outgoing record is made in a buffer of a pool.
func (driver) Context(role core.Role, suite *core.Suite) any {
	config, err := offer(suite)
	if err == nil && role == core.Client {
		config.ServerName = core.ServerName
		config.RootCAs, err = roots(filepath.Join(suite.Certs, "root.pem"))
	} else if err == nil {
		var chain tls.Certificate
		chain, err = tls.LoadX509KeyPair(filepath.Join(suite.Certs, "chain.pem"), filepath.Join(suite.Certs, "key.pem"))
		config.Certificates = []tls.Certificate{chain}
	}
	if err != nil {
		core.Die("%s: %v", suite.Certs, err)
	}
	return context{role, config}
}

type context struct {
	role   core.Role
	config *tls.Config
}

func roots(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		core.Die("%s: no certificate in it", path)
	}
	return pool, nil
}

// session is a connection and nothing else. Handshake, Read and Write are its own.
type session struct{ *tls.Conn }

func (driver) Session(of any, wire net.Conn) core.Session {
	made := of.(context)
	if made.role == core.Client {
		return session{tls.Client(wire, made.config)}
	}
	return session{tls.Server(wire, made.config)}
}

func (it session) Negotiated() core.Negotiated {
	state := it.ConnectionState()
	return core.Negotiated{
		Protocol:     name(protocols, state.Version),
		Cipher:       name(ciphers, state.CipherSuite),
		Group:        name(groups, state.CurveID),
		Resumed:      state.DidResume,
		PeerVerified: len(state.VerifiedChains) > 0, // which crypto/tls fills after the host name matched, too
	}
}

func main() { os.Exit(core.Main(os.Args, driver{})) }
