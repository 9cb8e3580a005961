// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import "github.com/arke-mesh/arke/internal/budget"

// shares are what the clients of a relay have together, by the number of the
// session. Each client has a little of its own; of what is beyond, half is for
// whoever comes first, and the other half is shared fairly by those that hold any.
type shares struct {
	registrations, subscriptions, requests, deliveries, tunnels, work, waits, bytes *budget.Budget[uint64]
	// seats are those of attached clients, by who they are.
	seats *budget.Budget[source]
}

type (
	portion = budget.Portion[uint64]
	holding = budget.Holding[uint64]
)

func newShares(t Totals, clients int) shares {
	of := budget.New[uint64]
	return shares{
		registrations: of(t.Registrations), subscriptions: of(t.Subscriptions), requests: of(t.Requests),
		seats: budget.New[source](2 * clients), deliveries: of(t.Deliveries), tunnels: of(t.Tunnels), work: of(t.Work), waits: of(t.Waits), bytes: of(t.Bytes),
	}
}

// clients is how many may be attached from one source.
func (s *shares) clients() int { return s.seats.Limit() / 2 }

// held is how much clients have beyond what is their own.
func (s *shares) held() Totals {
	return Totals{
		Registrations: s.registrations.Used(), Subscriptions: s.subscriptions.Used(), Requests: s.requests.Used(),
		Deliveries: s.deliveries.Used(), Tunnels: s.tunnels.Used(), Work: s.work.Used(), Waits: s.waits.Used(), Bytes: s.bytes.Used(),
	}
}

// What each client has of its own, and how many it leases at once beyond that.
const (
	ownPlaces, stepPlaces = 64, 64 // requests, deliveries, subscriptions, tunnels
	ownFew, stepFew       = 8, 8   // registrations, work, waits
	// In bytes, of each of: calls, replies that stand in line, publications that wait.
	ownBytes, stepBytes = 128 << 10, 256 << 10
	// Of its lanes, and of its tunnels.
	ownLaneBytes, ownTunnelBytes = 512 << 10, 512 << 10
)

// extent is what one client holds that is counted by nobody else.
type extent struct {
	work  *holding // goroutines of the relay that do what it has asked for
	waits *holding // workers of the node that wait for something
}

func (s *shares) extent(number uint64) extent {
	return extent{work: s.work.Holding(number, ownFew, stepFew), waits: s.waits.Holding(number, ownFew, stepFew)}
}
