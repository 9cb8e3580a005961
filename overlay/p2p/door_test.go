// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// doorScript plays events to a door and renders what it does.
type doorScript struct {
	*door
	now time.Time
}

func newDoorScript(silent, handshakes, work int) *doorScript {
	seeded := rand.New(rand.NewPCG(1, 2))
	return &doorScript{newDoor(silent, handshakes, work, seeded.IntN), time.Unix(1000, 0)}
}

// play does "arrive 1 a", "greet 1", "greet 1 m9", "rest 1", "resume 1", "gone 1",
// "tick" and "wait 300ms", separated by commas, and returns "work 1", "away 2 name".
func (s *doorScript) play(events string) string {
	var done []string
	for event := range strings.SplitSeq(events, ", ") {
		var kind, more string
		var id uint64
		_, _ = fmt.Sscan(event, &kind, &id, &more)
		e := doorEvent{id: id, mark: id}
		switch kind {
		case "arrive":
			e.source = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, more[0]}), sourceBits4)
		case "greet":
			e.kind = doorGreeted
			_, _ = fmt.Sscanf(more, "m%d", &e.mark)
		case "rest":
			e.kind = doorRests
		case "resume":
			e.kind = doorResumes
		case "gone":
			e.kind = doorGone
		case "tick":
			e.kind = doorTick
		case "wait":
			d, err := time.ParseDuration(strings.TrimPrefix(event, "wait "))
			if err != nil {
				panic(err)
			}
			s.now = s.now.Add(d)
			continue
		}
		for _, a := range s.step(s.now, e) {
			if a.away {
				done = append(done, fmt.Sprintf("away %d %s", a.id, counterNames[a.why]))
			} else {
				done = append(done, fmt.Sprintf("work %d", a.id))
			}
		}
	}
	return strings.Join(done, ", ")
}

// wakes is how long until a tick is wanted.
func (s *doorScript) wakes() string {
	if s.wake().IsZero() {
		return "never"
	}
	return s.wake().Sub(s.now).String()
}

// This test checks the way of a connection: it is worked on at once if there is a
// turn, gives it away while it waits for its peer, and handshakes that have begun
// come before new ones.
func TestDoorGivesTurns(t *testing.T) {
	s := newDoorScript(10, 3, 1)
	require.Equal(t, "", s.play("arrive 1 a, arrive 2 a, arrive 3 b"))
	require.Equal(t, "work 1", s.play("greet 1, greet 2, greet 3"))
	require.Equal(t, "work 2", s.play("rest 1"))
	require.Equal(t, "", s.play("resume 1"), "2 has the turn")
	require.Equal(t, "work 1", s.play("rest 2"), "before 3, which has not begun")
	require.Equal(t, "work 3", s.play("gone 1"))
	require.Equal(t, "work 2", s.play("resume 2, gone 3"))
	require.Equal(t, "", s.play("gone 2, gone 2, rest 2, resume 2, greet 2"), "it is over")
	require.Zero(t, len(s.visitors)+s.silent.Len()+s.ready.Len()+s.begun.Len()+s.line.turns.Len()+s.again.Len()+s.resting.Len()+s.working)
}

// This test checks that a full waiting room sends somebody away of the source that
// has most, who holds a key never because of those who do not, and that whoever was
// sent away is forgotten.
func TestDoorIsFairToSources(t *testing.T) {
	s := newDoorScript(4, 9, 9)
	require.Equal(t, "", s.play("arrive 1 a, arrive 2 b, arrive 3 b, arrive 4 b"))
	for id := uint64(5); id < 50; id++ {
		var away uint64
		_, err := fmt.Sscanf(s.play(fmt.Sprintf("arrive %d b", id)), "away %d stranger_evicted", &away)
		require.NoError(t, err)
		require.NotEqualValues(t, 1, away, "the only one of its source")
		require.Equal(t, "", s.play(fmt.Sprintf("greet %d, gone %d", away, away)))
	}
	require.Equal(t, "work 1", s.play("greet 1"))
	require.Len(t, s.visitors, 4, "3 that wait, and 1")
}

// This test checks that those who hold keys and wait for their turn are bounded in
// the same way.
func TestDoorBoundsWhoIsReady(t *testing.T) {
	s := newDoorScript(2, 1, 1)
	require.Equal(t, "work 1", s.play("arrive 1 a, greet 1, arrive 2 a, greet 2, arrive 3 b, greet 3"))
	require.Regexp(t, "^away [24] handshake_evicted$", s.play("arrive 4 a, greet 4"))
}

