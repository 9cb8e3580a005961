// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/patterns"
)

// planRound is one step of a plan and the decision that it expects.
type planRound struct {
	begin  cluster.MemberID // an attempt there, which is sent unless unsent
	unsent bool
	ended  failure // of attempt number at
	doubt  bool    // about attempt number at
	at     int
	nobody bool // there is nobody to choose, at time now
	empty  bool
	now    time.Duration
	denied bool

	do    doing
	pause time.Duration
	err   error
}

func (r planRound) play(t *testing.T, p *plan, i int) {
	t.Helper()
	var d decision
	switch {
	case r.begin != 0:
		require.True(t, p.permits(r.begin), "round %d", i)
		n := p.begin(r.begin, peer.ID([]byte{byte(r.begin)}))
		if !r.unsent {
			p.sent(n)
		}
		return
	case r.ended != 0:
		d = p.ended(r.at, r.ended)
	case r.doubt:
		d = p.doubted(r.at)
	case r.denied:
		d = p.denied()
	case r.nobody:
		d = p.nobody(int64(r.now), r.empty)
	}
	require.Equal(t, r.do, d.do, "round %d: %+v", i, d)
	require.Equal(t, r.pause, d.pause, "round %d", i)
	if r.err == nil {
		require.NoError(t, d.err, "round %d", i)
	} else {
		require.ErrorIs(t, d.err, r.err, "round %d", i)
	}
}

func TestPlanDecidesWhetherARequestIsSentAgain(t *testing.T) {
	// This test is the outcomes table of package patterns, and what follows
	// from it when several attempts fail in different ways.
	for name, test := range map[string]struct {
		idempotent, wait bool
		rounds           []planRound
	}{
		"a refusal is tried elsewhere, whatever the request": {rounds: []planRound{
			{begin: 1},
			{ended: failedFull, do: doTry},
			{begin: 2},
			{at: 1, ended: failedLeaving, do: doTry},
			{begin: 3},
			{at: 2, ended: failedGone, do: doTry},
			{nobody: true, do: doPause, pause: firstPause},
		}},
		"all busy is an answer at once": {rounds: []planRound{
			{begin: 1},
			{ended: failedFull, do: doTry},
			{begin: 2},
			{at: 1, ended: failedFull, do: doTry},
			{nobody: true, do: doEnd, err: patterns.ErrOverloaded},
		}},
		"not reached is tried elsewhere": {rounds: []planRound{
			{begin: 1, unsent: true},
			{ended: failedUnreached, do: doTry},
			{begin: 2},
		}},
		"interrupted is final if not idempotent": {rounds: []planRound{
			{begin: 1},
			{ended: failedLink, do: doEnd, err: patterns.ErrInterrupted},
		}},
		"a member that can't say is as good as interrupted": {rounds: []planRound{
			{begin: 1},
			{ended: failedReply, do: doEnd, err: patterns.ErrInterrupted},
		}},
		"interrupted is tried elsewhere if idempotent": {idempotent: true, rounds: []planRound{
			{begin: 1},
			{ended: failedLink, do: doTry},
			{begin: 2},
			{at: 1, ended: failedReply, do: doTry},
			{begin: 3},
			{at: 2, ended: failedFull, do: doTry},
			{nobody: true, empty: true, do: doEnd, err: patterns.ErrInterrupted},
		}},
		"doubt is no reason if not idempotent": {rounds: []planRound{
			{begin: 1},
			{doubt: true, do: doWait},
		}},
		"doubt sends an idempotent request elsewhere and keeps the first": {idempotent: true, rounds: []planRound{
			{begin: 1},
			{doubt: true, do: doTry},
			{begin: 2},
			{at: 0, ended: failedLink, do: doWait}, // the second one is on its way
			{at: 1, ended: failedFull, do: doTry},
		}},
		"doubt about both tries a third": {idempotent: true, rounds: []planRound{
			{begin: 1},
			{doubt: true, do: doTry},
			{begin: 2},
			{at: 1, doubt: true, do: doTry},
			{begin: 3},
		}},
		"in doubt with nobody else it waits for the first": {idempotent: true, rounds: []planRound{
			{begin: 1},
			{doubt: true, do: doTry},
			{nobody: true, now: time.Second, do: doPause, pause: firstPause},
			{nobody: true, now: 3 * time.Second, do: doWait},
			{ended: failedLink, do: doTry},
			{nobody: true, now: 3 * time.Second, do: doEnd, err: patterns.ErrInterrupted},
		}},
		"the budget ends it with what happened": {rounds: []planRound{
			{begin: 1},
			{ended: failedGone, do: doTry},
			{denied: true, do: doEnd, err: patterns.ErrUnreachable},
		}},
		"the budget does not end what is under way": {idempotent: true, rounds: []planRound{
			{begin: 1},
			{doubt: true, do: doTry},
			{denied: true, do: doWait},
		}},
		"the cluster became empty": {rounds: []planRound{
			{begin: 1},
			{ended: failedLeaving, do: doTry},
			{nobody: true, empty: true, do: doEnd, err: patterns.ErrNoMembers},
		}},
		"busy, then empty, was busy": {rounds: []planRound{
			{begin: 1},
			{ended: failedFull, do: doTry},
			{begin: 2},
			{at: 1, ended: failedGone, do: doTry},
			{nobody: true, empty: true, do: doEnd, err: patterns.ErrOverloaded},
		}},
		"a first member is waited for": {wait: true, rounds: []planRound{
			{begin: 1},
			{ended: failedGone, do: doTry},
			{nobody: true, empty: true, now: 0, do: doPause, pause: firstPause},
			{nobody: true, empty: true, now: time.Hour, do: doPause, pause: 2 * firstPause},
		}},
		"pauses grow, and end after two seconds": {rounds: []planRound{
			{begin: 1, unsent: true},
			{ended: failedUnreached, do: doTry},
			{nobody: true, now: 0, do: doPause, pause: 10 * time.Millisecond},
			{nobody: true, now: 1, do: doPause, pause: 20 * time.Millisecond},
			{nobody: true, now: 2, do: doPause, pause: 40 * time.Millisecond},
			{nobody: true, now: 3, do: doPause, pause: 80 * time.Millisecond},
			{nobody: true, now: 4, do: doPause, pause: 100 * time.Millisecond},
			{nobody: true, now: 5, do: doPause, pause: 100 * time.Millisecond},
			{nobody: true, now: viewPatience - 1, do: doPause, pause: 100 * time.Millisecond},
			{nobody: true, now: viewPatience, do: doEnd, err: patterns.ErrUnreachable},
		}},
		"a member that could not be reached is tried again, not for ever": {rounds: []planRound{
			{begin: 1, unsent: true},
			{ended: failedUnreached, do: doTry},
			{nobody: true, do: doPause, pause: firstPause},
			{begin: 1, unsent: true},
			{at: 1, ended: failedUnreached, do: doTry},
			{nobody: true, do: doPause, pause: 2 * firstPause},
			{begin: 1, unsent: true},
			{at: 2, ended: failedUnreached, do: doTry},
			{begin: 1, unsent: true},
			{at: 3, ended: failedUnreached, do: doTry},
			{begin: 1, unsent: true},
			{at: 4, ended: failedUnreached, do: doTry},
			{begin: 1, unsent: true},
			{at: 5, ended: failedUnreached, do: doTry},
			{nobody: true, do: doEnd, err: patterns.ErrUnreachable},
		}},
		"thrown away because it was late": {rounds: []planRound{
			{begin: 1},
			{ended: failedLate, do: doTry},
			{denied: true, do: doEnd, err: context.DeadlineExceeded},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var p plan
			p.init(test.idempotent, test.wait)
			for i, r := range test.rounds {
				r.play(t, &p, i)
			}
		})
	}
}

