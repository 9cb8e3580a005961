// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/arke-mesh/arke/internal/wire"
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
	addrs    []string
}

// encodeHello is the frame that opens a stream in our direction. What is too
// much for a Hello is left out: it only informs.
func encodeHello(instance instanceID, clock uint64, agent string, addrs []string) ([]byte, error) {
	m := &wire.Hello{
		VersionMin: wire.LinkVersionMin,
		VersionMax: wire.LinkVersionMax,
		Instance:   instance[:],
		Clock:      clock,
		Agent:      wire.ClipText(agent),
	}
	for _, a := range addrs {
		if len(a) > 0 && len(a) <= wire.MaxAddr && utf8.ValidString(a) && len(m.Addrs) < wire.MaxAddrs {
			m.Addrs = append(m.Addrs, a)
		}
	}
	body, err := wire.AppendControl(nil, m)
	if err != nil {
		return nil, err
	}
	return wire.AppendFrame(nil, wire.KindHello, body), nil
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
	if m.GetClock() > maxLinkTime {
		return greeting{}, fmt.Errorf("%w: hello: clock", ErrProtocol)
	}
	g := greeting{version: version, clock: m.GetClock(), agent: m.GetAgent(), addrs: m.GetAddrs()}
	copy(g.instance[:], m.GetInstance())
	return g, nil
}

// encodeGoodbye is the last frame of a stream.
func encodeGoodbye(code uint32, reason string) []byte {
	body, err := wire.AppendControl(nil, &wire.Goodbye{Code: code, Reason: wire.ClipText(reason)})
	if err != nil {
		panic("BUG: goodbye does not encode: " + err.Error())
	}
	return wire.AppendFrame(nil, wire.KindGoodbye, body)
}

// goodbyeError is what a peer's goodbye means for those who wait for the link.
func goodbyeError(m *wire.Goodbye) error {
	err := ErrGoodbye
	switch m.GetCode() {
	case codeVersion:
		err = ErrVersion
	case codeDuplicate:
		err = ErrDuplicate
	case codeProtocol:
		err = ErrProtocol
	}
	return fmt.Errorf("%w: the peer says %q", err, m.GetReason())
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
	case errors.Is(err, errNotNeeded):
		return codeSuperseded
	case errors.Is(err, errBusy):
		return codeFull
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
