package main

import (
	"errors"
	"net"
	"slices"

	"memtest/core"
)

// faulty is the null stack with one fault: what the core must catch.
type faulty struct {
	driver
	fault string
}

// Supports has the runs made that resume.
func (of faulty) Supports(suite *core.Suite) string {
	if of.fault == "missed" || of.fault == "resumed by nothing" {
		return ""
	}
	return of.driver.Supports(suite)
}

var made [2]int // sessions, by role

func (of faulty) Session(context any, wire net.Conn, name string) core.Session {
	role := context.(core.Role)
	made[role]++
	return &broken{of.driver.Session(context, wire, name).(*session), of.fault, made[role]}
}

type broken struct {
	*session
	fault string
	index int
}

func (it *broken) Handshake() error {
	if it.fault == "incomplete" {
		_, err := it.wire.Read(make([]byte, 0)) // waits for ever
		for err == nil {
			_, err = it.wire.Read(make([]byte, 1))
		}
		return err
	}
	if rounds, slow := slow[it.fault]; slow {
		return it.rounds(rounds)
	}
	if it.index > 1 { // after the warm-up's
		switch it.fault {
		case "at once later":
			return nil
		case "speaks first later":
			it.send(5)
		case "refuses later":
			return errors.New("no, thank you")
		}
	}
	err := it.session.Handshake()
	if err == nil && it.fault == "unasked" && it.role == int(core.Server) {
		err = it.send(5)
	}
	return err
}

func (it *broken) Read(bytes []byte) (int, error) {
	if it.fault == "unwritten" {
		return it.session.Read(make([]byte, len(bytes)))
	}
	return it.session.Read(bytes)
}

// slow is how often a byte goes each way until the client has received the last, one step after it sent that.
var slow = map[string]int{"10 steps": 9, "11 steps": 10}

func (it *broken) rounds(count int) error {
	turns := []func(int) error{it.send, it.receive}
	for turn := it.role; turn < it.role+2*count; turn++ {
		if err := turns[turn%2](1); err != nil {
			return err
		}
	}
	return nil
}

func (it *broken) Write(bytes []byte) (int, error) {
	switch it.fault {
	case "short write":
		return it.session.Write(bytes[:1023])
	case "lost byte":
		it.session.Write(bytes[:1023])
	case "corrupt byte":
		other := slices.Clone(bytes)
		other[1000] ^= 1
		return it.session.Write(other)
	default:
		return it.session.Write(bytes)
	}
	return len(bytes), nil
}

func (it *broken) Negotiated() core.Negotiated {
	found := it.session.Negotiated()
	switch it.fault {
	case "other protocol":
		found.Protocol = "TLSv1.0"
	case "other group":
		found.Group = "P-192"
	case "no cipher":
		found.Cipher = ""
	case "resumed":
		found.Resumed = true
	case "resumed at one end":
		found.Resumed = it.role == int(core.Server)
	case "missed":
		found.Resumed = it.index%2 == 0
	case "resumed by nothing":
		found.Resumed = true
	case "verified":
		found.PeerVerified = true
	}
	return found
}
