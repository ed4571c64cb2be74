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
	for _, role := range [...]core.Role{core.Client, core.Server} {
		if _, err := offer(role, suite); err != nil {
			return err.Error()
		}
	}
	return ""
}

// Context has just what the suite asks for. A client holds the root only; a server the leaf, its key and the intermediate;
// with mutual authentication each has that of the other too, of clients' own certificates.
//
// What stays as it is by default: every client of this process shares one parsed certificate of each that its servers
// have, a session's outgoing record is made in a buffer of a pool, and a server's tickets are sealed with keys of its own
// that change daily.
func (driver) Context(role core.Role, suite *core.Suite) any {
	config, err := offer(role, suite)
	mutual := suite.Auth == "mutual"
	if err == nil && role == core.Client {
		config.ServerName = core.ServerName
		config.RootCAs, err = roots(suite, "root.pem")
		if err == nil && mutual {
			err = identify(config, suite, "client-")
		}
		if suite.Tickets > 0 {
			config.ClientSessionCache = newClientSessions(suite)
		}
	} else if err == nil {
		err = identify(config, suite, "")
		if err == nil && mutual {
			config.ClientAuth = tls.RequireAndVerifyClientCert
			config.ClientCAs, err = roots(suite, "client-root.pem")
		}
	}
	if err != nil {
		core.Die("%s: %v", suite.Certs, err)
	}
	return &context{role, config, nil}
}

func identify(config *tls.Config, suite *core.Suite, prefix string) error {
	file := func(name string) string { return filepath.Join(suite.Certs, prefix+name) }
	chain, err := tls.LoadX509KeyPair(file("chain.pem"), file("key.pem"))
	config.Certificates = []tls.Certificate{chain}
	return err
}

type context struct {
	role   core.Role
	config *tls.Config
	names  map[string]*tls.Certificate // of a server with several
}

// AddName is as servers do it that have a certificate for each host (autocert, Caddy): a table of theirs and a callback.
// crypto/tls itself would try its list of certificates one by one. Of a name nothing is shared with another, but the bytes
// of certificates that are equal.
func (driver) AddName(of any, serverName string, suite *core.Suite) {
	named := &tls.Config{}
	if err := identify(named, suite, ""); err != nil {
		core.Die("%s: %v", serverName, err)
	}
	made := of.(*context)
	if made.names == nil {
		made.names = map[string]*tls.Certificate{}
		made.config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return made.names[hello.ServerName], nil // nil: the first of the list, which is for core.ServerName
		}
	}
	made.names[serverName] = &named.Certificates[0]
}

func roots(suite *core.Suite, name string) (*x509.CertPool, error) {
	path := filepath.Join(suite.Certs, name)
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

// Session of a client that asks for another name has a configuration of its own, as tls.Dial makes it.
func (driver) Session(of any, wire net.Conn, serverName string) core.Session {
	made := of.(*context)
	switch {
	case made.role == core.Server:
		return session{tls.Server(wire, made.config)}
	case serverName != core.ServerName:
		named := made.config.Clone()
		named.ServerName = serverName
		return session{tls.Client(wire, named)}
	}
	return session{tls.Client(wire, made.config)}
}

func (it session) Negotiated() core.Negotiated {
	state := it.ConnectionState()
	var peer []byte
	if len(state.PeerCertificates) > 0 {
		peer = state.PeerCertificates[0].Raw
	}
	return core.Negotiated{
		Protocol:     name(protocols, state.Version),
		Cipher:       name(ciphers, state.CipherSuite),
		Group:        name(groups, state.CurveID),
		Resumed:      state.DidResume,
		PeerVerified: len(state.VerifiedChains) > 0, // which crypto/tls fills after the host name matched, too
		Peer:         peer,
	}
}

func main() { os.Exit(core.Main(os.Args, driver{})) }
