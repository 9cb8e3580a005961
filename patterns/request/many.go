// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// All is one message for every member of a cluster.
type All struct {
	Cluster string
	Pattern patterns.Pattern
	// Message is the caller's, who must not change it before AskAll returns.
	Message patterns.Message
	// Tail, if not nil, stands in place of Message, as with Ask.
	Tail []byte
	// Transit is that of Ask.
	Transit *cluster.Transit
	// MaxMembers is how many are asked, those with the lowest ids; the others
	// are missing with ErrTooLarge. 0 = all. Members behind a gateway, which are asked by
	// it, are missing if their replies are beyond it.
	MaxMembers int
	// MaxBytes bounds the bodies and headers of all replies together, whether
	// they were looked at or not; who replies beyond it is missing with
	// ErrTooLarge. 0 = no bound.
	MaxBytes int
}

// Tally is how an All ended.
type Tally struct {
	Missing  []patterns.Missing // in the order of their ids
	Complete bool               // nobody is missing, and the list of members was whole
	// Members is how many are not missing, Nodes on how many nodes they are.
	Members, Nodes int
}

// EachFunc takes in what became of one member, with the contracts of Ask; took
// says that the member is not missing. An error ends everything.
type EachFunc func(m *cluster.Member, a Answer, err error) (took bool, stop error)

func (k *calls) askAll(ctx context.Context, a *All, each EachFunc) (Tally, error) {
	q := Ask{Cluster: a.Cluster, Pattern: a.Pattern, Message: a.Message, Tail: a.Tail, Transit: a.Transit}
	size, err := k.check(&q)
	if err != nil {
		return Tally{}, err
	}
	if err := ctx.Err(); err != nil {
		return Tally{}, &patterns.DeadlineError{Cause: err}
	}
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = overlay.WithTimeout(ctx, k.cfg.Clock, "request.deadline", DefaultTimeout)
		defer cancel()
	}
	k.turns.Call("request.all", q.Cluster, a.Message.Body, q.salt())
	if k.cfg.Leaf != nil {
		f := &inquiry{calls: k, each: each, news: news{waiter: newWaiter(k.cfg.Exec)}}
		return f.run(ctx, a, &q, size)
	}
	f := &fan{calls: k, each: each, news: news{waiter: newWaiter(k.cfg.Exec)}, size: size, nodes: make(map[peer.ID]struct{})}
	if a.MaxBytes > 0 {
		f.bytes = &room{}
		f.bytes.left.Store(int64(a.MaxBytes))
	}
	f.route = k.routeTo(q.Cluster)
	defer func() { k.putRoute(f.route, k.now()) }()
	v, err := k.view(ctx, f.route, completing, isComplete)
	if err != nil {
		return Tally{}, err
	}
	return f.run(ctx, v, q, a.MaxMembers)
}

// fan is a bundle of calls, one for each member. The caller's goroutine waits
// for their ends.
type fan struct {
	*calls
	each    EachFunc
	route   *route
	bytes   *room // nil = no bound
	size    int   // of the message
	asked   []call
	open    int                  // calls whose end each has not seen
	over    bool                 // time is
	nodes   map[peer.ID]struct{} // of those that are not missing
	tally   Tally
	partial bool // some network has not told of everybody
	limit   int  // of replies that gateways pass on; 0 = no limit
	lent    int  // those that they have

	news
	ended []*call          // guarded by mu: ends that each has not seen
	parts fifo.Queue[part] // guarded by mu: replies that each has not seen, before the ends of their calls
}

// news is what the caller's goroutine has not seen yet. Its mutex guards the owner's.
type news struct {
	*waiter
	mu      sync.Mutex
	waiting bool // guarded by mu: the caller's goroutine does
}

// tell has that goroutine look: more is what comes, of that call.
func (n *news) tell(c *call, more func()) {
	n.mu.Lock()
	more()
	wake := n.waiting
	n.waiting = false
	n.mu.Unlock()
	if wake {
		n.waiter.finished(c)
	}
}

