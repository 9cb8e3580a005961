// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// rotation is a file before and after a rotation at noon with an hour's overlap.
func rotation(t *testing.T) (before, after security.NetworkFile) {
	before = newFile(t, "net")
	before.Keys = versions(1)
	after = before
	after.Keys = versions(1, 2)
	after.Keys[0].NotAfter = noon.Add(time.Hour)
	after.Keys[1].NotBefore = noon
	return before, after
}

// with is a binding to be sealed with that key.
func with(id security.KeyID) security.Binding {
	return security.Binding{Sender: "caller", Key: id}
}

// TestAnOldKeyIsRefusedEverywhereAfterItsTime proves that what a key that has ended
// has made is refused by everything that checks: admissions, greetings, vouches,
// payloads, also those whose subkeys are still known, and tunnels.
func TestAnOldKeyIsRefusedEverywhereAfterItsTime(t *testing.T) {
	before, after := rotation(t)
	old, n := newNetwork(t, before), newNetwork(t, after)
	p := newPeer(t, "old")
	hello := []byte("hello")
	greeting := old.Greet(hello)
	vouch := old.Vouch(1, "x", 1, nil)
	theirs, ours := old.Cluster("geo"), n.Cluster("geo")
	sealed := theirs.Seal(seeded("seal"), newBinding(t), nil, []byte("plain"))
	head, salt := theirs.NewStreamHead(seeded("head")), security.NewStreamSalt(seeded("salt"))
	check := func() map[string]error {
		_, ok := n.CheckGreeting(greeting[:], hello)
		_, opened := ours.Open(newBinding(t), sealed)
		_, stream := ours.Stream(security.StreamBinding{Opener: p}, head, salt, false)
		errs := map[string]error{
			"admission": n.CheckAdmission(p, old.Admit(p)),
			"vouch":     n.CheckVouch(vouch, 1, "x", 1, nil),
			"payload":   opened, "tunnel": stream, "greeting": nil,
		}
		if !ok {
			errs["greeting"] = security.ErrNotAdmitted
		}
		return errs
	}
	end := noon.Add(time.Hour + security.ClockTolerance)
	for _, at := range []time.Time{noon, noon.Add(time.Hour), end.Add(-time.Second)} {
		next, _ := n.Advance(at)
		require.True(t, next.After(at))
		for what, err := range check() {
			require.NoError(t, err, what)
		}
	}
	next, changed := n.Advance(end)
	require.True(t, next.IsZero())
	require.True(t, changed)
	for what, err := range check() {
		require.Error(t, err, what)
	}
	accepted, seals, lapsed := n.Versions()
	require.Equal(t, []uint32{2}, accepted)
	require.Equal(t, uint32(2), seals)
	require.False(t, lapsed)
	require.False(t, ours.Opens(theirs.KeyID()))
}

// TestKeysChangeInUse proves that a network and the clusters whose keys are derived
// from its follow a new file at once, and an old tunnel goes on.
func TestKeysChangeInUse(t *testing.T) {
	before, after := rotation(t)
	n := newNetwork(t, before)
	c, other := n.Cluster("geo"), newNetwork(t, before).Cluster("geo")
	old := c.KeyID()
	head, salt := c.NewStreamHead(seeded("head")), security.NewStreamSalt(seeded("salt"))
	opener, err := c.Stream(security.StreamBinding{Tunnel: 1}, head, salt, true)
	require.NoError(t, err)
	member, err := c.Stream(security.StreamBinding{Tunnel: 1}, head, salt, false)
	require.NoError(t, err)

	require.Len(t, c.Epochs(noon), 1)
	require.NoError(t, n.SetKeys(after.Keys, noon))
	require.Len(t, c.Epochs(noon), 2)
	require.Equal(t, uint32(2), c.Epochs(noon)[0].KeyVersion())
	require.Equal(t, c.Epochs(noon)[0].KeyID(), c.KeyID())
	require.NotEqual(t, old, c.KeyID())

	// Whoever has not heard of the new key yet opens what is sealed with the one that
	// it was found under, and nothing else.
	_, err = other.Open(newBinding(t), c.Seal(seeded("a"), newBinding(t), nil, nil))
	require.ErrorIs(t, err, security.ErrUnauthorized)
	_, err = other.Open(with(old), c.Seal(seeded("a"), with(old), nil, nil))
	require.NoError(t, err)
	_, err = other.Stream(security.StreamBinding{}, c.NewStreamHead(seeded("head")), salt, false)
	require.NoError(t, err)

	n.Advance(noon.Add(2 * time.Hour))
	require.Len(t, c.Epochs(noon), 1)
	_, err = other.Open(with(old), c.Seal(seeded("a"), with(old), nil, nil))
	require.ErrorIs(t, err, security.ErrUnauthorized, "the old key seals nothing any more")
	plain, err := member.Open(opener.Seal(nil, []byte("chunk"), 0), 0)
	require.NoError(t, err)
	require.Equal(t, "chunk", string(plain))

	require.ErrorIs(t, n.SetKeys(nil, noon), security.ErrBadFile)
	_, err = c.SetKeys(after.Keys, noon)
	require.ErrorIs(t, err, security.ErrBadFile, "derived keys follow the network's only")
}

// TestExplicitKeysChangeInUse proves the same for the keys of a cluster of its own.
func TestExplicitKeysChangeInUse(t *testing.T) {
	_, after := rotation(t)
	c := security.NewCluster("geo", versions(1))
	next, changed := c.Advance(noon)
	require.True(t, next.IsZero())
	require.False(t, changed)
	changed, err := c.SetKeys(after.Keys, noon.Add(-time.Hour))
	require.NoError(t, err)
	require.False(t, changed, "the new key does not count yet")
	next, changed = c.Advance(noon.Add(-security.ClockTolerance))
	require.True(t, changed)
	require.Equal(t, noon, next.UTC())
	require.Equal(t, uint32(2), c.Epochs(noon)[0].KeyVersion(), "others may seal with it already")
	require.Equal(t, c.Epochs(noon)[1].KeyID(), c.KeyID(), "this node does not yet")
	_, changed = c.Advance(noon)
	require.True(t, changed)
	require.Equal(t, c.Epochs(noon)[0].KeyID(), c.KeyID())
	_, err = c.SetKeys(nil, noon)
	require.ErrorIs(t, err, security.ErrBadFile)
}

// TestAWrongClockKeepsNobodyOut proves that two nodes with the same file admit each
// other, however far the clock of one is off.
func TestAWrongClockKeepsNobodyOut(t *testing.T) {
	_, file := rotation(t)
	p := newPeer(t, "p")
	for _, off := range []time.Duration{-50 * 365 * 24 * time.Hour, -time.Hour, 0, 3 * time.Hour, 50 * 365 * 24 * time.Hour} {
		for _, at := range []time.Time{noon.Add(-24 * time.Hour), noon.Add(time.Minute), noon.Add(24 * time.Hour)} {
			right, wrong := newNetwork(t, file), newNetwork(t, file)
			right.Advance(at)
			wrong.Advance(at.Add(off))
			require.NoError(t, right.CheckAdmission(p, wrong.Admit(p)), "%v at %v", off, at)
			require.NoError(t, wrong.CheckAdmission(p, right.Admit(p)), "%v at %v", off, at)
			for _, way := range [][2]*security.Network{{right, wrong}, {wrong, right}} {
				greeting := way[0].Greet([]byte("hello"))
				_, ok := way[1].CheckGreeting(greeting[:], []byte("hello"))
				require.True(t, ok, "%v at %v", off, at)
			}
		}
	}
}
