// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

func streamBinding(t testing.TB) security.StreamBinding {
	t.Helper()
	return security.StreamBinding{Opener: newPeer(t, "caller"), OpenerIncarnation: 1, Member: 2, MemberIncarnation: 3, Tunnel: 4}
}

// streamPair returns both ends of a sealed tunnel.
func streamPair(t testing.TB) (opener, member *security.Stream) {
	t.Helper()
	c := security.NewCluster("geo", versions(1))
	head, salt := c.NewStreamHead(seeded("head")), security.NewStreamSalt(seeded("salt"))
	opener, err := c.Stream(streamBinding(t), head, salt, true)
	require.NoError(t, err)
	member, err = security.NewCluster("geo", versions(1)).Stream(streamBinding(t), head, salt, false)
	require.NoError(t, err)
	return opener, member
}

// TestStreamCarriesChunksInBothDirections proves the round trip, for empty
// chunks too, and that the two directions are apart: a chunk does not open
// where it came from.
func TestStreamCarriesChunksInBothDirections(t *testing.T) {
	opener, member := streamPair(t)
	for i := range 100 {
		plain := bytes.Repeat([]byte{byte(i)}, i*i)
		sealed := opener.Seal([]byte("head"), plain, byte(i))
		require.Len(t, sealed, 4+len(plain)+security.StreamOverhead)
		got, err := member.Open(sealed[4:], byte(i))
		require.NoError(t, err)
		require.True(t, bytes.Equal(plain, got))
		got, err = opener.Open(member.Seal(nil, plain, 0), 0)
		require.NoError(t, err)
		require.True(t, bytes.Equal(plain, got))
	}
	own := opener.Seal(nil, []byte("x"), 0)
	_, err := opener.Open(own, 0)
	require.ErrorIs(t, err, security.ErrUnauthorized)
}

// TestStreamRefusesWhatIsNotTheNextChunk proves that a chunk which is repeated,
// left out, moved, changed in a bit, or given other data does not open.
func TestStreamRefusesWhatIsNotTheNextChunk(t *testing.T) {
	seal := func(t *testing.T) (member *security.Stream, chunks [3][]byte) {
		opener, member := streamPair(t)
		for i := range chunks {
			chunks[i] = opener.Seal(nil, []byte("chunk"), 7)
		}
		return member, chunks
	}
	for name, order := range map[string][]int{"repeated": {0, 0}, "left out": {1}, "moved": {0, 2}} {
		t.Run(name, func(t *testing.T) {
			member, chunks := seal(t)
			for n, i := range order {
				_, err := member.Open(bytes.Clone(chunks[i]), 7)
				require.Equal(t, n < len(order)-1, err == nil)
			}
		})
	}
	t.Run("other data", func(t *testing.T) {
		member, chunks := seal(t)
		_, err := member.Open(chunks[0], 6)
		require.ErrorIs(t, err, security.ErrUnauthorized)
	})
	t.Run("changed", func(t *testing.T) {
		_, chunks := seal(t)
		forEachChange(chunks[0], func(changed []byte) {
			_, member := streamPair(t)
			_, err := member.Open(changed, 7)
			require.ErrorIs(t, err, security.ErrUnauthorized)
		})
	})
}

