// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/arke-mesh/arke/sim/history"
)

// This test checks that what comes out of a tunnel is what went in.
func TestTunnelsDeliverAPrefixAndAllAfterAGoodEnd(t *testing.T) {
	broken := func(change func(x *history.Tunnel)) func(s *story) {
		return func(s *story) {
			x := s.tunnel(5*sec, "c1", 0)
			x.Outcome, x.Forth.End, x.Back.End, x.Forth.Closed, x.Back.Closed = "interrupted", false, false, false, false
			change(x)
		}
	}
	whole := func(change func(x *history.Tunnel)) func(s *story) {
		return func(s *story) { change(s.tunnel(5*sec, "c1", 0)) }
	}
	runCases(t, []verdictCase{
		{name: "all of it", make: whole(func(*history.Tunnel) {})},
		{name: "broken, a prefix", make: broken(func(x *history.Tunnel) { x.Forth.Received = 3 })},
		{name: "broken, one is under way", make: broken(func(x *history.Tunnel) { x.Forth.Tried = 11; x.Forth.Received = 11 })},
		{name: "broken, more than was sent", make: broken(func(x *history.Tunnel) { x.Forth.Received = 11 }), want: []string{"tunnel"}},
		{name: "another message", make: broken(func(x *history.Tunnel) { x.Back.Wrong = 1 }), want: []string{"tunnel"}},
		{name: "the end is missing", make: whole(func(x *history.Tunnel) { x.Forth.Received = 9 }), want: []string{"tunnel"}},
		{name: "an end that nobody made", make: whole(func(x *history.Tunnel) { x.Back.Closed = false }), want: []string{"tunnel"}},
		{name: "done without an end", make: whole(func(x *history.Tunnel) { x.Forth.End = false }), want: []string{"tunnel"}},
		{name: "two handlers", make: whole(func(x *history.Tunnel) { x.Served = append(x.Served, x.Served[0]) }), want: []string{"tunnel"}},
		{name: "no handler", make: whole(func(x *history.Tunnel) { x.Served = nil }), want: []string{"tunnel"}},
		{name: "no handler, its node was lost", make: func(s *story) {
			x := s.tunnel(5*sec, "c1", 1)
			x.Outcome, x.Served, x.Forth, x.Back = "interrupted", nil, history.Flow{Tried: 1}, history.Flow{}
			s.crash(5*sec+5*ms, ms)
		}},
		{name: "the program's own handler", make: whole(func(x *history.Tunnel) {
			x.Own, x.Forth, x.Back = true, history.Flow{Tried: 10, Sent: 10}, history.Flow{Received: 100}
		})},
	})
}

// This test checks that tunnels end in time, on both sides, and that credit
// bounds what is under way.
func TestTunnelsEndAndAreBounded(t *testing.T) {
	whole := func(change func(x *history.Tunnel)) func(s *story) {
		return func(s *story) { change(s.tunnel(5*sec, "c1", 0)) }
	}
	runCases(t, []verdictCase{
		{name: "at the deadline", make: whole(func(x *history.Tunnel) { x.Ended = 10*sec + 5*ms })},
		{name: "after it", make: whole(func(x *history.Tunnel) { x.Ended = 10*sec + 6*ms }), want: []string{"ended"}},
		{name: "never", make: whole(func(x *history.Tunnel) { x.Ended = -1 }), want: []string{"ended"}},
		{name: "the handler stays for a while", make: whole(func(x *history.Tunnel) { x.Served[0].Ended = 17 * sec })},
		{name: "the handler stays for long", make: whole(func(x *history.Tunnel) { x.Served[0].Ended = 20 * sec }), want: []string{"ended"}},
		{name: "the handler stays for ever", make: whole(func(x *history.Tunnel) { x.Served[0].Ended = -1 }), want: []string{"ended"}},
		{name: "the handler's node was lost", make: func(s *story) {
			s.tunnel(5*sec, "c1", 1).Served[0].Ended = -1
			s.crash(7*sec, ms)
		}},
		{name: "as far ahead as allowed", make: whole(func(x *history.Tunnel) { x.Forth.Ahead = 4<<20 + 64<<10 + 2000 })},
		{name: "further ahead", make: whole(func(x *history.Tunnel) { x.Back.Ahead = 4<<20 + 64<<10 + 2001 }), want: []string{"ahead"}},
	})
}

// This test checks the figures of tunnels.
func TestTunnelsAreMeasured(t *testing.T) {
	s := peace()
	s.tunnel(5*sec, "c1", 0)
	s.tunnel(6*sec, "c1", 0).Outcome = "interrupted"
	s.tunnel(7*sec, "c1", 0).Lost = true
	refused := s.tunnel(8*sec, "c1", 0)
	refused.Outcome, refused.Opened, refused.Served, refused.Forth, refused.Back = "overloaded", -1, nil, history.Flow{}, history.Flow{}
	claims(
		t, s, "tunnels == 4", "tunnels_done == 1", "tunnels_broken == 1", "tunnels_refused == 1", "tunnels_excused == 1",
		"tunnel_messages == 60", "tunnel_bytes == 60KB", "tunnel_ahead_max{pipe} == 3KB", "tunnel_open_p50 == 10ms",
		"tunnel_rate_p50{pipe} == 20KB/s", "tunnel_rate_min == 20KB/s",
	)
	absent(t, peace(), "tunnels", "tunnel_rate_p50")
}
