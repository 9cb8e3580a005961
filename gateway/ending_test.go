// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/sim"
)

func TestAGatewayThatDiesReplays(t *testing.T) {
	// This test kills a gateway with several crossings while requests are on their way
	// through it, many times: the trace is the same each time, whatever ends at once.
	sim.Replay(t, sim.Config{Seed: 3, Link: wan}, 25, func(t *testing.T, n *sim.Network) {
		eu, us := simnet.New(t, n, "eu"), simnet.New(t, n, "us")
		eu.Start("eu-0")
		far := eu.Start("eu-1")
		us.Start("us-0")
		cfg := gateway.Config{Networks: inBoth(eu, us, "g")}
		names := []string{"geo", "geo2", "geo3"}
		for _, name := range names {
			simServe(t, far, name, says("eu"))
			cfg.Crossings = append(cfg.Crossings, fromEU(name, ""))
		}
		g := started(t, cfg)
		caller := us.Start("us-1")
		time.Sleep(15 * time.Second)
		for i := range 60 {
			n.Go("request "+strconv.Itoa(i), func() {
				_, _, _ = simAsk(caller, names[i%len(names)])
			})
		}
		time.Sleep(50 * time.Millisecond)
		crashes(n, "g")
		require.NoError(t, g.Close())
		time.Sleep(10 * time.Second)
	})
}
