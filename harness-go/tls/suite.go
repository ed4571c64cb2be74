package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"memtest/core"
)

// The names that suites.toml speaks are OpenSSL's.

var protocols = map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}

var ciphers = map[string]uint16{
	"TLS_AES_128_GCM_SHA256":        tls.TLS_AES_128_GCM_SHA256,
	"TLS_AES_256_GCM_SHA384":        tls.TLS_AES_256_GCM_SHA384,
	"TLS_CHACHA20_POLY1305_SHA256":  tls.TLS_CHACHA20_POLY1305_SHA256,
	"ECDHE-RSA-AES128-GCM-SHA256":   tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-RSA-AES256-GCM-SHA384":   tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-RSA-CHACHA20-POLY1305":   tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-ECDSA-AES128-GCM-SHA256": tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-ECDSA-AES256-GCM-SHA384": tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-ECDSA-CHACHA20-POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
}

var groups = map[string]tls.CurveID{
	"X25519":             tls.X25519,
	"P-256":              tls.CurveP256,
	"P-384":              tls.CurveP384,
	"P-521":              tls.CurveP521,
	"X25519MLKEM768":     tls.X25519MLKEM768,
	"SecP256r1MLKEM768":  tls.SecP256r1MLKEM768,
	"SecP384r1MLKEM1024": tls.SecP384r1MLKEM1024,
}

// name is empty for what a table does not have, which is then no suite's.
func name[ID comparable](table map[string]ID, id ID) string {
	for it, known := range table {
		if known == id {
			return it
		}
	}
	return ""
}

func find[ID any](table map[string]ID, asked string) (id ID, found bool) {
	for it, known := range table {
		if strings.EqualFold(it, asked) {
			return known, true
		}
	}
	return id, false
}

// chosen are a role's groups; nil where crypto/tls is to choose. It has an order of its own, whatever that of a list is.
func chosen(role core.Role, suite *core.Suite) (offered []tls.CurveID, err error) {
	list := suite.Group
	if role == core.Client {
		list = suite.ClientGroups
	}
	if list == core.GroupsLibrary {
		return nil, nil
	}
	for one := range strings.SplitSeq(list, ":") {
		group, known := find(groups, one)
		if !known {
			return nil, errors.New("does not have this group")
		}
		offered = append(offered, group)
	}
	if slices.Contains(offered[1:], tls.X25519MLKEM768) {
		return nil, errors.New("has an order of its own, whatever that of the client's groups is: X25519MLKEM768 first")
	}
	return offered, nil
}

// offer is exactly what the suite names: one protocol, one cipher, the role's groups. Or an error with what is lacking.
func offer(role core.Role, suite *core.Suite) (*tls.Config, error) {
	protocol, known := find(protocols, suite.Protocol)
	if !known {
		return nil, errors.New("does TLSv1.2 and TLSv1.3 only")
	}
	cipher, known := find(ciphers, suite.Cipher)
	if !known || has13(cipher) != (protocol == tls.VersionTLS13) {
		return nil, errors.New("does not have this cipher")
	}
	offered, err := chosen(role, suite)
	if err == nil {
		err = refused(suite, cipher, offered)
	}
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: protocol, MaxVersion: protocol,
		CipherSuites:           []uint16{cipher}, // of TLS 1.2; those of 1.3 are not to be chosen
		CurvePreferences:       offered,
		SessionTicketsDisabled: suite.Tickets == 0,
		// By default the first 128 KiB go in records of 1,208 bytes: nobody would receive a full one.
		DynamicRecordSizingDisabled: suite.FullRecords,
	}, nil
}

// refused is why crypto/tls has what is asked for, and yet does not do it.
func refused(suite *core.Suite, cipher uint16, offered []tls.CurveID) error {
	hybrid := slices.ContainsFunc(offered, func(group tls.CurveID) bool { return group >= tls.SecP256r1MLKEM768 })
	switch tls13 := has13(cipher); {
	case tls13 && cipher != first13():
		return fmt.Errorf("takes %s first in TLS 1.3 on this CPU, and no setting has it take %s", name(ciphers, first13()), suite.Cipher)
	case !tls13 && hybrid: // 0x11eb: the hybrids' numbers are from here on
		return errors.New("has this group in TLS 1.3 only")
	case suite.Auth == "none":
		return errors.New("auth=none: every server has a certificate")
	case suite.Store:
		return errors.New("store=on: a server keeps no sessions; what it issues are tickets that hold all")
	case suite.Tickets > 1:
		return fmt.Errorf("tickets=%d: issues one ticket at most", suite.Tickets)
	case suite.Options == "low-memory":
		return errors.New("options=low-memory: documents no setting that saves memory")
	case suite.Options == "drop-peer-chain":
		return errors.New("options=drop-peer-chain: has no option for it")
	}
	return nil
}

// first13 is what crypto/tls takes first in TLS 1.3: ChaCha20 where it sees no AES instructions. A client of its own tells.
var first13 = sync.OnceValue(func() (first uint16) {
	client, server := net.Pipe()
	go tls.Client(client, &tls.Config{InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519}}).Handshake()
	tls.Server(server, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		for _, cipher := range hello.CipherSuites {
			if has13(cipher) {
				first = cipher
				break
			}
		}
		return nil, io.EOF // nothing more is wanted of it
	}}).Handshake()
	server.Close()
	return first
})

func has13(cipher uint16) bool { return cipher>>8 == 0x13 }
