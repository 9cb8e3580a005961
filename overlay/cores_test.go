// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// seededRand is a RandStream for tests.
type seededRand struct{ *rand.Rand }

func newSeededRand(seed uint64) RandStream { return seededRand{rand.New(rand.NewPCG(seed, 0))} }

func (r seededRand) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.Uint64())
	}
	return len(p), nil
}

// This test checks every combination of what two sides say about their session
// against the sentence that defines it.
func TestHellosAreCompared(t *testing.T) {
	one, two := instanceID{1}, instanceID{2}
	stands := views{up: true, id: 5, instance: one, clock: 10, them: one, theirs: 5, theirClock: 11}
	change := func(f func(v *views)) views {
		v := stands
		f(&v)
		return v
	}
	for _, c := range []struct {
		why  string
		v    views
		want meeting
	}{
		{"nothing is known", views{them: one, theirs: 5, theirClock: 1}, meetBegin},
		{"a broken session goes on", stands, meetResume},
		{"and one whose connection only the peer has lost", change(func(v *views) { v.attached = true }), meetResume},
		{"the peer has given this connection up", change(func(v *views) { v.theirClock = 10 }), meetStale},
		{"the peer has lost the session", change(func(v *views) { v.theirs = 6 }), meetBegin},
		{"it was started anew, and nobody speaks for the former one", change(func(v *views) { v.them = two }), meetBegin},
		{"another process, and the former one may live", change(func(v *views) { v.them, v.attached = two, true }), meetStrange},
		{"calls cross, ours comes first", change(func(v *views) { v.calling, v.first = true, true }), meetStale},
		{"calls cross, the peer's comes first", change(func(v *views) { v.calling = true }), meetResume},
		{"first calls cross, ours comes first", views{them: one, theirClock: 1, calling: true, first: true}, meetStale},
		{"first calls cross, the peer's comes first", views{them: one, theirClock: 1, calling: true}, meetBegin},
	} {
		require.Equal(t, c.want, meet(c.v), c.why)
	}
}

// speaker is what Hellos need of an overlay.
func speaker(addrs []string) *base {
	return &base{instance: instanceID{7}, clock: NewRealClock(), transport: addressed{addrs: addrs}, cfg: Config{Admission: openDoor{}, Agent: "arke 1.0"}}
}

// setClock is a clock that shows so many ms since 1970.
type setClock int64

func (c setClock) Now() time.Time { return time.UnixMilli(int64(c)) }

func (c setClock) AfterFunc(string, time.Duration, func()) Timer { return nil }

type addressed struct {
	Transport
	addrs []string
}

func (a addressed) Addrs() []string { return a.addrs }

// This test checks that a Hello says what was put in, and leaves out what no
// peer would accept.
func TestHelloSaysWhoWeAre(t *testing.T) {
	addrs := []string{"/ip4/10.0.0.1/tcp/1", "", "/not/utf-8/\xff", string(make([]byte, wire.MaxAddr+1))}
	for range wire.MaxAddrs + 5 {
		addrs = append(addrs, "/ip4/10.0.0.2/tcp/2")
	}
	who := speaker(addrs)
	who.clock, who.cfg.Name = setClock(1_700_000_000_123), "the one upstairs"
	frame, err := who.encodeHello(99, 5, true, wire.Counts{1, 2, 3, 4})
	require.NoError(t, err)
	g, err := decodeHello(frame[wire.FrameOverhead:])
	require.NoError(t, err)
	require.Len(t, g.addrs, wire.MaxAddrs)
	g.addrs = nil
	require.Equal(t, greeting{
		version: 1, instance: instanceID{7}, clock: 99, agent: "arke 1.0", name: "the one upstairs", wall: 1_700_000_000_123,
		session: 5, fresh: true, received: wire.Counts{1, 2, 3, 4},
	}, g)
}

// FuzzHello checks that no Hello makes the negotiation panic, and that what it
// accepts keeps the limits.
func FuzzHello(f *testing.F) {
	frame, _ := speaker([]string{"/ip4/10.0.0.1/tcp/1"}).encodeHello(99, 5, true, wire.Counts{1, 2, 3, 4})
	f.Add(frame[wire.FrameOverhead:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := decodeHello(b)
		if err != nil {
			require.True(t, refusalCode(err) == codeProtocol || refusalCode(err) == codeVersion)
			return
		}
		require.Equal(t, uint32(1), g.version)
		require.LessOrEqual(t, len(g.addrs), wire.MaxAddrs)
		require.LessOrEqual(t, g.clock, uint64(maxLinkTime))
	})
}

// This test checks that the book keeps what was met last, best address first,
// and no names that may mean somebody else tomorrow.
func TestAddressBookKeepsTheLatest(t *testing.T) {
	b := newAddressBook()
	require.True(t, b.meet("p", []string{"/ip4/1.1.1.1/tcp/1", "seed.example:4001"}))
	require.False(t, b.meet("p", []string{"/ip4/1.1.1.1/tcp/1"}))
	require.True(t, b.meet("p", []string{"/ip4/2.2.2.2/tcp/1"}))
	require.Equal(t, []string{"/ip4/2.2.2.2/tcp/1", "/ip4/1.1.1.1/tcp/1"}, b.of("p"))
	require.False(t, b.meet("q", nil))
	require.Nil(t, b.of("q"))
	for i := range maxBook {
		b.meet(peerNumber(i), []string{"/ip4/3.3.3.3/tcp/1"})
	}
	require.Nil(t, b.of("p"))
	latest := b.latest(2)
	require.Len(t, latest, 2)
	require.Equal(t, peerNumber(maxBook-1), latest[0].Peer)
	require.Len(t, b.entries, maxBook)
}

// FuzzRemembered checks that no file of remembered peers does harm.
func FuzzRemembered(f *testing.F) {
	f.Add([]byte(`{"peers":[{"peer":"12D3KooWBtp1AcgweFSArDPbhUczDAnNqyGLLKR1eMhWEzxGLGpr","addrs":["/ip4/1.1.1.1/tcp/1"]}]}`))
	f.Add([]byte(`{"peers":[{"peer":"x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := decodeRemembered(data)
		require.True(t, err == nil || list == nil)
		require.LessOrEqual(t, len(list), maxRemembered)
		for _, c := range list {
			require.NotEmpty(t, c.Peer)
			require.NotEmpty(t, c.Addrs)
			require.LessOrEqual(t, len(c.Addrs), maxCandidateAddrs)
		}
	})
}

// LinkCount is how many links an overlay remembers.
func LinkCount(o *Overlay) int { return len(o.links.sorted()) }
