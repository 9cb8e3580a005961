// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// instanceID tells one start of a node from the next, and from another process
// with the same peer id.
type instanceID [wire.InstanceSize]byte

// greeting is what a peer's Hello said.
type greeting struct {
	version  uint32 // the link's
	instance instanceID
	clock    uint64 // the peer's link clock when it wrote the Hello; grows with each
	agent    string
	name     string
	wall     int64 // the peer's wall clock, ms since 1970; 0 = unknown
	addrs    []string
	gateway  bool // it is a gateway's node

	certificate []byte // nil = none

	session  uint64 // its id
	fresh    bool   // the peer begins it
	received wire.Counts
	window   [laneCount]int
}

// of is what the session has to know of the greeting.
func (g *greeting) of(s session.Sample) session.Greeting {
	return session.Greeting{Received: g.received, Window: g.window, Sample: s}
}

// encodeHello is the frame that opens a stream in our direction, for a session of
// which so much was received. What is too much for a Hello is left out: it only
// informs.
func (b *base) encodeHello(clock, session uint64, fresh bool, received wire.Counts) ([]byte, error) {
	m := &wire.Hello{
		VersionMin:  wire.LinkVersionMin,
		VersionMax:  wire.LinkVersionMax,
		Instance:    b.instance[:],
		Clock:       clock,
		Agent:       wire.ClipText(b.cfg.Agent),
		Session:     session,
		Fresh:       fresh,
		Wall:        b.wall(),
		Name:        b.cfg.Name,
		Certificate: b.cfg.Admission.Certificate(),
	}
	if received != (wire.Counts{}) {
		m.Received = received[:]
	}
	if b.cfg.Gateway {
		m.Features = wire.HelloGateway
	}
	for _, n := range b.cfg.LaneBytes {
		m.Window = append(m.Window, uint32(min(n, math.MaxUint32)))
	}
	for _, a := range b.transport.Addrs() {
		if len(a) > 0 && len(a) <= wire.MaxAddr && utf8.ValidString(a) && len(m.Addrs) < wire.MaxAddrs {
			m.Addrs = append(m.Addrs, a)
		}
	}
	frame, err := wire.AppendControl(nil, m)
	if err != nil {
		return nil, err
	}
	return wire.AppendFrame(nil, wire.LaneCtl, wire.KindHello, frame), nil
}

// decodeHello reads a peer's Hello and negotiates. The error is ErrProtocol or
// ErrVersion.
func decodeHello(body []byte) (greeting, error) {
	var m wire.Hello
	if err := wire.DecodeControl(body, &m); err != nil {
		return greeting{}, fmt.Errorf("%w: hello: %w", ErrProtocol, err)
	}
	version, ok := wire.Negotiate(m.GetVersionMin(), m.GetVersionMax())
	if !ok {
		return greeting{}, fmt.Errorf("%w: the peer speaks %d to %d, this node %d to %d (%q)", ErrVersion,
			m.GetVersionMin(), m.GetVersionMax(), wire.LinkVersionMin, wire.LinkVersionMax, m.GetAgent())
	}
	if m.GetClock() > maxLinkTime || m.GetSession() == 0 {
		return greeting{}, fmt.Errorf("%w: hello: clock or session", ErrProtocol)
	}
	g := greeting{
		version: version, clock: m.GetClock(), agent: m.GetAgent(), addrs: m.GetAddrs(),
		name: m.GetName(), wall: m.GetWall(), certificate: m.GetCertificate(),
		gateway: m.GetFeatures()&wire.HelloGateway != 0,
		session: m.GetSession(), fresh: m.GetFresh(), received: wire.CountsOf(m.GetReceived()),
	}
	copy(g.instance[:], m.GetInstance())
	for lane, n := range m.GetWindow() {
		g.window[lane] = int(min(n, math.MaxInt32))
	}
	return g, nil
}

// acquaintance is what a link knows of its peer.
type acquaintance struct {
	instance instanceID
	clock    uint64 // in its last Hello
	agent    string
	name     string
	version  uint32
	gateway  bool // it says that it is a gateway's node

	certificate []byte   // in its last Hello; nil = none
	addr        string   // of the last connection
	addrs       []string // that it can be reached at
}

// meet notes the instance that a new session is with, and where it is.
func (a *acquaintance) meet(s Stream, g *greeting) {
	if a.instance != g.instance {
		a.clock = 0
	}
	a.instance, a.addr = g.instance, s.RemoteAddr()
}

// learn notes what the peer said in the Hello of a connection.
func (a *acquaintance) learn(s Stream, g *greeting) {
	a.clock, a.agent, a.name, a.version, a.gateway = g.clock, g.agent, g.name, g.version, g.gateway
	a.addr, a.addrs, a.certificate = s.RemoteAddr(), g.addrs, g.certificate
	if s.Outbound() {
		a.addrs = mergeAddrs([]string{a.addr}, g.addrs)
	}
}

// meeting is what a Hello exchange means.
type meeting uint8

const (
	meetBegin   meeting = iota + 1 // a session begins; one that stood has ended
	meetResume                     // the session that stands goes on
	meetStale                      // the Hello is older than what we know, or ours comes first
	meetStrange                    // another process, while a connection to the former one stands
)

// views is what the two sides say about their session.
type views struct {
	up         bool // we have one …
	attached   bool // … that a connection carries
	calling    bool // we have said Hello on another connection, and wait for the answer
	first      bool // our calls come before the peer's
	id         uint64
	instance   instanceID // of the peer, as we know it
	clock      uint64     // in the last Hello that we know from it
	theirs     uint64
	theirClock uint64
	them       instanceID
}

// meet decides what the Hello of a peer that calls means. Hello clocks of one
// instance grow with each Hello: an older one was under way for long, and the peer
// has given its connection up. Two calls that cross are seen by both sides: they
// take the one of the lower peer id.
func meet(v views) meeting {
	same := v.them == v.instance
	switch {
	case same && v.theirClock <= v.clock, v.calling && v.first:
		return meetStale
	case v.up && !same && v.attached:
		return meetStrange
	case v.up && same && v.theirs == v.id:
		return meetResume
	}
	return meetBegin
}

// goodbyeError is what a peer's goodbye means for those who wait for the link. name is
// what it calls itself there; empty = nothing.
func goodbyeError(code uint32, reason, name string) error {
	err := ErrGoodbye
	switch code {
	case codeSuperseded:
		err = errNotNeeded
	case codeFull:
		err = errBusy
	case codeVersion:
		err = ErrVersion
	case codeDuplicate:
		err = ErrDuplicate
	case codeProtocol:
		err = ErrProtocol
	case codeSpare:
		return ErrSpare
	case codeNotAdmitted:
		return fmt.Errorf("%w: %w", ErrNotAdmitted, &refusalError{name: name, words: reason})
	}
	return fmt.Errorf("%w: the peer says %q", err, reason)
}

// refusalCode is what a peer is told whose Hello led to err.
func refusalCode(err error) uint32 {
	switch {
	case errors.Is(err, ErrVersion):
		return codeVersion
	case errors.Is(err, ErrClosed):
		return codeShutdown
	case errors.Is(err, ErrDuplicate):
		return codeDuplicate
	case errors.Is(err, ErrNotAdmitted):
		return codeNotAdmitted
	case errors.Is(err, errNotNeeded):
		return codeSuperseded
	case errors.Is(err, errBusy):
		return codeFull
	case errors.Is(err, ErrExcluded):
		return codeExcluded
	case isTimeout(err):
		return codeTimeout
	case errors.Is(err, ErrLost), errors.Is(err, ErrGoodbye):
		return codeBroken
	}
	return codeProtocol
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