func TestPlanTriesThreeDistinctMembersAtMost(t *testing.T) {
	// This test checks the bound on members, the one on attempts, and who is
	// excluded from the next choice.
	var p plan
	p.init(true, false)
	require.Empty(t, p.exclude(nil))
	for m := cluster.MemberID(1); m <= 3; m++ {
		require.True(t, p.permits(m))
		p.sent(p.begin(m, "peer"))
	}
	require.False(t, p.permits(4))
	require.True(t, p.permits(1), "it was tried before")
	p.ended(0, failedUnreached)
	p.ended(1, failedFull)
	require.Equal(t, []cluster.MemberID{1, 2, 3}, p.exclude(nil))
	p.nobody(0, false)
	require.Equal(t, []cluster.MemberID{2, 3}, p.exclude(nil), "who was not reached may be tried again")
	for range 3 {
		p.begin(1, "peer")
	}
	require.False(t, p.permits(1))

	var alone plan
	alone.init(false, false)
	alone.begin(1, "peer")
	alone.ended(0, failedUnreached)
	alone.nobody(0, false)
	require.Equal(t, []cluster.MemberID{0}, alone.exclude(nil), "no first try: whoever is unreachable stays out")
}

func TestPlanSaysWhetherAHandlerMayHaveRun(t *testing.T) {
	// This test checks what a deadline, a cancellation and our own closing are
	// worth in each state of a request.
	for name, test := range map[string]struct {
		rounds []planRound
		ran    bool
		closed error
	}{
		"nothing was sent":             {nil, false, patterns.ErrClosed},
		"the link is not there yet":    {[]planRound{{begin: 1, unsent: true}}, false, patterns.ErrClosed},
		"it is on its way":             {[]planRound{{begin: 1}}, true, patterns.ErrInterrupted},
		"it was refused":               {[]planRound{{begin: 1}, {ended: failedFull, do: doTry}}, false, patterns.ErrClosed},
		"it was thrown away unhandled": {[]planRound{{begin: 1}, {ended: failedLate, do: doTry}}, false, patterns.ErrClosed},
		"it was interrupted":           {[]planRound{{begin: 1}, {ended: failedLink, do: doTry}}, true, patterns.ErrInterrupted},
		"interrupted, then refused": {[]planRound{
			{begin: 1},
			{ended: failedLink, do: doTry},
			{begin: 2},
			{at: 1, ended: failedFull, do: doTry},
		}, true, patterns.ErrInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			var p plan
			p.init(true, false)
			for i, r := range test.rounds {
				r.play(t, &p, i)
			}
			require.Equal(t, &patterns.DeadlineError{Cause: context.Canceled, MaybeRan: test.ran}, p.over(context.Canceled))
			require.Equal(t, test.closed, p.closing())
		})
	}
}
