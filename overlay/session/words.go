// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"

	"github.com/arke-mesh/arke/internal/wire"
)

// AppendGoodbye appends an encoded Goodbye frame between nodes. handled may be
// nil: then nothing is said about what was handled.
func AppendGoodbye(dst []byte, code uint32, reason string, handled *wire.Counts) []byte {
	m := &wire.Goodbye{Code: code, Reason: wire.ClipText(reason)}
	if handled != nil {
		m.Handled = handled[:]
	}
	body, err := wire.AppendControl(nil, m)
	if err != nil {
		panic("BUG: goodbye does not encode: " + err.Error())
	}
	return wire.AppendFrame(dst, wire.LaneCtl, wire.KindGoodbye, body)
}

// AppendLeafGoodbye is AppendGoodbye between a client and its relay.
func AppendLeafGoodbye(dst []byte, code wire.EndCode, reason string, handled *wire.Counts) []byte {
	m := wire.LeafGoodbye{Code: code, Handled: handled, Text: reason}
	return wire.AppendFrame(dst, wire.LaneCtl, wire.KindGoodbye, m.AppendTo(nil))
}

func (c *Config) goodbye(code uint32, reason string, handled *wire.Counts) []byte {
	if c.Leaf {
		return AppendLeafGoodbye(nil, wire.EndCode(code), reason, handled)
	}
	return AppendGoodbye(nil, code, reason, handled)
}

// heardGoodbye returns what the peer says to have handled, nil if it does not, and
// what its last words mean.
func (c *Config) heardGoodbye(body []byte) (handled *wire.Counts, words error) {
	if c.Leaf {
		m, err := wire.DecodeLeafGoodbye(body)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		return m.Handled, &GoodbyeError{Code: uint32(m.Code), Reason: m.Text}
	}
	var m wire.Goodbye
	if err := wire.DecodeControl(body, &m); err != nil {
		return nil, fmt.Errorf("%w: goodbye: %w", ErrProtocol, err)
	}
	if len(m.GetHandled()) > 0 {
		counts := wire.CountsOf(m.GetHandled())
		handled = &counts
	}
	return handled, &GoodbyeError{Code: m.GetCode(), Reason: m.GetReason()}
}

// notice returns the frame of a Notice.
func (c *Config) notice(m *wire.Notice) ([]byte, error) {
	if c.Leaf {
		l := wire.LeafNotice{Code: uint8(m.GetTopic()), Text: m.GetDetail()}
		return wire.AppendFrame(nil, wire.LaneCtl, wire.KindNotice, l.AppendTo(nil)), nil
	}
	body, err := wire.AppendControl(nil, m)
	if err != nil {
		return nil, err
	}
	return wire.AppendFrame(nil, wire.LaneCtl, wire.KindNotice, body), nil
}

// heardNotice is the reverse.
func (c *Config) heardNotice(body []byte) (*wire.Notice, error) {
	m := &wire.Notice{}
	if c.Leaf {
		l, err := wire.DecodeLeafNotice(body)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		m.Topic, m.Detail = wire.Notice_Topic(l.Code), l.Text
		return m, nil
	}
	if err := wire.DecodeControl(body, m); err != nil {
		return nil, fmt.Errorf("%w: notice: %w", ErrProtocol, err)
	}
	return m, nil
}

// beat returns the frame of a Beat.
func (c *Config) beat(m *wire.Beat) []byte {
	if c.Leaf {
		l := wire.LeafBeat{WantReply: m.GetWantReply(), Clock: m.GetClock(), Echo: m.GetEcho(), Held: m.GetHeld()}
		return wire.AppendFrame(nil, wire.LaneCtl, wire.KindBeat, l.AppendTo(nil))
	}
	body, err := wire.AppendControl(nil, m)
	if err != nil {
		panic("BUG: beat does not encode: " + err.Error())
	}
	return wire.AppendFrame(nil, wire.LaneCtl, wire.KindBeat, body)
}

// heardBeat is the reverse.
func (c *Config) heardBeat(body []byte) (*wire.Beat, error) {
	m := &wire.Beat{}
	if c.Leaf {
		l, err := wire.DecodeLeafBeat(body)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		m.WantReply, m.Clock, m.Echo, m.Held = l.WantReply, l.Clock, l.Echo, l.Held
		return m, nil
	}
	if err := wire.DecodeControl(body, m); err != nil {
		return nil, fmt.Errorf("%w: beat: %w", ErrProtocol, err)
	}
	return m, nil
}
