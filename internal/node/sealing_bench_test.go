// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"cmp"
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// BenchmarkSealedAndOpen measures what sealing adds to a request and its reply from one
// node to another one over loopback, TLS included. Each turn is a round trip of a cluster
// with a key of its own and one of a cluster without, the one or the other first in turn, so
// that a busy machine is as busy for both. It reports the medians, and that of the
// differences.
func BenchmarkSealedAndOpen(b *testing.B) {
	network := newNetwork(b)
	vault, err := security.GenerateClusterFile("vault", rand.Reader)
	require.NoError(b, err)
	keyed := func(c *node.Config) { c.ClusterKeys = map[string][]security.KeyVersion{"vault": vault.Keys} }
	member := start(b, network, keyed)
	caller := start(b, network, keyed, member)
	names := [2]string{"vault", "open"}
	for _, name := range names {
		serve(b, member, name, echo, patterns.Limits{})
		_, err := caller.Request(b.Context(), name, patterns.Message{}, patterns.WaitForMember())
		require.NoError(b, err)
	}
	for _, size := range []struct {
		name  string
		bytes int
	}{{"16B", 16}, {"1KB", 1 << 10}, {"64KB", 64 << 10}} {
		b.Run(size.name, func(b *testing.B) {
			m := patterns.Message{Body: make([]byte, size.bytes)}
			var took [2][]time.Duration
			var more []time.Duration
			for turn := 0; b.Loop(); turn++ {
				for i := range names {
					which := (i + turn) % len(names)
					begin := time.Now()
					if _, err := caller.Request(b.Context(), names[which], m); err != nil {
						b.Fatal(err)
					}
					took[which] = append(took[which], time.Since(begin))
				}
				more = append(more, took[0][turn]-took[1][turn])
			}
			b.ReportMetric(microseconds(median(took[0])), "sealed-µs")
			b.ReportMetric(microseconds(median(took[1])), "open-µs")
			b.ReportMetric(microseconds(median(more)), "more-µs")
		})
	}
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func median[T cmp.Ordered](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}
