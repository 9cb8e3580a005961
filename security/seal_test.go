// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

func newBinding(t testing.TB) security.Binding {
	t.Helper()
	return security.Binding{
		Sender: newPeer(t, "caller"), SenderIncarnation: 1, Member: 2, MemberIncarnation: 3, RequestID: 4,
	}
}

// TestSealedPayloadOpensForItsBinding proves the round trip, for empty payloads
// too, and that what was in dst stays.
func TestSealedPayloadOpensForItsBinding(t *testing.T) {
	b := newBinding(t)
	caller := security.NewCluster("geo", versions(1))
	member := security.NewCluster("geo", versions(1))
	for _, plain := range [][]byte{{}, []byte("x"), bytes.Repeat([]byte("long"), 50_000)} {
		sealed := caller.Seal(seeded("salt"), b, []byte("before"), plain)
		require.Equal(t, "before", string(sealed[:6]))
		sealed = sealed[6:]
		require.Len(t, sealed, len(plain)+security.SealOverhead)
		got, err := member.Open(b, sealed)
		require.NoError(t, err)
		require.True(t, bytes.Equal(plain, got))
	}
}

// TestSealedPayloadIsBoundToItsRequest proves that a payload opens for nothing
// but the request, member and direction it was made for: each field of the
// binding is changed once.
func TestSealedPayloadIsBoundToItsRequest(t *testing.T) {
	c := security.NewCluster("geo", versions(1))
	other := newPeer(t, "other")
	for _, reply := range []bool{false, true} {
		b := newBinding(t)
		b.Reply = reply
		sealed := c.Seal(seeded("salt"), b, nil, []byte("payload"))
		for field, change := range map[string]func(*security.Binding){
			"sender":             func(b *security.Binding) { b.Sender = other },
			"no sender":          func(b *security.Binding) { b.Sender = "" },
			"sender incarnation": func(b *security.Binding) { b.SenderIncarnation++ },
			"member":             func(b *security.Binding) { b.Member++ },
			"member incarnation": func(b *security.Binding) { b.MemberIncarnation++ },
			"request id":         func(b *security.Binding) { b.RequestID++ },
			"direction":          func(b *security.Binding) { b.Reply = !b.Reply },
			"pattern":            func(b *security.Binding) { b.Pattern++ },
			"swapped fields": func(b *security.Binding) {
				b.Member, b.MemberIncarnation = b.MemberIncarnation, b.Member
			},
		} {
			t.Run(field, func(t *testing.T) {
				changed := b
				change(&changed)
				_, err := c.Open(changed, sealed)
				require.ErrorIs(t, err, security.ErrUnauthorized)
			})
		}
		_, err := c.Open(b, sealed)
		require.NoError(t, err)
	}
}

// TestEveryByteOfASealedPayloadIsProtected proves that no bit can be changed
// and no byte removed or added, in the head as in the ciphertext.
func TestEveryByteOfASealedPayloadIsProtected(t *testing.T) {
	b := newBinding(t)
	c := security.NewCluster("geo", versions(1, 2))
	forEachChange(c.Seal(seeded("salt"), b, nil, []byte("payload")), func(changed []byte) {
		_, err := c.Open(b, changed)
		require.ErrorIs(t, err, security.ErrUnauthorized)
	})
}

// forEachChange calls f with every variant of b that differs in one bit, is cut
// short, or is one byte longer.
func forEachChange(b []byte, f func(changed []byte)) {
	for i := range b {
		for bit := range 8 {
			changed := bytes.Clone(b)
			changed[i] ^= 1 << bit
			f(changed)
		}
		f(b[:i])
		f(b[i+1:])
	}
	f(append(bytes.Clone(b), 0))
	f(append([]byte{0}, b...))
	f(nil)
}

// TestSealedPayloadNeedsTheClusterKey proves who can't open: another key,
// another cluster with the same key, and a node of the network that lacks an
// explicit key.
func TestSealedPayloadNeedsTheClusterKey(t *testing.T) {
	b := newBinding(t)
	sealed := security.NewCluster("geo", versions(1)).Seal(seeded("salt"), b, nil, []byte("payload"))
	for name, c := range map[string]*security.Cluster{
		"another key, same version": security.NewCluster("geo", []security.KeyVersion{{Version: 1, Key: newKey("x")}}),
		"same key, another version": security.NewCluster("geo", []security.KeyVersion{{Version: 2, Key: versions(1)[0].Key}}),
		"another cluster":           security.NewCluster("geo2", versions(1)),
		"derived from the network":  newNetwork(t, newFile(t, "net")).Cluster("geo"),
		"no key":                    security.NewCluster("geo", nil),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Open(b, sealed)
			require.ErrorIs(t, err, security.ErrUnauthorized)
		})
	}
}

