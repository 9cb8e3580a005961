// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// TestJoinedPathsAreFoundAgain proves that each of several digests leads to what
// stands for all of them, by its audit path, and by no other index, count, digest or
// path.
func TestJoinedPathsAreFoundAgain(t *testing.T) {
	for count := 1; count <= 33; count++ {
		ds := make([]security.PathDigest, count)
		for i := range ds {
			ds[i] = security.PathNode{Peer: "p", Run: uint32(i)}.Digest(nil)
		}
		want := security.JoinPaths(ds)
		for i, d := range ds {
			audit := security.AuditPath(ds, i)
			require.LessOrEqual(t, len(audit), 6)
			got, ok := security.JoinPath(d, i, count, audit)
			require.True(t, ok)
			require.Equal(t, want, got)
			for _, wrong := range []func() (security.PathDigest, bool){
				func() (security.PathDigest, bool) { return security.JoinPath(d, i+1, count, audit) },
				func() (security.PathDigest, bool) { return security.JoinPath(d, i, count+40, audit) },
				func() (security.PathDigest, bool) { return security.JoinPath(d, -1, count, audit) },
				func() (security.PathDigest, bool) {
					return security.JoinPath(d, i, count, append(audit, security.PathDigest{}))
				},
				func() (security.PathDigest, bool) { return security.JoinPath(security.PathDigest{1}, i, count, audit) },
			} {
				got, ok := wrong()
				require.False(t, ok && got == want)
			}
		}
	}
}

// TestWhatAPublisherSignsIsGoodForNothingElse proves that a signature holds for each
// field of what was signed, for one kind of statement, and for one publisher.
func TestWhatAPublisherSignsIsGoodForNothingElse(t *testing.T) {
	key, other := newNodeKey(t, "node"), newNodeKey(t, "other")
	path := security.Path{
		Network: security.NetworkID{1}, Publisher: key.PeerID(), Incarnation: 2, Session: 3, Serial: 4, Floor: 5, Group: "news",
		Nodes: security.PathDigest{6},
	}
	signature := key.SignPath(path)
	require.NoError(t, security.VerifyPath(path, signature))
	for _, change := range []func(*security.Path){
		func(p *security.Path) { p.Network[0]++ },
		func(p *security.Path) { p.Publisher = other.PeerID() },
		func(p *security.Path) { p.Publisher = "no key" },
		func(p *security.Path) { p.Incarnation++ },
		func(p *security.Path) { p.Session++ },
		func(p *security.Path) { p.Serial++ },
		func(p *security.Path) { p.Floor++ },
		func(p *security.Path) { p.Group = "new" },
		func(p *security.Path) { p.Nodes[0]++ },
		func(p *security.Path) { p.Certificate[0]++ },
	} {
		changed := path
		change(&changed)
		require.ErrorIs(t, security.VerifyPath(changed, signature), security.ErrBadSignature)
	}

	root := security.RootForwarder{
		Network: security.NetworkID{1}, Publisher: key.PeerID(), Incarnation: 2, Serial: 4, Floor: 5, Forwarder: "f", Rank: 6,
	}
	signature = key.SignRootForwarder(root)
	require.NoError(t, security.VerifyRootForwarder(root, signature))
	for _, change := range []func(*security.RootForwarder){
		func(f *security.RootForwarder) { f.Network[0]++ },
		func(f *security.RootForwarder) { f.Publisher = other.PeerID() },
		func(f *security.RootForwarder) { f.Incarnation++ },
		func(f *security.RootForwarder) { f.Serial++ },
		func(f *security.RootForwarder) { f.Floor++ },
		func(f *security.RootForwarder) { f.Forwarder = "g" },
		func(f *security.RootForwarder) { f.Rank++ },
	} {
		changed := root
		change(&changed)
		require.ErrorIs(t, security.VerifyRootForwarder(changed, signature), security.ErrBadSignature)
	}
}

// TestPublicationsAreSignedWhole proves that nothing of a message that its publisher
// has signed can be changed, and that nobody else signs for it.
func TestPublicationsAreSignedWhole(t *testing.T) {
	key, other := newNodeKey(t, "node"), newNodeKey(t, "other")
	p := security.Publication{
		Network: security.NetworkID{1}, Publisher: key.PeerID(), Incarnation: 2, Session: 3, Serial: 4, Topic: "news.a", Tail: []byte{0, 0, 1},
	}
	signature := key.SignPublication(p)
	require.NoError(t, security.VerifyPublication(p, signature))
	require.ErrorIs(t, security.VerifyPublication(p, other.SignPublication(p)), security.ErrBadSignature)
	for _, change := range []func(*security.Publication){
		func(p *security.Publication) { p.Network[0]++ },
		func(p *security.Publication) { p.Publisher = other.PeerID() },
		func(p *security.Publication) { p.Incarnation++ },
		func(p *security.Publication) { p.Session++ },
		func(p *security.Publication) { p.Serial++ },
		func(p *security.Publication) { p.Topic = "news.b" },
		func(p *security.Publication) { p.Tail = []byte{0, 0, 2} },
		func(p *security.Publication) { p.Tail = p.Tail[:2] },
	} {
		changed := p
		change(&changed)
		require.ErrorIs(t, security.VerifyPublication(changed, signature), security.ErrBadSignature)
	}
}

// BenchmarkPublication measures what a signature on each message costs its
// publisher, and each that asks for it.
func BenchmarkPublication(b *testing.B) {
	key := newNodeKey(b, "node")
	p := security.Publication{Publisher: key.PeerID(), Topic: "news.a", Tail: make([]byte, 1000)}
	signature := key.SignPublication(p)
	b.Run("sign", func(b *testing.B) {
		for b.Loop() {
			key.SignPublication(p)
		}
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if security.VerifyPublication(p, signature) != nil {
				b.Fatal("not good")
			}
		}
	})
}

// BenchmarkPath measures what a change of a tree costs its publisher, and each that
// is told.
func BenchmarkPath(b *testing.B) {
	key := newNodeKey(b, "node")
	path := security.Path{Publisher: key.PeerID(), Group: "news"}
	signature := key.SignPath(path)
	b.Run("sign", func(b *testing.B) {
		for b.Loop() {
			key.SignPath(path)
		}
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if security.VerifyPath(path, signature) != nil {
				b.Fatal("not good")
			}
		}
	})
}
