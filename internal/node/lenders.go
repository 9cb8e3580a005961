// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// federation is the cluster of the gateways that lend by pattern. The payload of a lease
// has the patterns, one a line.
const federation = name.Reserved + "federation"

// Answers of such a gateway to a survey whose body is a name.
const (
	lentAnswer   = "lent"   // it is lent now
	nobodyAnswer = "nobody" // the other network has no member, or it is not to be lent
)

// lentTime bounds the wait for gateways, and for what they say is lent to be seen here.
const lentTime = 2 * time.Second

// After a gateway did not say, others are asked for lentShort only, for quietTime: who holds
// the network's key can offer any name and answer nothing, and each unknown name would take
// lentTime. What is not known then is "unreachable" all the same.
const (
	lentShort = 250 * time.Millisecond
	quietTime = 10 * time.Second
)

// noAnswer is the reason of calls that ended so, as the status counts them.
const noAnswer = "no_answer"

// DropNames lists the reasons that Status counts as "federation.…".
func DropNames() []string { return []string{noAnswer} }

// silence is what a node knows of gateways that did not say whether they lend a cluster.
type silence struct {
	until atomic.Pointer[time.Time] // they are given little time until then; nil = they are given enough
	count atomic.Uint64             // of calls that could not be answered
}

// begin notes that a gateway did not say.
func (s *silence) begin(now time.Time) {
	until := now.Add(quietTime)
	s.until.Store(&until)
}

// patience is how long gateways are waited for now.
func (s *silence) patience(now time.Time) time.Duration {
	if until := s.until.Load(); until != nil && now.Before(*until) {
		return lentShort
	}
	return lentTime
}

// borrower is a Directory that asks gateways for clusters that nobody serves here, if
// one lends by a pattern that the name matches. What is served, or was lent before, costs
// nothing more.
type borrower struct {
	request.Directory
	layers *layers
}

// Watch implements request.Directory.
func (b borrower) Watch(cluster string) request.Watch {
	w := b.Directory.Watch(cluster)
	if strings.HasPrefix(cluster, name.Reserved) {
		return w
	}
	return borrowing{w, cluster, b}
}

// borrowing is a watch of a cluster that may be lent.
type borrowing struct {
	request.Watch
	name string
	from borrower
}

// Wait implements request.Watch.
func (w borrowing) Wait(ctx context.Context, needMember bool) (*cluster.View, error) {
	v, err := w.Watch.Wait(ctx, false)
	switch {
	case err == nil:
		return v, nil
	case errors.Is(err, cluster.ErrNoMembers):
		lent, unknown := w.from.borrow(ctx, w.name)
		if needMember {
			break
		}
		if unknown != nil {
			return v, unknown
		}
		if !lent {
			return v, err
		}
		late, cancel := overlay.WithTimeout(ctx, w.from.layers.outside.Clock, "node.lent", lentTime)
		defer cancel()
		if v, err = w.Watch.Wait(late, true); err != nil && ctx.Err() == nil {
			return v, fmt.Errorf("%w: what a gateway has lent is not seen yet", cluster.ErrUnreachable)
		}
		return v, err
	case needMember && errors.Is(err, cluster.ErrUnreachable):
	default:
		return v, err
	}
	return w.Watch.Wait(ctx, true)
}

// errLent ends a survey of gateways early.
var errLent = errors.New("node: a gateway lends it")

// borrow asks the gateways to lend the cluster, if one has a pattern for it. unknown is
// why it is not known whether one does.
func (b borrower) borrow(ctx context.Context, cluster string) (lent bool, unknown error) {
	offered, unknown := b.offered(ctx, cluster)
	if !offered {
		return false, unknown
	}
	clock, silence := b.layers.outside.Clock, &b.layers.silence
	began := clock.Now()
	patience := silence.patience(began)
	limited, cancel := overlay.WithTimeout(ctx, clock, "node.borrow", patience)
	defer cancel()
	all := request.All{Cluster: federation, Pattern: patterns.PatternSurvey, Message: patterns.Message{Body: []byte(cluster)}}
	tally, err := b.layers.requests.AskAll(limited, all, eachLender)
	switch {
	case errors.Is(err, errLent):
		return true, nil
	case err == nil && len(tally.Missing) == 0, errors.Is(err, patterns.ErrNoMembers):
		return false, nil
	}
	// A caller who had less time has shown nothing.
	if now := clock.Now(); now.Sub(began) >= lentTime {
		silence.begin(now)
	}
	if ctx.Err() == nil {
		silence.count.Add(1)
	}
	return false, errUnknownLender
}

// eachLender takes in what one gateway says. Who may not ask is lent nothing.
func eachLender(_ *cluster.Member, a request.Answer, err error) (took bool, stop error) {
	switch {
	case err == nil && string(a.Message.Body) == lentAnswer:
		return true, errLent
	case errors.Is(err, patterns.ErrUnauthorized):
		return true, nil
	}
	return err == nil && string(a.Message.Body) == nobodyAnswer, nil
}

var errUnknownLender = fmt.Errorf("%w: nobody serves it here, and a gateway that may lend it does not say", cluster.ErrUnreachable)

// offered says whether a gateway has a pattern for the cluster. Who these are is known for
// a while after somebody has asked, as of any cluster that was called.
func (b borrower) offered(ctx context.Context, address string) (bool, error) {
	w := b.layers.clusters.Watch(federation)
	defer w.Release()
	v, err := w.Wait(ctx, false)
	switch {
	case errors.Is(err, cluster.ErrNoMembers):
		return false, nil
	case err != nil:
		return false, err
	}
	for _, m := range v.Members {
		for pattern := range strings.SplitSeq(string(m.Payload), "\n") {
			if _, ok := name.Matches(pattern, address); ok {
				return true, nil
			}
		}
	}
	return false, nil
}

// LentAnswer is what a gateway replies with whether a cluster is lent now.
func LentAnswer(lent bool) []byte {
	if lent {
		return []byte(lentAnswer)
	}
	return []byte(nobodyAnswer)
}