// TestKeysRotateUnderSealedTraffic proves that the newest key seals, that the
// one before is still accepted, and that the one before that is not.
func TestKeysRotateUnderSealedTraffic(t *testing.T) {
	b := newBinding(t)
	seal := func(v ...uint32) []byte {
		return security.NewCluster("geo", versions(v...)).Seal(seeded("salt"), b, nil, []byte("payload"))
	}
	open := func(sealed []byte, v ...uint32) error {
		_, err := security.NewCluster("geo", versions(v...)).Open(b, sealed)
		return err
	}
	require.NoError(t, open(seal(1), 1, 2), "a caller without the new key")
	require.NoError(t, open(seal(1, 2), 2), "a caller seals with the newest")
	require.NoError(t, open(seal(2, 1), 2), "whatever the order of the list")
	require.ErrorIs(t, open(seal(1, 2), 1), security.ErrUnauthorized)
	require.NoError(t, open(seal(1, 2), 2, 3))
	require.ErrorIs(t, open(seal(1), 1, 2, 3), security.ErrUnauthorized, "only two versions are accepted")
}

// TestSealedPayloadsDifferEachTime proves that equal requests can't be seen to
// be equal, and that no pair of salt and counter, which make the nonce, occurs
// twice: neither for one sender, nor over the change of the salt, nor between
// senders.
func TestSealedPayloadsDifferEachTime(t *testing.T) {
	c, rand, b := security.NewCluster("geo", versions(1)), seeded("salt"), newBinding(t)
	heads, ciphertexts, salts := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for i := range 5000 {
		b.Reply = i%5 == 0
		b.SenderIncarnation = uint64(i % 3)
		sealed := c.Seal(rand, b, nil, []byte("payload"))
		got, err := c.Open(b, sealed)
		require.NoError(t, err)
		require.Equal(t, "payload", string(got))
		salts[string(sealed[9:33])], heads[string(sealed[9:41])], ciphertexts[string(sealed[41:])] = true, true, true
	}
	require.Len(t, heads, 5000)
	require.Len(t, ciphertexts, 5000)
	require.Greater(t, len(salts), 6)
}

// TestSealingIsSafeFromManyGoroutines proves that concurrent senders never
// share a nonce, with more parties than the cache holds.
func TestSealingIsSafeFromManyGoroutines(t *testing.T) {
	c := security.NewCluster("geo", versions(1))
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		heads = make(map[string]bool)
	)
	for g := range 8 {
		rand, b := seeded("salt"+string(rune('0'+g))), newBinding(t)
		wg.Go(func() {
			for i := range 500 {
				b.SenderIncarnation = uint64(i % 300 * (g % 3))
				sealed := c.Seal(rand, b, nil, nil)
				if _, err := c.Open(b, sealed); err != nil {
					t.Error(err)
				}
				mu.Lock()
				heads[string(sealed[9:41])] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(t, heads, 4000)
}

type brokenRand struct{}

func (brokenRand) Read([]byte) (int, error) { return 0, errors.New("broken") }

// TestNothingIsSealedWithoutRandomness proves that a failing source of
// randomness, or a missing key, can't lead to a weak seal.
func TestNothingIsSealedWithoutRandomness(t *testing.T) {
	c, b := security.NewCluster("geo", versions(1)), newBinding(t)
	require.Panics(t, func() { c.Seal(brokenRand{}, b, nil, nil) })
	require.Panics(t, func() { c.Epochs(noon)[0].SealRecord(brokenRand{}, nil) })
	require.Panics(t, func() { security.NewCluster("geo", nil).Seal(seeded("salt"), b, nil, nil) })
	_, err := security.GenerateNetworkFile("net", brokenRand{})
	require.Error(t, err)
	_, err = security.GenerateNodeKey(brokenRand{})
	require.Error(t, err)
}

// FuzzOpen proves that no bytes make Open panic, and that none but the honest
// ones open.
func FuzzOpen(f *testing.F) {
	c := security.NewCluster("geo", versions(1, 2))
	b := security.Binding{Sender: peer.ID("peer"), Member: 1, RequestID: 2}
	honest := c.Seal(seeded("salt"), b, nil, []byte("payload"))
	f.Add(honest)
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if _, err := c.Open(b, sealed); err == nil {
			require.Equal(t, honest, sealed)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	c, rand, binding := security.NewCluster("geo", versions(1)), seeded("salt"), newBinding(b)
	plain := make([]byte, 1<<10)
	sealed := c.Seal(rand, binding, nil, plain)
	b.Run("seal", func(b *testing.B) {
		b.ReportAllocs()
		dst := make([]byte, 0, 2048)
		for b.Loop() {
			dst = c.Seal(rand, binding, dst[:0], plain)
		}
	})
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Open(binding, sealed); err != nil {
				b.Fatal(err)
			}
		}
	})
}
