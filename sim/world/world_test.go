// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// till is a service of somebody's own: it remembers what it took.
func till(taken *atomic.Int64) patterns.Handler {
	return patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
		time.Sleep(2 * time.Millisecond)
		taken.Add(1)
		return patterns.Message{Body: []byte("thank you")}, nil
	})
}

const shop = `
name: shop
seed: 3
duration: 6s
nodes:
  - {name: till, count: 3}
  - {name: customer, count: 2}
clusters:
  - {name: pay, members: till, handler: {kind: go, name: till}}
workload:
  - {name: buy, from: customer, to: pay, rate: 50, idempotent: true}
timeline:
  - {at: 2s, do: crash, nodes: till2, for: 2s}
assert:
  - lost == 0
sometimes:
  - detections >= 1
`

// This test checks that a scenario file runs a program's own handlers, and is
// judged.
func TestScenarioRunsHandlersOfTheProgram(t *testing.T) {
	var taken atomic.Int64
	v := world.Play(t, "shop.yaml", []byte(shop), map[string]patterns.Handler{"till": till(&taken)})
	require.True(t, v.OK)
	require.GreaterOrEqual(t, taken.Load(), int64(300))
	require.Equal(t, 300.0, v.Metrics["requests"].Value)
}

const street = `
name: street
duration: 6s
nodes:
  - {name: house, count: 3}
  - {name: till, count: 3, attach: house}
  - {name: customer, count: 2, attach: house}
clusters:
  - {name: pay, members: till, handler: {kind: go, name: till}}
subscriptions:
  - {name: radio, nodes: [customer, till1], pattern: "news.>"}
workload:
  - {name: buy, from: customer, to: pay, rate: 50, idempotent: true}
  - {name: news, kind: publish, from: till, to: news.today, rate: 20}
timeline:
  - {at: 2s, do: crash, nodes: house2, for: 1s}
  - {at: 4s, do: break, between: [till1, house1]}
assert:
  - lost == 0
sometimes:
  - detections >= 1
  - gaps_unknown >= 1
`

// This test checks that programs beside relays play in a scenario as nodes do,
// with handlers of the test's own, and that the run repeats.
func TestClientsOfRelaysPlay(t *testing.T) {
	var taken atomic.Int64
	handlers := map[string]patterns.Handler{"till": till(&taken)}
	v := world.Play(t, "street.yaml", []byte(street), handlers)
	require.True(t, v.OK)
	require.GreaterOrEqual(t, taken.Load(), int64(300))
	again := world.Play(t, "street.yaml", []byte(street), handlers)
	require.Equal(t, v.Metrics, again.Metrics)
}

// This test checks that nodes whose keys differ are strangers.
func TestLabelsMakeDifferentNetworks(t *testing.T) {
	one, err := world.Network(1, "")
	require.NoError(t, err)
	same, err := world.Network(1, "")
	require.NoError(t, err)
	other, err := world.Network(1, "other")
	require.NoError(t, err)
	require.Equal(t, one.Encode(), same.Encode())
	require.NotEqual(t, one.Encode(), other.Encode())
}
