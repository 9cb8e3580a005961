// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/history"
)

// recorder writes the history. Its methods may be called concurrently; none
// blocks.
type recorder struct {
	mu           sync.Mutex
	h            history.History
	open         []openFault    // guarded by mu
	publications map[uint64]int // guarded by mu; id to index
	tunnels      tunnels
}

func newRecorder() *recorder {
	r := &recorder{publications: make(map[uint64]int)}
	r.tunnels = tunnels{r: r, index: make(map[uint64]int), passages: make(map[flowKey]*passage), carried: make(map[carriedKey]int)}
	return r
}

// note has f change the history.
func (r *recorder) note(f func(h *history.History)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.h)
}

// add puts something at the end of one of r's lists and returns its index there.
func add[T any](r *recorder, list *[]T, one T) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	*list = append(*list, one)
	return len(*list) - 1
}

func (r *recorder) leaving(tenures []int, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range tenures {
		r.h.Tenures[t].Leaving = at
	}
}

// over says whether the liveness phase has ended.
func (r *recorder) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.h.End > 0
}

// lastDeadline is when everything that was sent must have ended.
func (r *recorder) lastDeadline(now time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := now
	for i := range r.h.Requests {
		if q := &r.h.Requests[i]; q.Ended < 0 {
			last = max(last, q.Deadline)
		}
	}
	for i := range r.h.Publications {
		if q := &r.h.Publications[i]; q.Ended < 0 {
			last = max(last, q.Deadline)
		}
	}
	for i := range r.h.Tunnels {
		if t := &r.h.Tunnels[i]; t.Ended < 0 {
			last = max(last, t.Deadline)
		}
	}
	return last
}

func (r *recorder) unsubscribing(subscriptions []int, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range subscriptions {
		if s := &r.h.Subscriptions[i]; s.Leaving < 0 {
			s.Leaving = at
		}
	}
}

func (r *recorder) unsubscribed(subscriptions []int, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range subscriptions {
		if s := &r.h.Subscriptions[i]; s.Until < 0 {
			s.Until = at
		}
	}
}

func (r *recorder) publishing(p history.Publication) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.publications[p.ID] = len(r.h.Publications)
	r.h.Publications = append(r.h.Publications, p)
}

func (r *recorder) published(id uint64, at time.Duration, outcome, detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.h.Publications[r.publications[id]]
	p.Ended, p.Outcome, p.Detail = at, outcome, detail
}

// delivered notes what a subscription got.
func (r *recorder) delivered(subscription int, at time.Duration, got patterns.Publication) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := history.Delivery{Publication: idOf(got.Body), Subscription: subscription, At: at}
	if i, ok := r.publications[d.Publication]; ok {
		p := &r.h.Publications[i]
		if !isFor(&r.h, p, r.h.Subscriptions[subscription].Network, got) || p.Size != len(got.Body) {
			d.Wrong = got.Topic + " from " + got.From
		}
	}
	r.h.Deliveries = append(r.h.Deliveries, d)
}

// isFor says whether a publication has the topic and the publisher that it must have in a
// network.
func isFor(h *history.History, p *history.Publication, network string, got patterns.Publication) bool {
	if network == p.Network {
		return p.Topic == got.Topic && p.Peer == got.From
	}
	return got.From == p.Abroad() && slices.ContainsFunc(h.Crossings, func(c history.Crossing) bool {
		return c.From == p.Network && c.To == network && c.There(p.Topic) == got.Topic
	})
}

// history returns what was recorded, in canonical order.
func (r *recorder) history(p *player) *history.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &r.h
	r.sortTenures()
	r.sortSubscriptions()
	r.sortTopicsAndTunnels()
	for i := range h.Requests {
		q := &h.Requests[i]
		q.Lost = touched(h, q.Caller, q.Sent, endOr(q.Ended, q.Deadline))
	}
	sortBy(h.Nodes, func(n history.Node) (time.Duration, string) { return n.From, n.Name })
	sortBy(h.Requests, func(q history.Request) (time.Duration, uint64) { return q.Sent, q.ID })
	slices.SortStableFunc(h.Runs, func(a, b history.Run) int {
		return cmp.Or(cmp.Compare(a.Began, b.Began), cmp.Compare(a.Request, b.Request), cmp.Compare(a.Tenure, b.Tenure))
	})
	slices.SortStableFunc(h.Views, func(a, b history.View) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Member, b.Member))
	})
	sortBy(h.Samples, func(s history.Sample) (time.Duration, string) { return s.At, s.Node })
	return h
}

