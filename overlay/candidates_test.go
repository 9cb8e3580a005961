// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
)

func peerNumber(i int) peer.ID { return peer.ID(fmt.Sprintf("p%06d", i)) }

var errNobody = errors.New("nobody there")

// searchRun plays the shell: it starts the dials, which take 10 ms, and ends
// them by what the test says.
type searchRun struct {
	t     *testing.T
	core  *candidates
	start time.Time
	now   time.Time
	reach map[string]peer.ID // address → who answers there
	hangs bool               // dials to addresses "hangs…" take five seconds
	dials []searchNote
	busy  []searchBusy
	most  int
	wake  time.Time
}

type searchNote struct {
	at   time.Duration
	addr string
}

type searchBusy struct {
	until time.Time
	dial  dial
}

func newSearchRun(t *testing.T) *searchRun {
	start := time.Unix(1000, 0)
	return &searchRun{t: t, core: newCandidates("m-self", newSeededRand(1)), start: start, now: start, reach: map[string]peer.ID{}}
}

func (r *searchRun) poll() {
	var dials []dial
	dials, r.wake = r.core.poll(r.now)
	for _, d := range dials {
		r.dials = append(r.dials, searchNote{r.now.Sub(r.start), d.candidate.Addrs[0]})
		takes := 10 * time.Millisecond
		if r.hangs && strings.HasPrefix(d.candidate.Addrs[0], "hangs") {
			takes = 5 * time.Second
		}
		r.busy = append(r.busy, searchBusy{r.now.Add(takes), d})
	}
	r.most = max(r.most, len(r.busy))
}

func (r *searchRun) add(p peer.ID, addr string, source Source) {
	r.core.add(r.now, Candidate{Peer: p, Addrs: []string{addr}, Source: source})
	r.poll()
}

func (r *searchRun) down(p peer.ID, addr string) {
	r.core.down(r.now, p, []string{addr})
	r.poll()
}

// This test replaces the seeds: a new one is dialled, one that stays is as it was, and
// one that is none any more is not dialled again, but as a lost peer.
func TestSeedsCanBeReplaced(t *testing.T) {
	r := newSearchRun(t)
	r.reach["stays"], r.reach["linked"], r.reach["new"] = "p1", "p2", "p3"
	r.core.up(r.now, "p1")
	r.core.up(r.now, "p2")
	r.core.reseed(r.now, []string{"stays", "dead", "linked"})
	r.poll()
	r.until(time.Minute)
	before := len(r.dials)
	r.core.reseed(r.now, []string{"new", "stays"})
	r.core.up(r.now, "p3")
	r.poll()
	r.until(2 * time.Minute)
	require.Equal(t, searchNote{time.Minute, "new"}, r.dials[before])
	require.Empty(t, r.of("dead", time.Minute, time.Hour))
	require.Empty(t, r.of("linked", time.Minute, time.Hour))
	require.InDelta(t, 6, len(r.of("stays", time.Minute, time.Hour)), 1)
	require.Greater(t, r.of("stays", time.Minute, time.Hour)[0], time.Minute, "it is as it was")
	before = len(r.dials)
	r.down("p2", "linked")
	r.until(2*time.Minute + time.Second)
	require.Equal(t, "linked", r.dials[before].addr, "it is a peer like others")
}

// until lets time pass.
func (r *searchRun) until(d time.Duration) {
	end := r.start.Add(d)
	for range 1_000_000 {
		next := end
		if !r.wake.IsZero() && r.wake.Before(next) {
			next = r.wake
		}
		i := -1
		for j, b := range r.busy {
			if !b.until.After(next) && (i < 0 || b.until.Before(r.busy[i].until)) {
				i = j
			}
		}
		if i >= 0 {
			b := r.busy[i]
			r.busy = slices.Delete(r.busy, i, i+1)
			r.now = b.until
			r.finish(b.dial)
			continue
		}
		r.now = next
		if next.Equal(end) && (r.wake.IsZero() || r.wake.After(end)) {
			return
		}
		r.poll()
	}
	r.t.Fatal("the core asks to be woken without end")
}

func (r *searchRun) finish(d dial) {
	p, err := peer.ID(""), errNobody
	for _, a := range d.candidate.Addrs {
		if q := r.reach[a]; q != "" && (d.candidate.Peer == "" || d.candidate.Peer == q) {
			p, err = q, nil
		} else if q != "" {
			err = &ReplacedError{By: q, Addr: a, Err: errNobody}
		}
	}
	if err == nil && p != r.core.self {
		r.core.up(r.now, p)
	}
	r.core.result(r.now, d.id, p, err)
	r.poll()
}

