// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

func TestOutcomesKeepTheirMeaningAcrossABorder(t *testing.T) {
	// This test goes through every outcome that the far network can have, and checks
	// what the lent member says: that no handler ran only where that is known.
	late := func(cause error, ran bool) error { return &patterns.DeadlineError{Cause: cause, MaybeRan: ran} }
	errs := map[patterns.Outcome]error{
		patterns.OutcomeReply:        nil,
		patterns.OutcomeRemoteError:  &patterns.RemoteError{Code: 7, Message: "m"},
		patterns.OutcomeOverloaded:   patterns.ErrOverloaded,
		patterns.OutcomeUnauthorized: patterns.ErrUnauthorized,
		patterns.OutcomeTooLarge:     patterns.ErrTooLarge,
		patterns.OutcomeCancelled:    late(context.Canceled, true),
		patterns.OutcomeNoMembers:    patterns.ErrNoMembers,
		patterns.OutcomeUnreachable:  patterns.ErrUnreachable,
		patterns.OutcomeInterrupted:  patterns.ErrInterrupted,
		patterns.OutcomeDeadline:     late(context.DeadlineExceeded, true),
		patterns.OutcomeClosed:       patterns.ErrClosed,
		patterns.OutcomeTooMany:      patterns.ErrTooMany,
		patterns.OutcomeWouldBlock:   patterns.ErrWouldBlock,
		patterns.OutcomeTopic:        patterns.ErrTopic,
		patterns.OutcomeOther:        errors.New("whatever"),
	}
	said := map[patterns.Outcome]wire.Outcome{
		patterns.OutcomeReply:        wire.OutcomeReply,
		patterns.OutcomeRemoteError:  wire.OutcomeRemoteError,
		patterns.OutcomeOverloaded:   wire.OutcomeOverloaded,
		patterns.OutcomeUnauthorized: wire.OutcomeUnauthorized,
		patterns.OutcomeTooLarge:     wire.OutcomeTooLarge,
		patterns.OutcomeNoMembers:    wire.OutcomeNoSuchMember,
		patterns.OutcomeUnreachable:  wire.OutcomeUnreachable,
		patterns.OutcomeClosed:       wire.OutcomeDraining,
		patterns.OutcomeTooMany:      wire.OutcomeDraining,
		patterns.OutcomeDeadline:     wire.OutcomeDeadline,
	}
	for o, err := range errs {
		want, ok := said[o]
		if !ok {
			want = wire.OutcomeCancelled
		}
		require.Equal(t, want, replyOf(request.Answer{}, err).Outcome, o)
		require.Equal(t, want, replyOf(request.Answer{}, wrapped(err)).Outcome, o)
	}
	require.Equal(t, wire.OutcomeExpired, outcomeOf(late(context.DeadlineExceeded, false)))
	require.Equal(t, wire.OutcomeDraining, outcomeOf(late(context.Canceled, false)))
	both := fmt.Errorf("%w, %w", patterns.ErrOverloaded, patterns.ErrInterrupted)
	require.Equal(t, wire.OutcomeCancelled, outcomeOf(both), "the worst that can be true")

	tail := wire.AppendTail(nil, nil, []byte("body"))
	r := replyOf(request.Answer{Tail: tail, Queue: 3, Running: 4, Service: 5 * time.Microsecond}, nil)
	require.Equal(t, wire.Reply{Outcome: wire.OutcomeReply, Tail: tail, Queue: 3, Running: 4, ServiceMicros: 5}, r)
	r = replyOf(request.Answer{}, errs[patterns.OutcomeRemoteError])
	require.Equal(t, uint32(7), r.Code)
	require.Equal(t, wire.AppendTail(nil, nil, []byte("m")), r.Tail)
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("somewhere: %w", err)
}

