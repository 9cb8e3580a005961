// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"
	"slices"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/policy"
)

// law is the policy that holds now, and counts what it was asked.
type law struct {
	policy           atomic.Pointer[policy.Policy] // nil = everything is allowed
	allowed, refused atomic.Uint64                 // decisions: one for each client, verb and name
}

// rights are what the policy lets one client do. A decision is made once for each verb
// and name: then asking costs one look into a map. Owned by the client's reader, but
// for holds.
type rights struct {
	// Immutable after newClient.
	law   *law
	count *counters
	log   *zap.Logger
	who   policy.Client

	under *policy.Policy // the one that the rest is about
	mine  policy.Rights
	known map[asked]bool
	told  int // refusals that were logged
}

// asked is a question.
type asked struct {
	verb policy.Verb
	list bool // who serves it
	name string
}

const (
	// maxKnown is how many decisions are remembered.
	maxKnown = 4096
	// maxTold is how many refusals of one client under one policy are logged; all are
	// counted.
	maxTold = 64
)

// refuse says that the client may not do that with the name, nil if it may.
func (r *rights) refuse(v policy.Verb, of string) error {
	if v == policy.Call {
		of, _, _ = name.Split(of) // who may call a cluster may ask for it in any network
	}
	return r.ask(asked{verb: v, name: of})
}

// refuseList says that the client may not know who serves a cluster.
func (r *rights) refuseList(cluster string) error {
	bare, _, _ := name.Split(cluster)
	return r.ask(asked{verb: policy.Call, list: true, name: bare})
}

func (r *rights) ask(q asked) error {
	p := r.law.policy.Load()
	if p == nil {
		return nil
	}
	if p != r.under {
		r.under, r.mine, r.known, r.told = p, p.Of(r.who), map[asked]bool{}, 0
	}
	allowed, known := r.known[q]
	if !known {
		allowed = r.decide(q)
	}
	if allowed {
		return nil
	}
	r.count.drop(dropsOf[q.verb])
	return &refusedError{r.who, q}
}

// decide makes a decision, and tells of it.
func (r *rights) decide(q asked) bool {
	d := r.mine.Decide(q.verb, q.name)
	if q.list {
		d = r.mine.DecideList(q.name)
	}
	if len(r.known) >= maxKnown {
		clear(r.known)
	}
	r.known[q] = d.Allowed
	fields := []zap.Field{
		zap.Stringer("who", r.who), zap.Ints("groups", r.who.Groups), zap.Stringer("verb", q.verb), zap.String("name", q.name), zap.Stringer("why", d),
	}
	if d.Allowed {
		r.law.allowed.Add(1)
		r.log.Debug("allowed", fields...)
		return true
	}
	r.law.refused.Add(1)
	switch r.told++; {
	case r.told < maxTold:
		r.log.Warn("refused", fields...)
	case r.told == maxTold:
		r.log.Warn("refused, as so much before; what else this client is refused is counted only", fields...)
	}
	return false
}

// stillMay says whether a policy lets the client keep what an earlier one let it have.
// It may be called on any goroutine.
func (r *rights) stillMay(p *policy.Policy, v policy.Verb, name string) bool {
	return p == nil || p.Of(r.who).Decide(v, name).Allowed
}

// dropsOf are the counters of what is refused.
var dropsOf = [policy.Verbs]dropReason{
	policy.Serve: dropServeRefused, policy.Call: dropCallRefused, policy.Publish: dropPublishRefused, policy.Subscribe: dropSubscribeRefused,
}

// refusedError says what the policy does not let a client do. It matches
// patterns.ErrUnauthorized.
type refusedError struct {
	who policy.Client
	asked
}

func (e *refusedError) Error() string {
	if e.list {
		return fmt.Sprintf("the policy of this relay does not let %v see who serves %q", e.who, e.name)
	}
	what := e.verb.String()
	switch e.verb {
	case policy.Publish, policy.Subscribe:
		what += " to"
	}
	return fmt.Sprintf("the policy of this relay does not let %v %s %q", e.who, what, e.name)
}

// Unwrap returns patterns.ErrUnauthorized.
func (e *refusedError) Unwrap() error { return patterns.ErrUnauthorized }

// tokensKnown says which token of a policy the relay does not have.
func tokensKnown(p *policy.Policy, tokens []Token) error {
	if p == nil {
		return nil
	}
	for _, name := range p.Tokens() {
		if !slices.ContainsFunc(tokens, func(t Token) bool { return t.Name == name }) {
			return fmt.Errorf("relay: the policy has rules for token %s, which this relay does not have", name)
		}
	}
	return nil
}

// obey ends the session of a client that has what it may not have any more.
func (s *claims) obey(p *policy.Policy) {
	c := s.c
	for kind := range claimKinds {
		verb := kinds[kind].verb
		for _, k := range s.all(kind) {
			if !c.rights.stillMay(p, verb, k.name()) {
				c.log.Warn("ended the session of a client that the policy does not let keep what it has", zap.Stringer("who", c.rights.who), zap.Stringer("verb", verb), zap.String("name", k.name()))
				c.leave(wire.EndOther, "the policy of this relay has changed", linger) // it is to attach again
				return
			}
		}
	}
}
