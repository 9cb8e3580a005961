// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
)

// changing is a transport whose keys change.
type changing interface {
	overlay.Renewer
	KeysChanged() error
}

// This test checks that a connection which an older key has admitted is replaced while
// it carries a stream, without a word to the handlers, and that one whose key nobody
// accepts any more breaks and does not come again.
func TestConnectionsFollowTheKeys(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		random := rand.NewChaCha8([32]byte{1})
		file, err := security.GenerateNetworkFile("sim", random)
		require.NoError(t, err)
		networks := map[string]*security.Network{}
		for _, name := range []string{"a", "b"} {
			networks[name], err = security.NewNetwork(file)
			require.NoError(t, err)
			n.SetAdmission(name, networks[name])
		}
		a, b, here, there := two(t, n)
		keysOf := map[string]changing{"a": a.Transport.(changing), "b": b.Transport.(changing)}
		bring := func(name string, keys []security.KeyVersion) {
			require.NoError(t, networks[name].SetKeys(keys, time.Now()))
			require.NoError(t, keysOf[name].KeysChanged())
		}
		require.False(t, keysOf["a"].Retire(b.Transport.Self()), "the newest key has admitted it")

		both, err := security.RotateKeys(file.Keys, time.Now(), time.Hour, random)
		require.NoError(t, err)
		bring("a", both)
		bring("b", both)
		require.True(t, keysOf["a"].Retire(b.Transport.Self()))
		begin := time.Now()
		again, err := a.Transport.Open(context.Background(), b.Transport.Self(), nil)
		require.NoError(t, err)
		require.NotZero(t, time.Since(begin), "the old connection takes no stream")
		say(t, again, "x")
		<-b.streams
		say(t, here, "old")
		hear(t, there, "old")
		keysOf["a"].Settle(b.Transport.Self(), true)
		_, err = there.Read(make([]byte, 1))
		require.Error(t, err, "it was replaced")
		require.False(t, keysOf["a"].Retire(b.Transport.Self()))
		require.Equal(t, []string{"up"}, a.seen())

		bring("a", both[1:])
		bring("b", both[1:])
		_, err = again.Write([]byte("y"))
		require.NoError(t, err, "a key that counts has admitted it")
		third, err := security.RotateKeys(both, time.Now(), 0, random)
		require.NoError(t, err)
		bring("b", third)
		time.Sleep(time.Second)
		require.Equal(t, []string{"up", "down"}, a.seen())
		require.ErrorIs(t, a.connect(b), sim.ErrRefused)
	})
}