// sortBy sorts by a time, and what is simultaneous by something else. What has
// both the same stays in its order.
func sortBy[T any, K cmp.Ordered](all []T, by func(one T) (time.Duration, K)) {
	slices.SortStableFunc(all, func(a, b T) int {
		at, first := by(a)
		later, second := by(b)
		return cmp.Or(cmp.Compare(at, later), cmp.Compare(first, second))
	})
}

// sortNamed sorts what others name by its index, and returns the new index of
// each.
func sortNamed[T any](all []T, compare func(x, y T) int) (place []int) {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	before := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b int) int { return compare(before[a], before[b]) })
	place = make([]int, len(all))
	for to, from := range order {
		all[to], place[from] = before[from], to
	}
	return place
}

// sortTenures puts them in order and follows with the runs that name them.
func (r *recorder) sortTenures() {
	place := sortNamed(r.h.Tenures, func(x, y history.Tenure) int {
		return cmp.Or(cmp.Compare(x.Asked, y.Asked), cmp.Compare(x.Node, y.Node), cmp.Compare(x.Cluster, y.Cluster))
	})
	for i := range r.h.Runs {
		r.h.Runs[i].Tenure = place[r.h.Runs[i].Tenure]
	}
	for i := range r.h.Tunnels {
		served := r.h.Tunnels[i].Served
		for k := range served {
			served[k].Tenure = place[served[k].Tenure]
		}
	}
}

// sortSubscriptions puts them in order and follows with what names them. What
// one subscription got stays in the order in which it came.
func (r *recorder) sortSubscriptions() {
	h := &r.h
	place := sortNamed(h.Subscriptions, func(x, y history.Subscription) int {
		return cmp.Or(cmp.Compare(x.Asked, y.Asked), cmp.Compare(x.Node, y.Node), cmp.Compare(x.Name, y.Name))
	})
	for i := range h.Deliveries {
		h.Deliveries[i].Subscription = place[h.Deliveries[i].Subscription]
	}
	for i := range h.Gaps {
		h.Gaps[i].Subscription = place[h.Gaps[i].Subscription]
	}
	sortBy(h.Deliveries, func(d history.Delivery) (time.Duration, int) { return d.At, d.Subscription })
	sortBy(h.Gaps, func(g history.Gap) (time.Duration, int) { return g.At, g.Subscription })
}

func (r *recorder) sortTopicsAndTunnels() {
	h := &r.h
	for i := range h.Publications {
		p := &h.Publications[i]
		p.Lost = touched(h, p.Publisher, p.Sent, endOr(p.Ended, p.Deadline)) || outside(h, p.Publisher, p.Sent)
	}
	for i := range h.Tunnels {
		t := &h.Tunnels[i]
		t.Lost = touched(h, t.Caller, t.Sent, endOr(t.Ended, t.Deadline))
		sortBy(t.Served, func(v history.Serving) (time.Duration, int) { return v.Began, v.Tenure })
	}
	sortBy(h.Publications, func(p history.Publication) (time.Duration, uint64) { return p.Sent, p.ID })
	sortBy(h.Carried, func(c history.Carried) (time.Duration, string) { return c.At, c.Work })
	sortBy(h.Tunnels, func(t history.Tunnel) (time.Duration, uint64) { return t.Sent, t.ID })
}

// endOr is when something ended, or must have.
func endOr(ended, deadline time.Duration) time.Duration {
	if ended < 0 {
		return deadline
	}
	return ended
}

// way is a direction of a tunnel.
type way int

const (
	forth way = iota // to the member
	back             // to the caller
)

// serving is one run of a tunnel's handler.
type serving struct {
	tunnel uint64
	index  int // in history.Tunnel.Served; -1 = of a tunnel that nobody opened
}

// passage is what is counted of a direction while it runs.
type passage struct{ sent, received int64 }