// of lists when addr was dialled, between two times.
func (r *searchRun) of(addr string, from, to time.Duration) []time.Duration {
	var at []time.Duration
	for _, n := range r.dials {
		if n.addr == addr && n.at >= from && n.at < to {
			at = append(at, n.at)
		}
	}
	return at
}

// This test checks the pauses of a seed that can't be reached while there is
// no other connection: doubling from 250 ms, within a quarter, to 5 s for
// ever.
func TestLonelyNodeBacksOffToFiveSeconds(t *testing.T) {
	r := newSearchRun(t)
	r.add("", "seed", SourceSeed)
	r.until(time.Hour)
	at := r.of("seed", 0, time.Hour)
	require.Zero(t, at[0])
	want := 250 * time.Millisecond
	for i := range 20 {
		pause := at[i+1] - at[i] - 10*time.Millisecond
		require.InDelta(t, want.Seconds(), pause.Seconds(), want.Seconds()/4+0.002, "pause %d", i)
		want = min(2*want, 5*time.Second)
	}
	require.InDelta(t, 3600/4.7, len(at), 80)
}

// This test checks that a seed which comes up is found, and is then asked every ten
// seconds which nodes are there; peers that are found are left alone.
func TestReachedCandidateIsDone(t *testing.T) {
	r := newSearchRun(t)
	r.add("", "seed", SourceSeed)
	r.add("b", "b", SourceRemembered)
	r.until(3 * time.Second)
	r.reach["seed"], r.reach["b"] = "a", "b"
	r.until(20 * time.Second)
	require.True(t, r.core.connected["a"] && r.core.connected["b"])
	n := len(r.dials)
	r.until(24 * time.Hour)
	require.Len(t, r.core.list, 1, "the seed is remembered")
	asked := r.of("seed", 20*time.Second, 24*time.Hour)
	require.Len(t, r.dials[n:], len(asked), "converged is quiet")
	require.InDelta(t, 24*60*6, len(asked), 90)
	n = len(r.dials)
	r.add("a", "lan", SourceLAN)
	r.add("b", "lan", SourceLAN)
	require.Len(t, r.dials, n)
}

// This test checks the patrol of a node that has connections: lost peers one a
// second in turn for ten minutes, then one every 30 s for ever; seeds each every
// five seconds; candidates of other kinds are given up.
func TestPatrolNeverEnds(t *testing.T) {
	r := newSearchRun(t)
	r.core.up(r.now, "friend")
	r.add("", "seed", SourceSeed)
	r.add("x", "lan", SourceLAN)
	for _, p := range []string{"y", "z"} {
		r.core.up(r.now, peer.ID(p))
		r.down(peer.ID(p), p)
	}
	r.until(2 * time.Hour)
	require.Empty(t, r.of("lan", time.Minute, 2*time.Hour))
	require.InDelta(t, 6, len(r.of("lan", 0, time.Minute)), 1)
	minute := func(m int) int {
		from := time.Duration(m) * time.Minute
		return len(r.of("z", from, from+time.Minute)) + len(r.of("y", from, from+time.Minute))
	}
	require.InDelta(t, 60, minute(2), 1)
	require.InDelta(t, 60, minute(8), 1)
	require.InDelta(t, 30, len(r.of("y", 2*time.Minute, 3*time.Minute)), 1, "in turn")
	for _, m := range []time.Duration{2, 110} {
		require.InDelta(t, 13, len(r.of("seed", m*time.Minute, (m+1)*time.Minute)), 2)
	}
	require.InDelta(t, 2, minute(15), 1)
	require.InDelta(t, 2, minute(110), 1)
	require.NotEmpty(t, r.of("y", 100*time.Minute, 2*time.Hour))

	r.reach["y"] = "y"
	r.until(2*time.Hour + 2*time.Minute)
	require.True(t, r.core.connected["y"], "the halves meet again")
}

// This test checks that losing the last connection makes everybody urgent
// again.
func TestLosingEverybodyMakesEverybodyEager(t *testing.T) {
	r := newSearchRun(t)
	r.core.up(r.now, "friend")
	r.add("", "seed", SourceSeed)
	r.until(time.Hour)
	r.down("friend", "friend")
	before := len(r.of("seed", 0, 2*time.Hour))
	r.until(time.Hour + 5*time.Second)
	require.GreaterOrEqual(t, len(r.of("seed", time.Hour, 2*time.Hour)), 4, "%d before", before)
	require.GreaterOrEqual(t, len(r.of("friend", time.Hour, 2*time.Hour)), 4)
	r.until(10 * time.Hour)
	require.InDelta(t, 720, len(r.of("seed", 9*time.Hour, 10*time.Hour)), 90)
}

