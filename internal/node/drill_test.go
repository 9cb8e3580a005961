// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"crypto/rand"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// drill is three honest nodes of an issued network, and what reaches them of others.
type drill struct {
	*office
	honest  []*node.Node
	reached atomic.Int64 // calls of others that a handler has run for, and messages of theirs
}

func newDrill(t *testing.T) *drill {
	d := &drill{office: newOffice(t, true)}
	for range 3 {
		d.honest = append(d.honest, d.start("honest", all, d.honest...))
	}
	for _, n := range d.honest {
		d.serves(n)
	}
	return d
}

// foreign says whether somebody else than the honest nodes is meant.
func (d *drill) foreign(p string) bool {
	return !slices.ContainsFunc(d.honest, func(n *node.Node) bool { return n.Self().String() == p })
}

func (d *drill) serves(n *node.Node) {
	note := func(from string) {
		if d.foreign(from) {
			d.reached.Add(1)
		}
	}
	s := patterns.Service{
		Request: patterns.HandlerFunc(func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
			note(r.From)
			return echo(ctx, r)
		}),
		Push:      func(_ context.Context, r *patterns.Request) { note(r.From) },
		Broadcast: func(_ context.Context, r *patterns.Request) { note(r.From) },
		Tunnel:    echoTunnel,
	}
	serve(d.t, n, "echo", s, patterns.Limits{})
	_, err := n.Subscribe(d.t.Context(), "news.>", patterns.SubscriberFunc(func(p patterns.Publication) { note(p.From) }), patterns.SubscribeOptions{})
	require.NoError(d.t, err)
}

// holder is a node that obeys nobody, and what it had before it was excluded.
type holder struct {
	*node.Node
	d      *drill
	tunnel patterns.Tunnel // to an honest member
	asked  atomic.Int64    // what its own member was asked by others
	heard  atomic.Int64    // what it heard of the honest nodes' topics
}

// comes starts one with that file, key and certificate.
func (d *drill) comes(f security.NetworkFile, key security.NodeKey, certificate []byte) *holder {
	f.Issuance = security.Issuance{}
	h := &holder{d: d, Node: start(d.t, f, func(c *node.Config) { c.NodeKey, c.Certificate = key, certificate }, d.honest...)}
	ctx, cancel := context.WithTimeout(d.t.Context(), 10*time.Second)
	defer cancel()
	_, _ = h.trap(ctx)
	_, _ = h.Subscribe(ctx, "news.>", patterns.SubscriberFunc(func(p patterns.Publication) {
		if !d.foreign(p.From) {
			h.heard.Add(1)
		}
	}), patterns.SubscribeOptions{})
	return h
}

// trap has it serve a cluster that the honest nodes ask.
func (h *holder) trap(ctx context.Context) (patterns.Registration, error) {
	return h.Serve(ctx, "trap", patterns.HandlerFunc(func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
		if r.From != h.Self().String() {
			h.asked.Add(1)
		}
		return echo(ctx, r)
	}), patterns.Limits{})
}

// attempt is something that a holder tries; it says whether anything came of it.
type attempt struct {
	what string
	try  func(ctx context.Context, h *holder) bool
}

// attempts are all that a node can do to others, or have from them.
var attempts = []attempt{
	{"request", func(ctx context.Context, h *holder) bool {
		_, err := h.Request(ctx, "echo", patterns.Message{Body: []byte("x")})
		return err == nil
	}},
	{"push", func(ctx context.Context, h *holder) bool {
		return h.reaches(func() { _ = h.Push(ctx, "echo", patterns.Message{}) })
	}},
	{"survey", func(ctx context.Context, h *holder) bool {
		return h.reaches(func() {
			_, _ = h.Survey(ctx, "echo", patterns.Message{}, func(patterns.SurveyReply) error { return nil }, patterns.SurveyOptions{})
		})
	}},
	{"broadcast", func(ctx context.Context, h *holder) bool {
		return h.reaches(func() { _, _ = h.Broadcast(ctx, "echo", patterns.Message{}) })
	}},
	{"a new tunnel", func(ctx context.Context, h *holder) bool {
		tunnel, err := h.OpenTunnel(ctx, "echo", patterns.Message{})
		return err == nil && echoes(ctx, tunnel)
	}},
	{"a tunnel that it has kept", func(ctx context.Context, h *holder) bool {
		return h.tunnel != nil && echoes(ctx, h.tunnel)
	}},
	{"publish", func(ctx context.Context, h *holder) bool {
		return h.reaches(func() { _ = h.Publish(ctx, "news.lies", patterns.Message{}) })
	}},
	{"listen", func(ctx context.Context, h *holder) bool {
		before := h.heard.Load()
		for _, n := range h.d.honest {
			_ = n.Publish(ctx, "news.truth", patterns.Message{})
		}
		time.Sleep(300 * time.Millisecond)
		return h.heard.Load() > before
	}},
	{"be asked, by the lease that it has and a new one", func(ctx context.Context, h *holder) bool {
		before := h.asked.Load()
		_, _ = h.trap(ctx)
		for _, n := range h.d.honest {
			_, _ = n.Request(ctx, "trap", patterns.Message{})
		}
		return h.asked.Load() > before
	}},
	{"be listed", func(ctx context.Context, h *holder) bool {
		return slices.ContainsFunc(h.d.honest, func(n *node.Node) bool {
			members, _ := n.Members(ctx, "trap")
			return slices.ContainsFunc(members, func(m patterns.Member) bool { return m.Peer == h.Self().String() })
		})
	}},
	{"have a link", func(_ context.Context, h *holder) bool {
		return slices.ContainsFunc(h.d.honest, func(n *node.Node) bool { return hasLink(n, h.Node) || hasLink(h.Node, n) })
	}},
	{"be in a routing table", func(_ context.Context, h *holder) bool {
		return slices.ContainsFunc(h.d.honest, func(n *node.Node) bool { return n.Status().Peers > len(h.d.honest)-1 })
	}},
	{"ban an honest node", func(ctx context.Context, h *holder) bool {
		victim, other := h.d.honest[0], h.d.honest[1]
		f := h.d.file
		f.Issuance, f.Bans = security.Issuance{}, append(f.Bans, victim.Self())
		_ = h.SetKeys(node.Keys{Network: f})
		time.Sleep(300 * time.Millisecond)
		return !hasLink(other, victim)
	}},
}

