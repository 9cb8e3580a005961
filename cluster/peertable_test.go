// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type reachRig struct {
	*peerTable
	now time.Time
	out *outbox
	far time.Duration // the longest round trip
}

func newReachRig() *reachRig {
	d, out := prng(1), &outbox{}
	r := &reachRig{now: time.Unix(1000, 0), out: out}
	r.peerTable = newPeerTable(testPeer("me"), func() []string { return nil }, &d, out, &settling{trip: func() (time.Duration, bool) { return r.far, false }})
	return r
}

// took returns and forgets the actions so far, but for those that say who is needed.
func (r *reachRig) took() []action {
	return slices.DeleteFunc(r.tookAll(), func(a action) bool {
		_, need := a.(needAction)
		return need
	})
}

func (r *reachRig) tookAll() []action {
	a := r.out.actions
	r.out.actions = nil
	return a
}

// A peer that is wanted is dialled at once, after failures with growing
// pauses, and no longer when nobody wants it.
func TestWantedPeerIsDialledWithGrowingPauses(t *testing.T) {
	r, p := newReachRig(), testPeer("A")
	r.want(r.now, p, []string{"addr"})
	require.Equal(t, []action{openAction{p, []string{"addr"}}}, r.took())
	r.want(r.now, p, nil)
	require.Empty(t, r.took(), "one dial at a time")
	require.False(t, r.failing(p))

	pause := dialFirst
	for range 10 {
		r.dialFailed(r.now, p)
		require.True(t, r.failing(p) && r.lost(p))
		r.tick(r.now.Add(pause - 1))
		require.Empty(t, r.took())
		r.now = r.now.Add(pause + pause/4)
		r.tick(r.now)
		require.Equal(t, []action{openAction{p, []string{"addr"}}}, r.took(), pause)
		pause = min(2*pause, dialLongest)
	}
	r.unwant(p)
	r.unwant(p)
	r.dialFailed(r.now, p)
	r.tick(r.now.Add(time.Hour))
	require.Empty(t, r.took())
	require.Empty(t, r.peers, "nothing is left of it")
}

// Whoever could not be dialled just once, as its address was not known yet, is
// dialled at once when a lookup has found it; one that fails again and again
// is not.
func TestWhoALookupFindsIsDialledAtOnce(t *testing.T) {
	r, p := newReachRig(), testPeer("A")
	r.want(r.now, p, nil)
	r.found(r.now, p)
	require.Len(t, r.took(), 1, "one dial at a time")
	r.dialFailed(r.now, p)
	r.found(r.now, p)
	require.Equal(t, []action{openAction{p, nil}}, r.took())
	r.dialFailed(r.now, p)
	r.found(r.now, p)
	require.Empty(t, r.took(), "it had its chance")
	r.found(r.now, testPeer("B"))
	require.Empty(t, r.took(), "nobody wants it")
}

// Dials of a peer whose addresses nobody knew say nothing about it: once they are
// known it is dialled at once, and is not lost until that has failed.
func TestWhoseAddressesWereNotKnownIsNotLost(t *testing.T) {
	r, p, addrs := newReachRig(), testPeer("A"), []string{"addr"}
	r.want(r.now, p, nil)
	for range 5 {
		r.dialFailed(r.now, p)
		r.now = r.now.Add(dialLongest)
		r.tick(r.now)
	}
	r.took()
	r.want(r.now, p, addrs)
	require.Empty(t, r.took(), "one dial at a time")
	r.dialFailed(r.now, p)
	require.Equal(t, []action{openAction{p, addrs}}, r.took())
	r.dialFailed(r.now, p)
	require.True(t, r.lost(p))
	require.Empty(t, r.took(), "now it has had its chance")

	q := testPeer("B")
	r.want(r.now, q, nil)
	r.dialFailed(r.now, q)
	require.True(t, r.lost(q))
	r.took()
	r.learn(r.now, q, addrs)
	require.Equal(t, []action{openAction{q, addrs}}, r.took())
	require.False(t, r.lost(q))
	r.learn(r.now, q, []string{"another"})
	r.dialFailed(r.now, q)
	require.Empty(t, r.took())
	require.True(t, r.lost(q))
}

// A dial that is never answered counts as failed in the end.
func TestDialWithoutAnswerIsGivenUp(t *testing.T) {
	r, p := newReachRig(), testPeer("A")
	r.want(r.now, p, nil)
	r.tick(r.now.Add(dialGiveUp))
	require.True(t, r.failing(p))
}

// A broken link says nothing about the next one: it is dialled at once.
func TestBrokenLinkIsDialledAtOnce(t *testing.T) {
	r, p := newReachRig(), testPeer("A")
	r.want(r.now, p, nil)
	r.up(p, 5, "")
	require.Equal(t, uint64(5), r.session(p))
	r.took()
	r.down(r.now, p)
	require.Equal(t, []action{openAction{p, nil}}, r.took())
	require.True(t, r.lost(p))
	require.False(t, r.failing(p), "not before a dial has failed")
	r.up(p, 6, "")
	require.False(t, r.lost(p))
}