func TestAClusterIsLentWhileItHasMembersThatCanBeReached(t *testing.T) {
	// This test plays what a gateway sees of a cluster, moment by moment, with what it
	// does then.
	two := seen{known: true, members: 2, usable: 2, sure: 2, capacity: 4, maxMessage: 9}
	for name, story := range map[string][]struct {
		at   time.Duration
		seen seen
		want order
	}{
		"nobody yet": {{0, seen{}, orderNothing}, {time.Hour, seen{known: true}, orderNothing}},
		"comes, changes, goes": {
			{0, two, orderLend},
			{1, two, orderNothing},
			{2, seen{known: true, members: 1, usable: 1, sure: 1, capacity: 2, maxMessage: 9}, orderRevise},
			{3, seen{known: true}, orderReturn},
			{4, seen{known: true}, orderNothing},
			{5, two, orderLend},
		},
		"doubted, and sure again": {
			{0, two, orderLend},
			{1, seen{known: true, members: 2, usable: 2, capacity: 4, maxMessage: 9}, orderDoubt},
			{2, seen{known: true, members: 2, usable: 2, capacity: 4, maxMessage: 9}, orderNothing},
			{3, two, orderDoubt},
		},
		"out of reach for a while": {
			{0, two, orderLend},
			{time.Second, seen{known: true, members: 2}, orderDoubt},
			{2 * time.Second, seen{known: true, members: 2}, orderNothing},
			{2500 * time.Millisecond, two, orderDoubt},
			{3 * time.Second, seen{known: true, members: 2}, orderDoubt},
			{3*time.Second + lostPatience - 1, seen{known: true, members: 2}, orderNothing},
			{3*time.Second + lostPatience, seen{known: true, members: 2}, orderReturn},
		},
		"the anchors are lost, not the members": {
			{0, two, orderLend},
			{1, seen{}, orderDoubt},
			{lostPatience, seen{}, orderNothing},
			{lostPatience + 1, seen{}, orderReturn},
		},
	} {
		var core offer
		for _, s := range story {
			require.Equal(t, s.want, core.step(time.Unix(0, 1).Add(s.at), s.seen), "%s at %v", name, s.at)
		}
	}
	core := offer{}
	require.Equal(t, orderLend, core.step(time.Unix(0, 1), two))
	core.failed()
	require.Equal(t, orderLend, core.step(time.Unix(0, 2), two), "what failed is tried again")
}

// setBack is now as a machine shows it whose wall clock was set back.
func setBack(now time.Time, by time.Duration) time.Time {
	// As package time has it: a flag, 33 bits of seconds, and 30 of nanoseconds; beside it
	// is the reading of the monotonic clock.
	wall := (*uint64)(unsafe.Pointer(&now))
	*wall -= uint64(by/time.Second) << 30
	return now
}

func TestWhatAPatternLendsIsIdleByMeasuredTime(t *testing.T) {
	// This test sets the machine's clock eight hours forth or back after a message: the
	// cluster was used last as long ago as it was.
	for _, by := range []time.Duration{0, 8 * time.Hour, -8 * time.Hour} {
		now := time.Now()
		d := &demand{lend: &lend{made: now}, since: now}
		d.touch(now.Add(time.Hour))
		require.Equal(t, giveWay, setBack(now.Add(time.Hour+giveWay), by).Sub(d.last()), by)
		d.touch(setBack(now.Add(2*time.Hour), by))
		require.Equal(t, giveWay, setBack(now.Add(2*time.Hour+giveWay), by).Sub(d.last()), by)
	}
}

func TestABorderCountsWhereTheWallClockIsSetBack(t *testing.T) {
	// This test sets the machine's clock back by an hour: what has used a part of a limit
	// before does not have to wait until the clock is there again.
	now := time.Now()
	later := setBack(now.Add(time.Second), time.Hour)
	require.Equal(t, time.Second, later.Sub(now))
	require.InDelta(t, -time.Hour+time.Second, later.Round(0).Sub(now.Round(0)), 1)
	b := newBorder()
	b.limit(Limits{InFlight: 9, Messages: 10, Bytes: 1000})
	require.Equal(t, passed, b.enter(now, 5, nil))
	b.leave(now, 5)
	require.Equal(t, passed, b.enter(later, 5, nil))
}