// reaches says whether what f does is noticed by an honest node.
func (h *holder) reaches(f func()) bool {
	before := h.d.reached.Load()
	f()
	time.Sleep(300 * time.Millisecond)
	return h.d.reached.Load() > before
}

func echoes(ctx context.Context, tunnel patterns.Tunnel) bool {
	if tunnel.Send(ctx, []byte("x")) != nil {
		return false
	}
	_, err := tunnel.Receive(ctx)
	return err == nil
}

// tries has a holder try everything, and returns what came of which.
func (h *holder) tries(except ...string) (done []string) {
	for _, a := range attempts {
		if slices.Contains(except, a.what) {
			continue
		}
		ctx, cancel := context.WithTimeout(h.d.t.Context(), 1500*time.Millisecond)
		if a.try(ctx, h) {
			done = append(done, a.what)
		}
		cancel()
	}
	return done
}

func TestWhatTheExcludedTryComesToNothing(t *testing.T) {
	// This test is the exclusion drill of an issued network. While a node is in, all that it
	// tries comes to something, but for bans. Then it is revoked: five seconds later it
	// tries all of it again, as it is, started anew at another address, with an older
	// certificate, under another id with a certificate that it has signed itself, without
	// one, and with one that it has renewed itself; then the keys are rotated, and it comes with the old key and a certificate that is
	// good. Nothing of that comes to anything, and neither do lists of revocations that
	// somebody else has signed, or that are played back.
	d := newDrill(t)
	key, err := security.GenerateNodeKey(rand.Reader)
	require.NoError(t, err)
	another, err := security.GenerateNodeKey(rand.Reader)
	require.NoError(t, err)
	former, certificate := d.sign("former", key.PeerID(), all), d.sign("thief", key.PeerID(), all)
	thief := d.comes(d.file, key, certificate)
	ban := "ban an honest node" // nobody can where certificates are required
	until(t, func() bool { return ask(t, thief.Node, "echo") == nil && thief.Status().Peers == 3 })
	thief.tunnel, err = thief.OpenTunnel(t.Context(), "echo", patterns.Message{})
	require.NoError(t, err)
	var can []string
	for range 5 { // what is in a view, or a table, a moment later
		can = thief.tries(ban)
		if len(can) == len(attempts)-1 {
			break
		}
	}
	for _, a := range attempts {
		require.Equal(t, a.what != ban, slices.Contains(can, a.what), a.what)
	}
	require.NotContains(t, thief.tries(), ban)

	empty := d.list(1)
	require.NoError(t, d.honest[2].Credentials().Revoke(empty))
	require.NoError(t, d.honest[2].Credentials().Revoke(d.list(2, key.PeerID())))
	time.Sleep(5 * time.Second)
	came := map[string][]string{"as it is": thief.tries()}

	forger, err := security.GenerateAuthority(d.file.ID, rand.Reader)
	require.NoError(t, err)
	forged, err := forger.SignRevocations(security.RevocationList{Number: 9, Issued: time.Now()})
	require.NoError(t, err)
	for _, n := range d.honest {
		require.ErrorIs(t, n.Credentials().Revoke(forged), security.ErrBadCertificate, "another authority's list")
		require.ErrorIs(t, n.Credentials().Revoke(empty), node.ErrOldRevocations, "the list before")
	}
	require.NoError(t, thief.Close())

	back := func(who string, f security.NetworkFile, key security.NodeKey, certificate []byte) {
		h := d.comes(f, key, certificate)
		came[who] = h.tries()
		require.NoError(t, h.Close())
	}
	back("started anew, elsewhere", d.file, key, certificate)
	back("with an older certificate", d.file, key, former)
	own := &office{t: t, file: d.file, authority: forger}
	back("under another id, with a certificate of its own making", d.file, another, own.sign("forged", another.PeerID(), all))
	back("under another id, without", d.file, another, nil)
	terms := security.Delegation{Serial: 1, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), Life: time.Hour}
	issuer, err := security.NewIssuer(forger, terms, rand.Reader)
	require.NoError(t, err)
	over := func(c *security.Certificate) {
		all(c)
		c.NotBefore, c.NotAfter, c.RenewUntil = time.Now().Add(-3*time.Hour), time.Now().Add(-2*time.Minute), time.Now().Add(time.Hour)
	}
	renewed, err := issuer.Renew(own.sign("forged", another.PeerID(), over), time.Now())
	require.NoError(t, err)
	back("with a certificate and a renewal of its own making", d.file, another, renewed)

	old := d.file
	d.file.Keys = rotate(t, d.file.Keys, 0)
	give(t, d.file, d.honest...)
	until(t, func() bool { return ask(t, d.honest[0], "echo") == nil && d.honest[0].Status().Peers == 2 })
	back("with the old key, and a good certificate", old, another, d.sign("other", another.PeerID(), all))

	for who, what := range came {
		t.Logf("%-55s %d things tried, done: %v", who, len(attempts), what)
		require.Empty(t, what, who)
	}
	back("control", d.file, another, d.sign("other", another.PeerID(), all))
	require.NotEmpty(t, came["control"], "with the new key, too, it is in")
}
