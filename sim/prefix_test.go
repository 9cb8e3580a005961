// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/link"
)

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