func TestABorderRefusesWhatIsBeyondItsLimits(t *testing.T) {
	// This test goes over each limit, counts what was refused and why, and checks what
	// passes in ten seconds under a rate however small the steps are.
	now := time.Unix(1, 0)
	b := newBorder()
	b.limit(Limits{InFlight: 2})
	require.Equal(t, passed, b.enter(now, 5, nil))
	require.Equal(t, passed, b.enter(now, 5, nil))
	require.Equal(t, refusedInFlight, b.enter(now, 5, nil))
	b.leave(now, 7)
	require.Equal(t, passed, b.enter(now, 5, nil))
	require.Equal(t, uint64(22), b.bytes.Load())
	require.Equal(t, map[string]uint64{"in_flight_limit": 1}, b.refused.ByName())

	b.limit(Limits{InFlight: 9, Tunnels: 2})
	open := 1
	tunnels := func() int { return open }
	require.Equal(t, passed, b.enter(now, 5, tunnels))
	require.Equal(t, refusedTunnels, b.enter(now, 5, tunnels), "the first one is on its way")
	b.opened()
	require.Equal(t, passed, b.enter(now, 5, tunnels), "it came to nothing")
	open++
	b.opened()
	require.Equal(t, refusedTunnels, b.enter(now, 5, tunnels))

	pass := func(l Limits, size int, step, span time.Duration) (n int) {
		b := newBorder()
		l.InFlight = 1 << 30
		b.limit(l)
		for at := time.Duration(0); at < span; at += step {
			if b.enter(now.Add(at), size, nil) == passed {
				n++
			}
		}
		return n
	}
	const second = time.Second
	require.Equal(t, 10_000, pass(Limits{}, 1, time.Millisecond, 10*second))
	require.InDelta(t, 1100, pass(Limits{Messages: 100}, 1, 17*time.Microsecond, 10*second), 1)
	require.InDelta(t, 1100, pass(Limits{Bytes: 1000}, 10, 17*time.Microsecond, 10*second), 2)
	require.Equal(t, 2, pass(Limits{Bytes: 1000}, 10_000, time.Millisecond, 10*second), "one larger than the limit, and one when it is paid for")
}

func TestAPatternStandsForNamesThatBeginAsItDoes(t *testing.T) {
	// This test checks what patterns match, and what the cluster is called on both sides.
	for _, c := range []struct{ cluster, as, asked, is string }{
		{"geo.*", "geo.*", "geo.maps", "geo.maps"},
		{"geo.*", "eu-geo.*", "eu-geo.maps.new", "geo.maps.new"},
		{"*", "eu/*", "eu/geo", "geo"},
		{"geo*", "geo*", "geo", "geo"},
		{"geo.*", "geo.*", "geo", ""},
		{"geo.*", "eu-geo.*", "geo.maps", ""},
		{"*", "*", "$federation", ""},
		{"*", "*", "topic:prices", ""},
		{"*", "eu/*", "eu/$status", ""},
		{"*", "eu/*", "eu/", ""},
	} {
		p := pattern{what: Crossing{From: "eu", To: "us", Cluster: c.cluster, As: c.as}}
		got, ok := p.matches(c.asked)
		require.Equal(t, c.is != "", ok, c.asked)
		if ok {
			require.Equal(t, Crossing{From: "eu", To: "us", Cluster: c.is, As: c.asked}, got)
		}
	}
}

func TestAClusterThatCrossesSealedIsLentToNobodyWhoAsks(t *testing.T) {
	// This test has callers ask for a cluster that crosses sealed: as soon as its members are
	// known the answer is that nobody serves it for those who can't see it. And a pattern
	// can't have a finding key: it would be taken for one that may be opened.
	l := &lend{sealed: &sealed{}}
	lent, known := outlook([]*lend{l})
	require.False(t, lent || known)
	l.sealed.shown = seen{known: true, members: 3}
	lent, known = outlook([]*lend{l})
	require.False(t, lent)
	require.True(t, known)

	finding := security.FindingFile{Name: "vault.*"}
	c := Crossing{From: "eu", To: "us", Cluster: "vault.*", Finding: &finding}
	err := c.withDefaults().check(nil)
	require.ErrorContains(t, err, "has a finding key and is a pattern")
}

