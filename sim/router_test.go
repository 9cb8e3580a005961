// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/link"
)

// nearest is what a router should answer: a scan over everybody.
func nearest(all []*actor, key overlay.Key, k int) []peer.ID {
	target := sha256.Sum256(key[:])
	distance := func(p peer.ID) (d [32]byte) {
		d = sha256.Sum256([]byte(p))
		for i := range d {
			d[i] ^= target[i]
		}
		return d
	}
	var ids []peer.ID
	for _, a := range all {
		ids = append(ids, a.Transport.Self())
	}
	slices.SortFunc(ids, func(a, b peer.ID) int {
		da, db := distance(a), distance(b)
		return bytes.Compare(da[:], db[:])
	})
	return ids[:min(k, len(ids))]
}

// join starts so many actors that all connect to the first one at once.
func join(t *testing.T, n *sim.Network, count int) []*actor {
	all := make([]*actor, count)
	for i := range all {
		all[i] = start(t, n, fmt.Sprint("n", i))
		if i > 0 {
			n.Go(all[i].name, func() {
				if err := all[i].connect(all[0]); err != nil {
					t.Error(err)
				}
			})
		}
	}
	return all
}

// agreement is the share of lookups, from every node for some keys, that find
// exactly the closest among all.
func agreement(all []*actor, from []*actor) float64 {
	right, total := 0, 0
	for k := range byte(4) {
		key := overlay.Key{k}
		want := nearest(all, key, 3)
		for _, a := range from {
			ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
			got, _ := a.Router.Closest(ctx, key, 3)
			cancel()
			total++
			if slices.Equal(got, want) {
				right++
			}
		}
	}
	return float64(right) / float64(total)
}

// This test checks that nodes that all joined through one seed at the same
// instant find the same closest nodes within seconds, and again after many of
// them have gone in different ways.
func TestLookupsAgree(t *testing.T) {
	sim.Run(t, sim.Config{}, func(t *testing.T, n *sim.Network) {
		all := join(t, n, 60)
		n.Run(4 * time.Second)
		require.Equal(t, 1.0, agreement(all, all))

		for i := 50; i < 60; i++ {
			switch i % 3 {
			case 0:
				n.Crash(all[i].name)
			case 1:
				n.Silence(all[i].name)
			case 2:
				require.NoError(t, all[i].Transport.Close())
			}
		}
		time.Sleep(30 * time.Second)
		require.Equal(t, 1.0, agreement(all[:50], all[:50]))
	})
}

// This test checks that a lone node answers with itself, and that halves which
// are cut apart each find their own, until a connection joins them again.
func TestLookupsStayWithinAPartition(t *testing.T) {
	sim.Run(t, sim.Config{}, func(t *testing.T, n *sim.Network) {
		all := join(t, n, 40)
		lone := start(t, n, "lone")
		require.Equal(t, 1.0, agreement([]*actor{lone}, []*actor{lone}))
		require.Zero(t, lone.Router.Size())
		n.Run(4 * time.Second)

		var left, right []string
		for i, a := range all {
			if i < 20 {
				left = append(left, a.name)
			} else {
				right = append(right, a.name)
			}
		}
		n.Partition(left, right)
		time.Sleep(time.Minute)
		require.Equal(t, 1.0, agreement(all[:20], all[:20]))
		require.Equal(t, 1.0, agreement(all[20:], all[20:]))

		n.Heal()
		time.Sleep(time.Minute)
		require.Equal(t, 1.0, agreement(all[:20], all[:20]), "nobody has met the others yet")
		require.NoError(t, all[3].connect(all[30]))
		time.Sleep(30 * time.Second)
		require.Equal(t, 1.0, agreement(all, all))
	})
}

