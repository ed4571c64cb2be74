package main

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"

	"memtest/core"
)

func suite(protocol, cipher, group string) *core.Suite {
	return &core.Suite{Protocol: protocol, Cipher: cipher, Group: group, ClientGroups: group, Auth: "server", Options: "default"}
}

var sound = []*core.Suite{
	suite("TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384", "X25519"),
	suite("TLSv1.2", "ecdhe-ecdsa-aes256-gcm-sha384", "P-256"),
	suite("TLSv1.3", "TLS_AES_128_GCM_SHA256", "X25519"),
	suite("TLSv1.3", "TLS_AES_128_GCM_SHA256", "X25519MLKEM768"),
}

func TestASuiteIsOfferedAndNothingBeside(t *testing.T) {
	for _, it := range sound {
		config, err := offer(core.Client, it)
		if err != nil {
			t.Errorf("%+v: %v", it, err)
			continue
		}
		if config.MinVersion != config.MaxVersion || len(config.CipherSuites) != 1 || len(config.CurvePreferences) != 1 {
			t.Errorf("%+v: offers more than one: %+v", it, config)
		}
		if !strings.EqualFold(name(groups, config.CurvePreferences[0]), it.Group) || !config.SessionTicketsDisabled {
			t.Errorf("%+v: offers other than asked: %+v", it, config)
		}
	}
}

func TestAClientHasItsOwnGroupsAndAServerOne(t *testing.T) {
	it := *sound[2]
	it.Group, it.ClientGroups = "P-384", "X25519:P-384"
	for role, expected := range map[core.Role][]tls.CurveID{
		core.Client: {tls.X25519, tls.CurveP384}, core.Server: {tls.CurveP384},
	} {
		if config, err := offer(role, &it); err != nil || !slices.Equal(config.CurvePreferences, expected) {
			t.Errorf("%s: %+v, %v", role, config, err)
		}
	}
	it.ClientGroups = core.GroupsLibrary
	if config, err := offer(core.Client, &it); err != nil || config.CurvePreferences != nil {
		t.Errorf("%+v, %v", config, err)
	}
}

func TestWhatCryptoTlsCannotDoIsSaid(t *testing.T) {
	with := func(change func(*core.Suite)) *core.Suite {
		changed := *sound[2]
		change(&changed)
		return &changed
	}
	for sentence, it := range map[string]*core.Suite{
		"does TLSv1.2 and TLSv1.3 only": suite("none", "none", "none"),
		"does not have this cipher":     suite("TLSv1.2", "TLS_AES_128_GCM_SHA256", "X25519"),
		"does not have this group":      suite("TLSv1.3", "TLS_AES_128_GCM_SHA256", "X448"),
		"takes TLS_AES_128_GCM_SHA256 first in TLS 1.3 on this CPU, and no setting has it take TLS_AES_256_GCM_SHA384": suite("TLSv1.3", "TLS_AES_256_GCM_SHA384", "X25519"),
		"has an order of its own, whatever that of the client's groups is: X25519MLKEM768 first": with(func(it *core.Suite) {
			it.Group, it.ClientGroups = "X25519MLKEM768", "X25519:X25519MLKEM768"
		}),
		"has this group in TLS 1.3 only":                                                 suite("TLSv1.2", sound[0].Cipher, "X25519MLKEM768"),
		"auth=none: every server has a certificate":                                      with(func(it *core.Suite) { it.Auth = "none" }),
		"tickets=2: issues one ticket at most":                                           with(func(it *core.Suite) { it.Tickets = 2 }),
		"store=on: a server keeps no sessions; what it issues are tickets that hold all": with(func(it *core.Suite) { it.Store = true }),
		"options=low-memory: documents no setting that saves memory":                     with(func(it *core.Suite) { it.Options = "low-memory" }),
	} {
		if said := (driver{}).Supports(it); said != sentence {
			t.Errorf("%+v: %q", it, said)
		}
	}
}

func TestATicketIsIssued(t *testing.T) {
	it := *sound[0]
	it.Tickets = 1
	if config, err := offer(core.Server, &it); err != nil || config.SessionTicketsDisabled {
		t.Errorf("%+v, %v", config, err)
	}
}

func TestClientsCountWhatTheyGetAndKeepItToResumeOnly(t *testing.T) {
	for _, resume := range []bool{false, true} {
		it, before := newClientSessions(&core.Suite{Tickets: 1, Resume: resume}), driver{}.Tickets()
		it.Put("name", &tls.ClientSessionState{})
		if _, there := it.Get("name"); there != resume || (driver{}).Tickets() != before+1 {
			t.Errorf("resume %v: kept %v, %d tickets", resume, there, driver{}.Tickets()-before)
		}
		it.Put("name", nil)
		if _, there := it.Get("name"); there || (driver{}).Tickets() != before+1 {
			t.Errorf("resume %v: an old one is there, or counts", resume)
		}
	}
}

// A cipher that crypto/tls has and the table forgets could be neither asked for nor recognised.
func TestEveryModernCipherHasAName(t *testing.T) {
	for _, it := range tls.CipherSuites() {
		modern := strings.Contains(it.Name, "GCM") || strings.Contains(it.Name, "POLY1305")
		if modern && name(ciphers, it.ID) == "" {
			t.Errorf("%s has none", it.Name)
		}
	}
}
