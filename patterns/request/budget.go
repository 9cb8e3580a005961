// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"maps"
	"time"
)

// Numbers of the retry budget.
const (
	budgetWindow = 10 * time.Second
	budgetSlots  = 20
	budgetFloor  = 100 // retries that are always allowed in a window
	budgetShare  = 5   // one retry for so many requests
)

// budget says whether a request may be sent again: in any ten seconds at most
// one retry for five requests, and 100 more. It keeps a struggling cluster from
// being finished off by its own callers. It has no clock: now is nanoseconds
// since some start.
type budget struct {
	slots    [budgetSlots]struct{ requests, retries int }
	newest   int64 // number of the newest slot, counted from the start
	requests int   // in all slots
	retries  int
}

// request counts a request.
func (b *budget) request(now int64) {
	b.advance(now)
	b.slots[b.newest%budgetSlots].requests++
	b.requests++
}

// retry counts a retry, if it is allowed.
func (b *budget) retry(now int64) bool {
	b.advance(now)
	if b.retries >= budgetFloor+b.requests/budgetShare {
		return false
	}
	b.slots[b.newest%budgetSlots].retries++
	b.retries++
	return true
}

// idle says that the window is empty.
func (b *budget) idle(now int64) bool {
	b.advance(now)
	return b.requests == 0 && b.retries == 0
}

// budgets are those of one cluster: this node's own, and one for each client that it asks
// for, so that who burns his takes nobody else's.
type budgets struct {
	own     budget
	clients map[uint64]*budget
	sweepAt int // clients; then those that are idle go
}

// fewBudgets is how many budgets of clients are kept without looking whether they are idle.
const fewBudgets = 64

// of returns the budget of a client, 0 = of this node.
func (b *budgets) of(client uint64, now int64) *budget {
	if client == 0 {
		return &b.own
	}
	if one := b.clients[client]; one != nil {
		return one
	}
	if len(b.clients) >= max(b.sweepAt, fewBudgets) {
		maps.DeleteFunc(b.clients, func(_ uint64, one *budget) bool { return one.idle(now) })
		b.sweepAt = 2 * len(b.clients)
	}
	if b.clients == nil {
		b.clients = make(map[uint64]*budget)
	}
	one := &budget{newest: now / int64(budgetWindow/budgetSlots)}
	b.clients[client] = one
	return one
}

// advance forgets the slots that have left the window. Time that seems to go
// back, because callers read the clock before they come here, is no reason to
// forget.
func (b *budget) advance(now int64) {
	to := now / int64(budgetWindow/budgetSlots)
	for n := 0; b.newest < to && n < budgetSlots; n++ {
		b.newest++
		s := &b.slots[b.newest%budgetSlots]
		b.requests -= s.requests
		b.retries -= s.retries
		s.requests, s.retries = 0, 0
	}
	b.newest = max(b.newest, to)
}