// This test checks that of two nodes that discover each other the one with
// the lower peer id dials at once and the other 100 ms later, if at all.
func TestLowerPeerIDDialsFirst(t *testing.T) {
	r := newSearchRun(t) // "m-self"
	r.add("a-lower", "lower", SourceLAN)
	r.add("z-higher", "higher", SourceLAN)
	r.add("", "unknown", SourceLAN)
	r.add("a-lower2", "lower2", SourceLAN)
	r.until(50 * time.Millisecond)
	r.core.up(r.now, "a-lower2")
	r.until(200 * time.Millisecond)
	require.Equal(t, []time.Duration{100 * time.Millisecond}, r.of("lower", 0, time.Minute))
	require.Zero(t, r.of("higher", 0, time.Minute)[0])
	require.Zero(t, r.of("unknown", 0, time.Minute)[0])
	require.Empty(t, r.of("lower2", 0, time.Minute))
}

// This test checks that one peer is one candidate, however it is named.
func TestCandidatesAreMergedByPeer(t *testing.T) {
	r := newSearchRun(t)
	r.add("a", "a1", SourceLAN)
	r.add("a", "a2", SourceRemembered)
	r.add("", "seed", SourceSeed)
	r.add("", "seed", SourceSeed)
	require.Len(t, r.core.list, 2)
	require.Equal(t, []string{"a2", "a1"}, r.core.list[0].addrs)
	r.reach["seed"] = "a"
	r.until(time.Second)
	require.Len(t, r.core.list, 1)
	require.Equal(t, SourceSeed, r.core.list[0].source)
	r.add("m-self", "me", SourceLAN)
	r.core.add(r.now, Candidate{})
	require.Len(t, r.core.list, 1)
}

// This test checks that a seed which is this node itself is asked every ten seconds
// since its name may lead to others by then.
func TestOwnAddressAmongTheSeedsIsHarmless(t *testing.T) {
	r := newSearchRun(t)
	r.add("", "me", SourceSeed)
	r.add("", "seed", SourceSeed)
	r.reach["me"] = "m-self"
	r.until(time.Hour)
	require.InDelta(t, 360, len(r.of("me", 0, time.Hour)), 20)
	require.Greater(t, len(r.of("seed", 0, time.Hour)), 600)
	r.reach["me"] = "other" // the name means somebody else now
	r.until(time.Hour + 13*time.Second)
	require.True(t, r.core.connected["other"])
}

// This test checks that the node reached at a seed is never taken for the seed: after
// hours of absence another one at the same address is joined within six seconds, beside
// 32 lost peers that never answer.
func TestSeedIsAskedAfreshWhoeverWasThereBefore(t *testing.T) {
	r := newSearchRun(t)
	r.hangs = true
	r.core.up(r.now, "friend")
	r.add("", "seed", SourceSeed)
	r.reach["seed"] = "first"
	r.until(time.Second)
	require.True(t, r.core.connected["first"])
	for i := range maxLost {
		r.core.up(r.now, peerNumber(i))
		r.down(peerNumber(i), fmt.Sprint("hangs", i))
	}
	delete(r.reach, "seed")
	r.down("first", "learned")
	for i, absence := range []time.Duration{time.Second, time.Minute, 3 * time.Hour} {
		r.until(r.now.Sub(r.start) + absence)
		again := peerNumber(100 + i)
		r.reach["seed"] = again
		r.until(r.now.Sub(r.start) + 6*time.Second)
		require.True(t, r.core.connected[again], "after %v", absence)
		delete(r.reach, "seed")
		r.down(again, "learned")
	}
	for _, c := range r.core.list {
		require.False(t, c.source == SourceSeed && !slices.Equal(c.addrs, []string{"seed"}), "what was learned is not what was configured")
	}
}

// This test checks that a name which leads to another node is followed, though its old
// node is still connected.
func TestSeedThatMovesWhileItsOldNodeStaysIsFollowed(t *testing.T) {
	r := newSearchRun(t)
	r.add("", "seed", SourceSeed)
	r.reach["seed"] = "old"
	r.until(time.Minute)
	r.reach["seed"] = "new"
	r.until(time.Minute + 13*time.Second)
	require.True(t, r.core.connected["old"] && r.core.connected["new"])
}

