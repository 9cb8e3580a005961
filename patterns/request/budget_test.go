// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBudgetAllowsAHundredRetriesAndAFifthOfTheRequests(t *testing.T) {
	// This test checks the floor, the share, and that both are per window.
	var b budget
	allowed := func(now time.Duration) (n int) {
		for b.retry(int64(now)) {
			n++
		}
		return n
	}
	require.Equal(t, 100, allowed(0))
	for range 1000 {
		b.request(int64(time.Second))
	}
	require.Equal(t, 200, allowed(time.Second))
	require.Equal(t, 0, allowed(9*time.Second))
	require.Equal(t, 100, allowed(10*time.Second), "the retries of the first slot are forgotten")
	require.Equal(t, 0, allowed(11*time.Second), "the requests are forgotten too, and the floor was used a second ago")
	require.Equal(t, 100, allowed(time.Hour))
}

func TestBudgetAgreesWithALedgerOfEverything(t *testing.T) {
	// This property test compares the slots with a plain list of times, for
	// clocks that also run backwards a little.
	random := rand.New(rand.NewPCG(1, 2))
	slot := budgetWindow / budgetSlots
	for range 200 {
		var b budget
		var requests, retries []time.Duration
		recent := func(list []time.Duration, newest time.Duration) (n int) {
			for _, at := range list {
				if newest/slot-at/slot < budgetSlots {
					n++
				}
			}
			return n
		}
		var now, newest time.Duration
		for range 2000 {
			now += time.Duration(random.Int64N(int64(30 * time.Millisecond)))
			at := max(0, now-time.Duration(random.Int64N(int64(time.Millisecond))))
			newest = max(newest, at)
			counted := newest - newest%slot // late ones are counted in the newest slot
			if random.IntN(4) > 0 {
				b.request(int64(at))
				requests = append(requests, counted)
				continue
			}
			want := recent(retries, newest) < budgetFloor+recent(requests, newest)/budgetShare
			require.Equal(t, want, b.retry(int64(at)))
			if want {
				retries = append(retries, counted)
			}
		}
	}
}

func TestWhoBurnsABudgetTakesNobodyElses(t *testing.T) {
	// Of one cluster a node and each client that it asks for have budgets of their own, and
	// those of clients that have been silent for a window are not kept.
	var b budgets
	burn := func(client uint64, now time.Duration) (n int) {
		for b.of(client, int64(now)).retry(int64(now)) {
			n++
		}
		return n
	}
	for client := range uint64(3) { // 0 is the node
		require.Equal(t, budgetFloor, burn(client, time.Second))
		require.Zero(t, burn(client, time.Second))
	}
	const clients = 10 * fewBudgets
	for client := range uint64(clients) {
		b.of(client, int64(2*time.Second)).request(int64(2 * time.Second))
	}
	require.Len(t, b.clients, clients-1, "all of them are in use")
	require.Zero(t, burn(2, 9*time.Second))
	for client := range uint64(clients) {
		b.of(clients+client, int64(time.Minute)).request(int64(time.Minute))
	}
	require.Less(t, len(b.clients), 2*clients-1)
	require.Equal(t, budgetFloor, burn(2, time.Minute))
}
