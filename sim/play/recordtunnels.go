// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"bytes"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

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

func (r *recorder) opening(t history.Tunnel) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tunnels[t.ID] = len(r.h.Tunnels)
	r.h.Tunnels = append(r.h.Tunnels, t)
}

// tunnel calls f with the record of a tunnel, if there is one.
func (r *recorder) tunnel(id uint64, f func(t *history.Tunnel)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i, ok := r.tunnels[id]; ok {
		f(&r.h.Tunnels[i])
	}
}

func (r *recorder) opened(id uint64, member string, at time.Duration) {
	r.tunnel(id, func(t *history.Tunnel) { t.Opened, t.Member = at, member })
}

func (r *recorder) arrived(id uint64, outcome, detail string, at time.Duration) {
	r.tunnel(id, func(t *history.Tunnel) { t.Ended, t.Outcome, t.Detail = at, outcome, detail })
}

func (r *recorder) serving(id uint64, tenure int, at time.Duration, peer string) serving {
	v := serving{id, -1}
	r.tunnel(id, func(t *history.Tunnel) {
		v.index = len(t.Served)
		t.Served = append(t.Served, history.Serving{Tenure: tenure, Began: at, Ended: -1, Peer: peer})
	})
	return v
}

func (r *recorder) left(v serving, at time.Duration, clean bool) {
	r.tunnel(v.tunnel, func(t *history.Tunnel) {
		if v.index >= 0 {
			t.Served[v.index].Ended, t.Served[v.index].Clean = at, clean
		}
	})
}

// flow calls f with the record of a direction.
func (r *recorder) flow(id uint64, w way, f func(t *history.Tunnel, flow *history.Flow, p *passage)) {
	r.tunnel(id, func(t *history.Tunnel) {
		key := flowKey{id, w}
		if r.passages[key] == nil {
			r.passages[key] = &passage{}
		}
		flow := &t.Forth
		if w == back {
			flow = &t.Back
		}
		f(t, flow, r.passages[key])
	})
}

type flowKey struct {
	tunnel uint64
	way    way
}

func (r *recorder) tries(id uint64, w way) {
	r.flow(id, w, func(_ *history.Tunnel, flow *history.Flow, _ *passage) { flow.Tried++ })
}

func (r *recorder) sentOne(id uint64, w way) {
	r.flow(id, w, func(t *history.Tunnel, flow *history.Flow, p *passage) {
		flow.Sent++
		p.sent += int64(t.Size)
		flow.Ahead = max(flow.Ahead, p.sent-p.received)
	})
}

func (r *recorder) closed(id uint64, w way) {
	r.flow(id, w, func(_ *history.Tunnel, flow *history.Flow, _ *passage) { flow.Closed = true })
}

func (r *recorder) received(id uint64, w way, body []byte, at time.Duration) {
	r.flow(id, w, func(t *history.Tunnel, flow *history.Flow, p *passage) {
		if !t.Own && !bytes.Equal(body, content(id, flow.Received, t.Size)) {
			flow.Wrong++
		}
		flow.Received++
		p.received += int64(len(body))
		r.carry(t.Work, w, int64(len(body)), at)
	})
}

// carriedKey is a work and the beginning of what is summed up.
type carriedKey struct {
	work string
	at   time.Duration
}

// carry counts what arrived. mu is held.
func (r *recorder) carry(work string, w way, bytes int64, at time.Duration) {
	key := carriedKey{work, at.Truncate(history.CarriedEvery)}
	i, known := r.carried[key]
	if !known {
		i = len(r.h.Carried)
		r.carried[key] = i
		r.h.Carried = append(r.h.Carried, history.Carried{At: key.at, Work: work})
	}
	if w == forth {
		r.h.Carried[i].Forth += bytes
	} else {
		r.h.Carried[i].Back += bytes
	}
}

func (r *recorder) end(id uint64, w way) {
	r.flow(id, w, func(_ *history.Tunnel, flow *history.Flow, _ *passage) { flow.End = true })
}