func TestAMessageEntersNoNetworkTwice(t *testing.T) {
	// This test carries messages that have come through lists of networks from us to eu:
	// those that would come to eu again, or have come through too many, are refused, and
	// so is a list that is none.
	id := func(n byte) security.NetworkID { return security.NetworkID{n} }
	text := func(ns ...byte) (out []string) {
		for _, n := range ns {
			x := id(n)
			out = append(out, string(x[:]))
		}
		return out
	}
	const us, eu, asia = 1, 2, 3
	w := way{borrower: id(us), lender: id(eu), origin: id(asia)}
	require.Equal(t, &cluster.Transit{Origin: id(asia), Passed: []security.NetworkID{id(us)}}, w.carries(nil))
	require.Equal(t, &cluster.Transit{Origin: id(asia), Passed: []security.NetworkID{id(9), id(us)}}, w.carries(text(9)))
	require.Nil(t, w.carries(text(eu)))
	require.Nil(t, w.carries(text(9, eu, 8)))
	require.NotNil(t, w.carries(text(11, 12, 13, 14, 15, 16, 17)))
	require.Nil(t, w.carries(text(11, 12, 13, 14, 15, 16, 17, 18)))
	require.Nil(t, w.carries([]string{"short"}))
	require.Nil(t, way{borrower: id(us), lender: id(us)}.carries(nil))
}

func TestWhatIsLentOnHasNotComeThroughTheBorrower(t *testing.T) {
	// This test looks, for a crossing from eu to us, at a cluster of eu that has members
	// of its own and of asia by several ways: of asia's the shortest way is told, those
	// that came through us are not lent, nor what has come through eight networks; and
	// what several gateways lend does not add up.
	id := func(n byte) security.NetworkID { return security.NetworkID{n} }
	const us, eu, asia, far = 1, 2, 3, 4
	member := func(capacity int, through ...byte) *cluster.Member {
		m := &cluster.Member{Capacity: capacity, Imported: len(through) > 0}
		for _, n := range through {
			m.Networks = append(m.Networks, id(n))
		}
		return m
	}
	v := &cluster.View{Known: true, Members: []*cluster.Member{
		member(3), member(4), member(5, asia, far), member(6, asia), member(9, asia, us), member(7, far),
		member(8, asia, 11, 12, 13, 14, 15, 16, 17),
	}}
	passed, live := []security.NetworkID{id(us)}, func(*cluster.Member) string { return "live" }
	own := look(v, &cluster.Transit{Passed: passed}, id(eu), live)
	require.Equal(t, seen{known: true, members: 2, usable: 2, sure: 2, capacity: 7, networks: []security.NetworkID{id(eu)}}, own)
	others := look(v, &cluster.Transit{Origin: id(asia), Passed: passed}, id(eu), live)
	require.Equal(t, seen{known: true, members: 2, usable: 2, sure: 2, capacity: 6, networks: []security.NetworkID{id(asia), id(eu)}}, others)
	require.Zero(t, look(v, &cluster.Transit{Origin: id(us), Passed: passed}, id(eu), live).members)
}

func TestACloudThatLooksEmptyIsBelievedToBeWhereItCanBeKnown(t *testing.T) {
	// This test has a message for everybody find nobody: that is the whole answer in the
	// crossing's own network while that is heard, and not behind another gateway, nor while
	// the network is cut off.
	for _, c := range []struct{ behind, broken, want bool }{
		{want: true}, {broken: true}, {behind: true}, {behind: true, broken: true},
	} {
		l := &loan{lend: &lend{reach: &reach{}}}
		l.reach.broken.Store(c.broken)
		if c.behind {
			l.origin[0] = 1
		}
		require.Equal(t, c.want, knowsOfNobody(l), "%+v", c)
	}
}