// News of a failing peer ends the pause, though not more often than the
// shortest pause; until the link is up it counts as failing.
func TestNewsEndThePause(t *testing.T) {
	r, p := newReachRig(), testPeer("A")
	r.want(r.now, p, nil)
	for range 8 {
		r.dialFailed(r.now, p)
		r.now = r.now.Add(time.Minute)
		r.tick(r.now)
	}
	r.dialFailed(r.now, p)
	r.took()
	r.retry(r.now, p)
	require.Empty(t, r.took(), "it was dialled this very moment")
	r.now = r.now.Add(dialFirst)
	r.retry(r.now, p)
	require.Len(t, r.took(), 1)
	require.True(t, r.failing(p))
	require.False(t, r.lost(p), "it may be tried")
	r.dialFailed(r.now, p)
	require.True(t, r.lost(p))
	r.tick(r.now.Add(4 * dialFirst))
	require.Len(t, r.took(), 1, "pauses begin anew")
}

// What others dial in vain while we pause does not prolong the pause.
func TestFailuresOfOthersDoNotProlongThePause(t *testing.T) {
	r, p := newReachRig(), testPeer("A")
	r.want(r.now, p, nil)
	r.dialFailed(r.now, p)
	at := r.peers[p].at
	for range 50 {
		r.dialFailed(r.now, p)
	}
	require.Equal(t, at, r.peers[p].at)
}

// Users of a link are counted, and the network is told when the first comes and the
// last goes, whether or not the link is up.
func TestWhoIsNeededIsTold(t *testing.T) {
	r, p := newReachRig(), testPeer("A")
	r.want(r.now, p, nil)
	r.want(r.now, p, nil)
	require.Equal(t, []action{needAction{p, true}, openAction{p, nil}}, r.tookAll())
	r.up(p, 1, "")
	r.unwant(p)
	require.Empty(t, r.tookAll())
	r.unwant(p)
	r.unwant(testPeer("B"))
	require.Equal(t, []action{needAction{p, false}}, r.tookAll())
}

// Interest in heartbeats is counted, and reported when it begins and ends.
func TestHoldsAreCounted(t *testing.T) {
	r, p := newReachRig(), testPeer("A")
	r.hold(p)
	r.hold(p)
	r.unhold(p)
	require.Equal(t, []action{holdAction{p, true}}, r.took())
	r.unhold(p)
	require.Equal(t, []action{holdAction{p, false}}, r.took())
	require.Empty(t, r.peers)
}

// The link to oneself is always up and needs nothing.
func TestTheLinkToOneselfIsAlwaysUp(t *testing.T) {
	r := newReachRig()
	r.want(r.now, r.self, nil)
	r.hold(r.self)
	require.Empty(t, r.took())
	require.NotZero(t, r.session(r.self))
	require.False(t, r.lost(r.self) || r.suspect(r.self) || r.failing(r.self))
	r.unhold(r.self)
	r.unwant(r.self)
}

// Suspicion belongs to a session: a new one begins without.
func TestSuspicionEndsWithTheSession(t *testing.T) {
	r, p := newReachRig(), testPeer("A")
	r.setSuspect(r.now, p, true)
	require.False(t, r.suspect(p), "there is no session to doubt")
	r.up(p, 1, "")
	r.setSuspect(r.now, p, true)
	require.True(t, r.suspect(p))
	r.up(p, 2, "")
	require.False(t, r.suspect(p))
}

// Who is not heard is suspect at once, and silent some round trips later: that is the only
// news for those who choose anchors, and so is that a silent one is heard again.
func TestWhoBlinksIsNotSilent(t *testing.T) {
	const ms = time.Millisecond
	p := testPeer("A")
	for far, lasts := range map[time.Duration]time.Duration{0: 500 * ms, 125 * ms: 500 * ms, 800 * ms: 3200 * ms} {
		r := newReachRig()
		r.far = far
		news := func(after time.Duration) []peerNews {
			r.now = r.now.Add(after)
			r.tick(r.now)
			defer func() { r.events = nil }()
			return r.events
		}
		hears := func(on bool) []peerNews {
			r.setSuspect(r.now, p, !on)
			return news(0)
		}
		r.up(p, 1, "")
		news(0)
		require.Equal(t, []peerNews{{p, true}}, hears(false))
		require.True(t, r.suspect(p))
		require.Empty(t, news(lasts-1))
		require.False(t, r.silent(p))
		require.Equal(t, []peerNews{{p, true}}, hears(true))
		require.Empty(t, news(lasts), "it was heard")

		require.Equal(t, []peerNews{{p, true}}, hears(false))
		require.Equal(t, []peerNews{{p, false}}, news(lasts))
		require.True(t, r.suspect(p) && r.silent(p))
		require.Equal(t, []peerNews{{p, false}}, hears(true))
		require.False(t, r.suspect(p) || r.silent(p))

		hears(false)
		news(lasts)
		r.up(p, 2, "")
		require.False(t, r.silent(p), "a new session")
	}
}

// A peer that nobody wants any more after it could not be dialled counts as failing until
// it would have been dialled again, and whoever wants it meanwhile does not dial it sooner.
func TestAFailureIsRememberedWhileNobodyWantsThePeer(t *testing.T) {
	r, p := newReachRig(), testPeer("A")
	r.want(r.now, p, []string{"addr"})
	r.dialFailed(r.now, p)
	r.unwant(p)
	r.took()
	require.True(t, r.failing(p))
	r.want(r.now, p, nil)
	require.Empty(t, r.took(), "it has only just failed")
	r.unwant(p)

	r.now = r.now.Add(dialFirst + dialFirst/4)
	r.tick(r.now)
	require.Empty(t, r.took(), "nobody wants it")
	require.False(t, r.failing(p))
	require.Empty(t, r.peers)
	r.want(r.now, p, []string{"addr"})
	require.Equal(t, []action{openAction{p, []string{"addr"}}}, r.took())
}