// This test checks two seeds that are the same node under two names: when it returns
// with another peer id, both lead to it.
func TestTwoNamesOfOneSeedBothLeadToItsNextNode(t *testing.T) {
	r := newSearchRun(t)
	r.core.up(r.now, "friend")
	r.add("", "one", SourceSeed)
	r.add("", "two", SourceSeed)
	r.reach["one"], r.reach["two"] = "a", "a"
	r.until(time.Minute)
	clear(r.reach)
	r.down("a", "learned")
	r.until(2 * time.Minute)
	r.reach["one"], r.reach["two"] = "b", "b"
	r.until(2*time.Minute + 6*time.Second)
	require.True(t, r.core.connected["b"])
	for _, c := range r.core.list {
		require.True(t, c.peer == "b" && c.failures == 0 || c.peer == "a" && c.lost, "%+v", c)
	}
}

// This test checks that a lost peer is given up when another node of the network has
// taken its place, and that this one is joined.
func TestLostPeerWhosePlaceIsTakenIsGivenUp(t *testing.T) {
	for _, source := range []Source{SourceRemembered, SourceLAN} {
		r := newSearchRun(t)
		r.reach["place"] = "next"
		r.add("first", "place", source)
		r.until(time.Second)
		require.True(t, r.core.connected["next"])
		require.Empty(t, r.core.list)
	}
	r := newSearchRun(t)
	r.core.up(r.now, "first")
	r.reach["place"] = "next"
	r.down("first", "place")
	r.until(time.Second)
	require.True(t, r.core.connected["next"])
	require.Empty(t, r.core.list)

	r = newSearchRun(t)
	r.core.up(r.now, "first")
	r.add("", "place/p2p/"+peer.ID("first").String(), SourceSeed)
	r.reach["place"] = "next"
	r.down("first", "place")
	r.until(time.Minute)
	require.Empty(t, r.core.connected, "the peer id is configured")
}

// This test checks the bounds: dials at a time, candidates, lost peers. The
// oldest is forgotten, and counted; seeds never are.
func TestSearchIsBounded(t *testing.T) {
	r := newSearchRun(t)
	r.add("", "seed", SourceSeed)
	for i := range 1000 {
		r.add(peerNumber(i), fmt.Sprint("addr", i), SourceRemembered)
	}
	require.Len(t, r.core.list, maxCandidates)
	require.Equal(t, 1001-maxCandidates, r.core.forgotten)
	require.Equal(t, "seed", r.core.list[0].addrs[0])
	r.until(time.Minute)
	require.Equal(t, maxDials, r.most)

	r = newSearchRun(t)
	r.core.up(r.now, "friend")
	for i := range 200 {
		r.core.up(r.now, peerNumber(i))
	}
	for i := range 200 {
		r.now = r.now.Add(time.Millisecond)
		r.down(peerNumber(i), fmt.Sprint("addr", i))
	}
	require.Equal(t, maxLost, r.core.count(func(c *candidate) bool { return c.lost }))
	for i := range 200 {
		require.Equal(t, i >= 200-maxLost, r.core.find(Candidate{Peer: peerNumber(i)}) != nil, "the first that was lost is forgotten")
	}
	for range 100 {
		r.core.add(r.now, Candidate{Peer: "many", Addrs: []string{fmt.Sprint(len(r.core.list), r.now)}, Source: SourceLAN})
		r.now = r.now.Add(time.Second)
	}
	require.LessOrEqual(t, len(r.core.find(Candidate{Peer: "many"}).addrs), maxCandidateAddrs)
}

// This test checks that peers that come and go without a link or an address, however
// many, are not looked for, and that the one relay lost among them is found again.
func TestPeersWithoutAnAddressAreNotLost(t *testing.T) {
	r := newSearchRun(t)
	for i := range 1000 {
		r.core.up(r.now, peerNumber(i))
		if i == 500 {
			r.core.up(r.now, "relay")
			r.down("relay", "there")
		}
		r.core.down(r.now, peerNumber(i), nil)
		r.poll()
	}
	require.Len(t, r.core.list, 1)
	require.Zero(t, r.core.forgotten)
	r.until(5 * time.Minute)
	r.reach["there"] = "relay"
	r.until(6 * time.Minute)
	require.True(t, r.core.connected["relay"])
}

// This test has a node lose forty peers at once, all of its own or all but one, and checks
// that it finds each of them when the network is whole again.
func TestAllPeersLostInAPartitionAreFoundAgain(t *testing.T) {
	for _, friend := range []bool{false, true} {
		r := newSearchRun(t)
		if friend {
			r.core.up(r.now, "friend")
		}
		for i := range 40 {
			r.core.up(r.now, peerNumber(i))
		}
		for i := range 40 {
			r.down(peerNumber(i), fmt.Sprint("addr", i))
		}
		r.until(20 * time.Minute)
		for i := range 40 {
			r.reach[fmt.Sprint("addr", i)] = peerNumber(i)
		}
		r.until(45 * time.Minute)
		for i := range 40 {
			require.True(t, r.core.connected[peerNumber(i)], "peer %d, friend %v", i, friend)
		}
	}
}