// TestStreamIsBoundToItsTunnel proves that each field of the binding, both
// salts, the name and the key matter.
func TestStreamIsBoundToItsTunnel(t *testing.T) {
	c := security.NewCluster("geo", versions(1, 2))
	head, salt := c.NewStreamHead(seeded("head")), security.NewStreamSalt(seeded("salt"))
	open := func(c *security.Cluster, head, salt []byte, change func(*security.StreamBinding)) error {
		geo := security.NewCluster("geo", versions(1, 2))
		opener, err := geo.Stream(streamBinding(t), geo.NewStreamHead(seeded("head")), security.NewStreamSalt(seeded("salt")), true)
		require.NoError(t, err)
		b := streamBinding(t)
		change(&b)
		member, err := c.Stream(b, head, salt, false)
		require.NoError(t, err)
		_, err = member.Open(opener.Seal(nil, []byte("x"), 0), 0)
		return err
	}
	same := func(*security.StreamBinding) {}
	require.NoError(t, open(c, head, salt, same))
	other := newPeer(t, "other")
	for name, change := range map[string]func(*security.StreamBinding){
		"opener":             func(b *security.StreamBinding) { b.Opener = other },
		"opener incarnation": func(b *security.StreamBinding) { b.OpenerIncarnation++ },
		"member":             func(b *security.StreamBinding) { b.Member++ },
		"member incarnation": func(b *security.StreamBinding) { b.MemberIncarnation++ },
		"tunnel":             func(b *security.StreamBinding) { b.Tunnel++ },
	} {
		require.ErrorIs(t, open(c, head, salt, change), security.ErrUnauthorized, name)
	}
	otherHead := bytes.Clone(head)
	otherHead[10] ^= 1
	require.ErrorIs(t, open(c, otherHead, salt, same), security.ErrUnauthorized)
	require.ErrorIs(t, open(c, head, security.NewStreamSalt(seeded("other")), same), security.ErrUnauthorized)
	geo2 := security.NewCluster("geo2", versions(1, 2))
	require.ErrorIs(t, open(geo2, geo2.NewStreamHead(seeded("head")), salt, same), security.ErrUnauthorized)
}

// TestStreamNeedsAnAcceptedKey proves that heads and salts that are none, and
// versions that are not accepted, are refused, and that the newest key is used.
func TestStreamNeedsAnAcceptedKey(t *testing.T) {
	old, both, next := security.NewCluster("geo", versions(1)), security.NewCluster("geo", versions(1, 2)), security.NewCluster("geo", versions(2, 3))
	salt := security.NewStreamSalt(seeded("salt"))
	stream := func(c *security.Cluster, head, salt []byte) error {
		_, err := c.Stream(streamBinding(t), head, salt, true)
		return err
	}
	require.NoError(t, stream(both, old.NewStreamHead(seeded("x")), salt))
	require.NoError(t, stream(next, both.NewStreamHead(seeded("x")), salt))
	require.ErrorIs(t, stream(next, old.NewStreamHead(seeded("x")), salt), security.ErrUnauthorized)
	head := old.NewStreamHead(seeded("x"))
	for _, bad := range [][]byte{nil, head[1:], append(bytes.Clone(head), 0), append([]byte{9}, head[1:]...)} {
		require.ErrorIs(t, stream(old, bad, salt), security.ErrUnauthorized)
	}
	require.ErrorIs(t, stream(old, head, salt[1:]), security.ErrUnauthorized)
	require.Panics(t, func() { security.NewCluster("geo", nil).NewStreamHead(seeded("x")) })
	require.Panics(t, func() { security.NewStreamSalt(brokenRand{}) })
}

// TestStreamShowsNoKey proves that printing one shows nothing of its keys.
func TestStreamShowsNoKey(t *testing.T) {
	c := security.NewCluster("geo", []security.KeyVersion{{Version: 1, Key: secret()}})
	s, err := c.Stream(streamBinding(t), c.NewStreamHead(seeded("x")), security.NewStreamSalt(seeded("y")), true)
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		require.Less(t, len(fmt.Sprintf(verb, s)), 600, "an AES key schedule has more")
		requireNoSecret(t, verb, fmt.Sprintf(verb, s))
	}
}

// TestStreamsCostNoAllocation proves the cost of the hot path.
func TestStreamsCostNoAllocation(t *testing.T) {
	opener, member := streamPair(t)
	plain, buf := make([]byte, 1000), make([]byte, 0, 2000)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		buf = opener.Seal(buf[:0], plain, 1)
		if _, err := member.Open(buf, 1); err != nil {
			panic(err)
		}
	}))
}

// FuzzStreamOpen proves that no bytes make Open panic, and that none but the
// honest ones open.
func FuzzStreamOpen(f *testing.F) {
	opener, _ := streamPair(f)
	honest := opener.Seal(nil, []byte("payload"), 1)
	f.Add(honest, byte(1))
	f.Add([]byte{}, byte(0))
	f.Fuzz(func(t *testing.T, sealed []byte, data byte) {
		_, member := streamPair(t)
		if _, err := member.Open(bytes.Clone(sealed), data); err == nil {
			require.Equal(t, honest, sealed)
			require.EqualValues(t, 1, data)
		}
	})
}
