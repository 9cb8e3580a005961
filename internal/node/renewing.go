// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/issued"
	"github.com/arke-mesh/arke/internal/verb"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// askIssuers bounds one try to have the certificate renewed.
const askIssuers = 10 * time.Second

// renewing has issuers give this node's certificate more time before it ends.
type renewing struct {
	c        *credentials
	requests *request.Engine // immutable after attach

	// Guarded by mu.
	mu     sync.Mutex
	core   *issued.Renewal
	timer  overlay.Timer
	cancel func() // of the try that is under way
	number int    // of the timer, or try, that counts
	over   bool
}

func newRenewing(c *credentials, random overlay.RandStream) *renewing {
	return &renewing{c: c, core: issued.NewRenewal(func(n int64) int64 { return int64(random.Uint64() % uint64(n)) })}
}

// hold takes in which certificate the node has now.
func (r *renewing) hold() {
	own, ok := r.c.OwnCertificate()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.core.Hold(r.c.clock.Now(), own, ok && r.c.Issuance().Issued())
	r.plan()
}

// plan asks when it is time. mu is held.
func (r *renewing) plan() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	r.number++
	due := r.core.Due()
	if r.over || due.IsZero() {
		return
	}
	// A wall clock may be set: it is looked at once a minute.
	number, now := r.number, r.c.clock.Now()
	r.timer = r.c.clock.AfterFunc("node.renewal", min(max(due.Sub(now), 0), lookAgain), func() {
		if try := r.begin(number, due); try != 0 {
			r.ask(try)
		}
	})
}

// begin says whether it is time for a try, and which one it is; 0 = it is not.
func (r *renewing) begin(number int, due time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.over || number != r.number:
	case r.c.clock.Now().Before(due):
		r.plan()
	default:
		r.number++
		return r.number
	}
	return 0
}

// ask asks an issuer.
func (r *renewing) ask(number int) {
	cancel := r.requests.Start(request.Ask{
		Cluster: issued.Cluster, Message: patterns.Message{Body: r.c.Certificate()},
		Options: patterns.RequestOptions{Idempotent: true}, Deadline: r.c.clock.Now().Add(askIssuers),
	}, func(a request.Answer, err error) { r.answered(number, a.Message.Body, err) })
	r.mu.Lock()
	if r.cancel = cancel; r.over {
		r.mu.Unlock()
		cancel()
		return
	}
	r.mu.Unlock()
}

// answered takes the answer.
func (r *renewing) answered(number int, encoded []byte, err error) {
	r.mu.Lock()
	counts := number == r.number && !r.over
	r.mu.Unlock()
	if !counts { // the node has another certificate by now
		return
	}
	var next security.Certificate
	if err == nil {
		next, err = r.c.renewed(encoded)
	}
	now := r.c.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.core.Renewed(now, next)
		r.c.log.Info("the certificate of this node was renewed", zap.Time("ends", next.NotAfter), zap.Time("next", r.core.Due()))
	} else if r.core.Failed(now, issued.RenewalError(err)); r.core.Status().RenewalFault != "" {
		r.c.log.Warn("the certificate of this node can't be renewed now", zap.Error(err), zap.Time("next", r.core.Due()))
	}
	r.plan()
}

func (r *renewing) status() issued.RenewalStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.core.Status()
}

func (r *renewing) stop() {
	r.mu.Lock()
	r.over = true
	cancel := r.cancel
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Issue has this node be a member of the cluster that renews certificates, until the
// result is closed, with a key to which the network's authority has delegated. Errors:
// for a key of another network or authority, and patterns.ErrUnauthorized unless this
// node's certificate lets it serve issued.Cluster.
func (s *registrations) Issue(ctx context.Context, key security.Issuer) (patterns.Registration, error) {
	switch i := s.credentials.Issuance(); {
	case key.Network() != s.keys.network.ID():
		return nil, fmt.Errorf("node: the issuer's key is of another network")
	case key.Authority() != i.Authority:
		return nil, fmt.Errorf("node: the issuer's key is by authority %s, and this network's is %v", key.Authority(), i)
	}
	if err := s.accepting(); err != nil {
		return nil, err
	}
	if err := s.credentials.may(verb.Serve, issued.Cluster); err != nil {
		return nil, err
	}
	issuer := issued.NewIssuer(s.credentials.Roll, key)
	h := patterns.HandlerFunc(func(_ context.Context, q *patterns.Request) (patterns.Message, error) {
		p, err := peer.Decode(q.From)
		if err != nil {
			return patterns.Message{}, err
		}
		signed, err := issuer.Renew(p, q.Body)
		return patterns.Message{Body: signed}, err
	})
	limits := patterns.Limits{MessageBytes: security.MaxCertificate}
	r, err := s.enrol(ctx, issued.Cluster, cluster.Registration{}, func(id cluster.MemberID) (*request.Server, error) {
		return s.requests.AddMember(id, issued.Cluster, patterns.ServiceOf(h), limits)
	})
	if err != nil {
		return nil, err
	}
	s.credentials.issuer.Store(issuer)
	return r, nil
}
