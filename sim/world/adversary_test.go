// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/world"
)

const wolf = `
name: wolf
duration: 8s
nodes:
  - {name: c, count: 2}
  - {name: by, count: 3}
  - {name: wolf, near: geo}
clusters:
  - {name: geo, members: wolf}
workload:
  - {name: asked, from: c, to: geo, rate: 100, idempotent: true}
timeline:
  - {at: 1s, do: attack, nodes: wolf, mode: hoard-leases, on: geo}
  - {at: 2s, do: attack, nodes: wolf, mode: withhold, on: geo}
  - {at: 2s, do: break, between: [wolf, "*"], every: 700ms, for: 5s}
assert:
  - lost == 0
  - unanswered == 0
sometimes:
  - acts > 100
  - adversaries == 1
  - breaks > 3
`

// This test checks that an adversary's node works on as any other one while frames
// are invented and kept back in its sessions, and these change their connections:
// what its member is asked is answered.
func TestAdversarysSessionsStayWhole(t *testing.T) {
	v := world.Play(t, "wolf.yaml", []byte(wolf), nil)
	require.True(t, v.OK)
}