// This test checks that a lookup which meets a silent node takes as long as
// its timeout, and that what was found is returned when the caller's patience
// ends before.
func TestLookupReturnsWhatItFound(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		all := join(t, n, 5)
		n.Run(3 * time.Second)
		n.Silence("n4")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		key := overlay.Key{1}
		begin := time.Now()
		got, err := all[1].Router.Closest(ctx, key, 10)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		about(t, time.Second, time.Since(begin))
		require.Equal(t, nearest(all[:4], key, 10), got)
		require.Len(t, all[1].Router.Nearest(key, 10), 5, "not yet noticed")
		time.Sleep(5 * time.Second)
		require.Equal(t, got, all[1].Router.Nearest(key, 10))
	})
}

// This test checks that OnChange tells of peers that come and go.
func TestRouterTellsOfChanges(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		a, b := start(t, n, "a"), start(t, n, "b")
		changes := 0
		a.Router.OnChange(func() { changes++ })
		require.NoError(t, b.connect(a))
		time.Sleep(time.Second)
		require.Equal(t, 1, a.Router.Size())
		n.Crash("b")
		time.Sleep(time.Second)
		require.Zero(t, a.Router.Size())
		n.Close()
		require.Equal(t, 2, changes)
	})
}

// pattern is the byte at each place of a stream.
func pattern(at int) byte { return byte(at*31 ^ at>>8) }

// hurt does something to the link between a and b, or ends it.
func hurt(n *sim.Network, rng *rand.Rand) {
	ab, ba := []string{"a"}, []string{"b"}
	if rng.IntN(2) == 0 {
		ab, ba = ba, ab
	}
	switch rng.IntN(9) {
	case 0:
		n.CutOneWay(ab, ba)
	case 1:
		n.Partition(ab, ba)
	case 2, 3:
		n.Mend(ab, ba)
	case 4:
		n.Clog(ab, ba, rng.IntN(2) == 0)
	case 5:
		n.Pause("b")
	case 6:
		n.Resume("b")
	case 7:
		n.SetLink("a", "b", link.Model{
			Latency: time.Duration(rng.IntN(50)) * time.Millisecond, Jitter: time.Duration(rng.IntN(9)) * time.Millisecond,
			Loss: []uint32{0, 50_000, 600_000}[rng.IntN(3)], Mbps: rng.IntN(3), Queue: 5000,
		})
	case 8:
		n.Heal()
	}
}

// This test checks, for many random histories of a link, that what is read is
// a prefix of what was written, and all of it if the stream ended cleanly; and
// that some of both kinds were among them.
func TestStreamsArePrefixes(t *testing.T) {
	clean, broken := 0, 0
	for seed := range uint64(40) {
		cfg := exact()
		cfg.Seed, cfg.DeadAfter = seed, time.Duration(1+seed%7)*time.Second
		sim.Run(t, cfg, func(t *testing.T, n *sim.Network) {
			_, _, here, there := two(t, n)
			rng := rand.New(rand.NewPCG(seed, 1))
			sent := 0
			n.Go("write", func() { sent = fill(here, rand.New(rand.NewPCG(seed, 2))) })
			n.At(0, "hurt", func() {
				for range 12 {
					time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
					hurt(n, rng)
				}
				n.Calm()
			})
			got, err := io.ReadAll(there)
			for at, b := range got {
				require.Equal(t, pattern(at), b, "byte %d", at)
			}
			time.Sleep(time.Minute)
			require.LessOrEqual(t, len(got), sent)
			if err == nil {
				clean++
				require.Equal(t, sent, len(got))
			} else {
				broken++
				require.False(t, errors.Is(err, io.ErrUnexpectedEOF))
			}
		})
	}
	require.Greater(t, clean, 5)
	require.Greater(t, broken, 5)
}

// fill writes for a while, ends the stream if it still can, and returns how
// many bytes it wrote.
func fill(s overlay.Stream, rng *rand.Rand) (sent int) {
	for range 100 {
		b := make([]byte, 1+rng.IntN(3000))
		for i := range b {
			b[i] = pattern(sent + i)
		}
		if _, err := s.Write(b); err != nil {
			return sent
		}
		sent += len(b)
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
	}
	_ = s.CloseWrite()
	return sent
}