// tunnels is the recorder's part that writes what tunnels do. Its methods may be
// called concurrently; none blocks.
type tunnels struct {
	r *recorder

	// Guarded by r.mu.
	index    map[uint64]int // id to index
	passages map[flowKey]*passage
	carried  map[carriedKey]int // to index
}

func (x *tunnels) opening(t history.Tunnel) {
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	x.index[t.ID] = len(x.r.h.Tunnels)
	x.r.h.Tunnels = append(x.r.h.Tunnels, t)
}

// tunnel calls f with the record of a tunnel, if there is one.
func (x *tunnels) tunnel(id uint64, f func(t *history.Tunnel)) {
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	if i, ok := x.index[id]; ok {
		f(&x.r.h.Tunnels[i])
	}
}

func (x *tunnels) opened(id uint64, member string, at time.Duration) {
	x.tunnel(id, func(t *history.Tunnel) { t.Opened, t.Member = at, member })
}

func (x *tunnels) arrived(id uint64, outcome, detail string, at time.Duration) {
	x.tunnel(id, func(t *history.Tunnel) { t.Ended, t.Outcome, t.Detail = at, outcome, detail })
}

func (x *tunnels) serving(id uint64, tenure int, at time.Duration, peer string) serving {
	v := serving{id, -1}
	x.tunnel(id, func(t *history.Tunnel) {
		v.index = len(t.Served)
		t.Served = append(t.Served, history.Serving{Tenure: tenure, Began: at, Ended: -1, Peer: peer})
	})
	return v
}

func (x *tunnels) left(v serving, at time.Duration, clean bool) {
	x.tunnel(v.tunnel, func(t *history.Tunnel) {
		if v.index >= 0 {
			t.Served[v.index].Ended, t.Served[v.index].Clean = at, clean
		}
	})
}

// flow calls f with the record of a direction.
func (x *tunnels) flow(id uint64, w way, f func(t *history.Tunnel, flow *history.Flow, p *passage)) {
	x.tunnel(id, func(t *history.Tunnel) {
		key := flowKey{id, w}
		if x.passages[key] == nil {
			x.passages[key] = &passage{}
		}
		flow := &t.Forth
		if w == back {
			flow = &t.Back
		}
		f(t, flow, x.passages[key])
	})
}

type flowKey struct {
	tunnel uint64
	way    way
}

func (x *tunnels) tries(id uint64, w way) {
	x.flow(id, w, func(_ *history.Tunnel, flow *history.Flow, _ *passage) { flow.Tried++ })
}

func (x *tunnels) sentOne(id uint64, w way) {
	x.flow(id, w, func(t *history.Tunnel, flow *history.Flow, p *passage) {
		flow.Sent++
		p.sent += int64(t.Size)
		flow.Ahead = max(flow.Ahead, p.sent-p.received)
	})
}

func (x *tunnels) closed(id uint64, w way) {
	x.flow(id, w, func(_ *history.Tunnel, flow *history.Flow, _ *passage) { flow.Closed = true })
}

func (x *tunnels) received(id uint64, w way, body []byte, at time.Duration) {
	x.flow(id, w, func(t *history.Tunnel, flow *history.Flow, p *passage) {
		if !t.Own && !bytes.Equal(body, content(id, flow.Received, t.Size)) {
			flow.Wrong++
		}
		flow.Received++
		p.received += int64(len(body))
		x.carry(t.Work, w, int64(len(body)), at)
	})
}

// carriedKey is a work and the beginning of what is summed up.
type carriedKey struct {
	work string
	at   time.Duration
}

// carry counts what arrived. r.mu is held.
func (x *tunnels) carry(work string, w way, bytes int64, at time.Duration) {
	key := carriedKey{work, at.Truncate(history.CarriedEvery)}
	i, known := x.carried[key]
	if !known {
		i = len(x.r.h.Carried)
		x.carried[key] = i
		x.r.h.Carried = append(x.r.h.Carried, history.Carried{At: key.at, Work: work})
	}
	if w == forth {
		x.r.h.Carried[i].Forth += bytes
	} else {
		x.r.h.Carried[i].Back += bytes
	}
}

func (x *tunnels) end(id uint64, w way) {
	x.flow(id, w, func(_ *history.Tunnel, flow *history.Flow, _ *passage) { flow.End = true })
}