// This test checks that what anybody on the local network can announce takes no
// place of other candidates, nor all dials, nor the addresses of a peer that is known.
func TestAnnouncementsPushNobodyOut(t *testing.T) {
	r := newSearchRun(t)
	r.core.up(r.now, "friend") // so that a search is not all there is
	for i := range 190 {
		r.core.add(r.now, Candidate{Peer: peerNumber(i), Addrs: []string{fmt.Sprint("true", i)}, Source: SourceRemembered})
	}
	announce := func(from, to int) {
		for i := from; i < to; i++ {
			r.core.add(r.now, Candidate{Peer: peerNumber(i), Addrs: []string{fmt.Sprint("said", i)}, Source: SourceLAN})
		}
	}
	announce(1000, 2000)
	require.Len(t, r.core.list, 190+maxLAN)
	for i := range 100 {
		r.core.add(r.now, Candidate{Peer: peerNumber(0), Addrs: []string{fmt.Sprint("false", i)}, Source: SourceLAN})
	}
	require.Equal(t, "true0", r.core.list[0].addrs[0])

	r.reach["true189"] = peerNumber(189)
	for range 60 {
		announce(2000, 2100)
		r.poll()
		busy := 0
		for _, b := range r.busy {
			if b.dial.candidate.Source == SourceLAN {
				busy++
			}
		}
		require.LessOrEqual(t, busy, maxLANDials)
		r.until(r.now.Sub(r.start) + 20*time.Millisecond)
	}
	require.True(t, r.core.connected[peerNumber(189)])
	r.reach["said3000"] = peerNumber(3000)
	announce(3000, 3001)
	r.poll()
	r.until(r.now.Sub(r.start) + time.Minute)
	require.True(t, r.core.connected[peerNumber(3000)], "they are dialled as well")
}

// This test checks that a connection which ends right after a dial is not
// taken for standing.
func TestConnectionThatEndsAtOnceIsDialledAgain(t *testing.T) {
	r := newSearchRun(t)
	r.add("a", "a", SourceRemembered)
	d := r.busy[0].dial
	r.busy = nil
	r.core.up(r.now, "a")
	r.core.down(r.now, "a", nil)
	r.core.result(r.now, d.id, "a", nil)
	r.poll()
	r.until(2 * time.Second)
	require.Len(t, r.of("a", time.Millisecond, 2*time.Second)[:1], 1)
}

func TestOnlyOthersThatMayBeThereAreMissed(t *testing.T) {
	// This test adds candidates of each source to a lonely node, and a peer that it loses,
	// or that says goodbye: seeds are missed for good, others until they said goodbye; a
	// neighbour that was only announced is given up after a few dials. Whether somebody may
	// be there soon depends on dials that have not failed.
	missed := func(r *searchRun) []any {
		seeds, peers, soon := r.core.missed()
		return []any{seeds, peers, soon}
	}
	run := func(f func(r *searchRun)) *searchRun {
		r := newSearchRun(t)
		f(r)
		return r
	}
	require.Equal(t, []any{0, 0, false}, missed(run(func(*searchRun) {})), "a network of its own")

	seed := run(func(r *searchRun) { r.add("", "seed", SourceSeed) })
	require.Equal(t, []any{1, 0, true}, missed(seed))
	seed.until(time.Hour)
	require.Equal(t, []any{1, 0, false}, missed(seed))

	announced := run(func(r *searchRun) { r.add("b", "lan", SourceLAN) })
	require.Equal(t, []any{0, 1, true}, missed(announced))
	announced.until(time.Hour)
	require.Equal(t, []any{0, 0, false}, missed(announced))

	for _, goodbye := range []bool{false, true} {
		lost := run(func(r *searchRun) {
			r.reach["b"] = "b"
			r.core.up(r.now, "b")
			if goodbye {
				r.core.bye("b")
			}
			r.down("b", "gone")
		})
		want := []any{0, 1, true}
		if goodbye {
			want = []any{0, 0, false}
		}
		require.Equal(t, want, missed(lost), goodbye)
	}

	self := run(func(r *searchRun) { r.reach["own"] = "m-self"; r.add("", "own", SourceSeed) })
	self.until(time.Minute)
	require.Equal(t, []any{0, 0, false}, missed(self), "a seed that is the node itself is none")
}