// finished implements sink.
func (f *fan) finished(c *call) { f.tell(c, func() { f.ended = append(f.ended, c) }) }

func (f *fan) run(ctx context.Context, v *cluster.View, q Ask, limit int) (Tally, error) {
	members := v.Everybody(q.network, q.Transit)
	if len(members) == 0 {
		return Tally{}, nobodyIn(v, q.network, q.Transit)
	}
	if limit > 0 && limit < len(members) {
		for _, m := range members[limit:] {
			f.drops.Inc(dropUnasked)
			f.miss(m, patterns.ErrTooLarge)
		}
		members = members[:limit]
	}
	if limit > 0 {
		f.limit = limit
		for _, m := range members {
			if !m.Imported {
				f.limit--
			}
		}
	}
	defer f.stop(context.Canceled) // who still works is told that nobody waits; also if each panics
	err := f.ask(ctx, members, q)
	for err == nil && f.open > 0 {
		switch p, c := f.take(ctx); {
		case p.of != nil:
			err = f.reportPart(p)
		case c != nil:
			err = f.report(c)
		}
	}
	f.tally.Nodes += len(f.nodes)
	slices.SortFunc(f.tally.Missing, func(a, b patterns.Missing) int {
		return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Peer, b.Peer))
	})
	f.tally.Complete = v.Whole() && !f.partial && len(f.tally.Missing) == 0 && err == nil
	return f.tally, err
}

// ask sends to everybody before anybody's answer is looked at. It returns an
// error if nobody could be asked.
func (f *fan) ask(ctx context.Context, members []*cluster.Member, q Ask) error {
	f.asked = make([]call, len(members))
	f.open = len(members)
	deadline, _ := ctx.Deadline()
	for i, m := range members {
		c := &f.asked[i]
		q.To = m
		c.init(f.calls, &q, f.size, f)
		c.route, c.deadline, c.bytes = f.calls.routeTo(q.Cluster), deadline, f.bytes
		c.post(event{of: c.first.id, what: eventStart})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ended) == len(members) && !slices.ContainsFunc(f.ended, func(c *call) bool { return c.answer.Attempts > 0 }) {
		return f.ended[0].err
	}
	return nil
}

// take returns a reply of many, or a call that has ended. It waits for one; nil if there was none.
func (f *fan) take(ctx context.Context) (part, *call) {
	f.mu.Lock()
	if f.parts.Len() > 0 {
		p := f.parts.Pop()
		f.mu.Unlock()
		return p, nil
	}
	if len(f.ended) > 0 {
		c := f.ended[0]
		f.ended = f.ended[1:]
		f.mu.Unlock()
		return part{}, c
	}
	f.waiting = true
	f.mu.Unlock()
	late := ctx.Done()
	if f.over {
		late = nil
	}
	select {
	case <-f.waiter.ended:
	case <-late:
		f.over = true
		f.turns.Take("request.over", f.asked[0].first.id)
		f.stop(ctx.Err())
	}
	return part{}, nil
}

// stop ends the calls that have no outcome yet.
func (f *fan) stop(cause error) {
	for i := range f.asked {
		f.asked[i].post(event{of: f.asked[i].first.id, what: eventStop, err: cause})
	}
}

// report has each see an outcome.
func (f *fan) report(c *call) error {
	f.open--
	if c.standsForMany() {
		f.tallyMany(c)
		return nil
	}
	took, stop := f.each(c.to, c.answer, c.err)
	c.answer.Message, c.answer.Tail = patterns.Message{}, nil // somebody else has it now
	f.turns.Take("request.each", c.first.id)
	if took {
		f.tally.Members++
		f.nodes[c.to.Peer] = struct{}{}
	}
	if stop != nil {
		return stop
	}
	if !took {
		f.miss(c.to, c.err)
	}
	return nil
}

func (f *fan) miss(m *cluster.Member, err error) {
	f.tally.Missing = append(f.tally.Missing, patterns.Missing{Member: m.ID.String(), Peer: m.Peer.String(), Err: err})
}