// This test checks that a handshake whose peer has taken a second makes room when
// others wait, that it is left alone when nobody does, and that one which waits for
// us is not to blame.
func TestDoorEndsSlowHandshakesUnderPressure(t *testing.T) {
	s := newDoorScript(10, 2, 1)
	require.Equal(t, "work 1, work 2", s.play("arrive 1 a, greet 1, rest 1, arrive 2 a, greet 2, rest 2, wait 3s, tick"))
	require.Equal(t, "never", s.wakes())
	require.Equal(t, "away 1 handshake_evicted, work 3", s.play("arrive 3 b, greet 3"))
	require.Equal(t, "", s.play("wait 300ms, resume 2, arrive 4 b, greet 4, arrive 5 b, greet 5"), "3 is worked on")
	require.Equal(t, "never", s.wakes())
	require.Equal(t, "work 2", s.play("rest 3"))
	require.Equal(t, "work 4", s.play("gone 2"))
	require.Equal(t, "", s.play("rest 4"))
	require.Equal(t, "700ms", s.wakes())
	require.Equal(t, "", s.play("wait 699ms, tick"))
	require.Equal(t, "away 3 handshake_evicted, work 5", s.play("wait 1ms, tick"))
}

// This test checks that sources take turns, and that one which has more handshakes than
// its share that wait for their peers gives one of them up at once.
func TestDoorSharesHandshakesBetweenSources(t *testing.T) {
	s := newDoorScript(100, 32, 1)
	for id := 1; id <= 34; id++ {
		s.play(fmt.Sprintf("arrive %d a, greet %d, rest %d", id, id, id))
	}
	require.Equal(t, 2, s.ready.Len())
	require.Regexp(t, "^away [0-9]+ handshake_evicted, work 41$", s.play("arrive 41 b, greet 41"), "before those of a that are ready")
	require.Equal(t, 31, s.resting.Len())
	require.Equal(t, "", s.play("rest 41"))
	require.Regexp(t, "^away [0-9]+ handshake_evicted, work 42$", s.play("arrive 42 c, greet 42"))
	require.NotNil(t, s.visitors[41], "the only one of its source")
	require.Equal(t, "", s.play("rest 42"))
	require.Equal(t, "", s.play("arrive 43 a, greet 43"), "a has most")
}

// This test checks that handshakes yield at once when the line is long, though all are of
// one source: a second for each would be too long.
func TestDoorHurriesWhenTheLineIsLong(t *testing.T) {
	s := newDoorScript(100, 32, 1)
	for id := 1; id <= 36; id++ {
		s.play(fmt.Sprintf("arrive %d a, greet %d, rest %d", id, id, id))
	}
	require.Equal(t, 4, s.ready.Len())
	require.Regexp(t, "^away [0-9]+ handshake_evicted, work 33$", s.play("arrive 37 a, greet 37"))
	require.Equal(t, "", s.play("rest 33"))
	require.Equal(t, 4, s.ready.Len())
}

// This test checks that a greeting is good for one handshake, as long as no more
// than maxMarks others came after it.
func TestDoorRefusesReplays(t *testing.T) {
	s := newDoorScript(10, 9, 9)
	require.Equal(t, "work 1", s.play("arrive 1 a, greet 1 m7, gone 1"))
	require.Equal(t, "away 2 stranger_replay", s.play("arrive 2 a, greet 2 m7"))
	for mark := uint64(100); mark < 100+maxMarks-1; mark++ {
		require.False(t, s.marks.seen(mark))
	}
	require.True(t, s.marks.seen(7))
	require.False(t, s.marks.seen(99))
	require.False(t, s.marks.seen(7), "forgotten")
	require.Len(t, s.marks.known, maxMarks)
	require.Len(t, s.marks.ring, maxMarks)
}

// This test checks which connections count as of one source.
func TestSourceIsAPrefix(t *testing.T) {
	for addr, source := range map[string]string{
		"192.0.2.7":         "192.0.2.0/24",
		"::ffff:192.0.2.7":  "192.0.2.0/24",
		"2001:db8:1:2::3":   "2001:db8:1::/48",
		"fe80::1%interface": "fe80::/48",
	} {
		a := netip.MustParseAddr(addr)
		require.Equal(t, source, sourceOf(net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 1))).String())
	}
	require.Equal(t, netip.Prefix{}, sourceOf(&net.UnixAddr{}))
}
