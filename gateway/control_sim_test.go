// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/sim"
)

// This test counts what goes over the border while nothing is asked: a gateway watches
// each cluster that it lends, which costs little more than the links do, however
// many there are.
func TestALentClusterCostsFewBytesAcrossTheBorder(t *testing.T) {
	const rest = time.Minute
	for _, clusters := range []int{10, 100, 1000} {
		t.Run(fmt.Sprint(clusters), func(t *testing.T) {
			sim.Run(t, sim.Config{Seed: 1, Link: wan}, func(t *testing.T, n *sim.Network) {
				eu, us := simnet.New(t, n, "eu"), simnet.New(t, n, "us")
				for i := range 4 {
					eu.Start(fmt.Sprintf("eu-%d", i))
					us.Start(fmt.Sprintf("us-%d", i))
				}
				member := eu.Start("eu-member")
				var lent []gateway.Crossing
				for i := range clusters {
					name := fmt.Sprintf("geo.%d", i)
					simServe(t, member, name, says("eu"))
					lent = append(lent, fromEU(name, ""))
				}
				g := started(t, gateway.Config{Networks: inBoth(eu, us, "g"), Crossings: lent})
				time.Sleep(time.Minute)
				for _, c := range g.Status().Crossings {
					require.True(t, c.Lent, c.Cluster)
				}
				across := func() (sum uint64) {
					s := g.Node("eu").Status()
					sum = s.ReceivedBytes
					for _, sent := range s.SentBytes {
						sum += sent
					}
					return sum
				}
				before := across()
				time.Sleep(rest)
				rate := float64(across()-before) / rest.Seconds()
				t.Logf("%d clusters: %.0f bytes of control a second across the border, both ways", clusters, rate)
				require.Less(t, rate, 1500.0)
			})
		})
	}
}
