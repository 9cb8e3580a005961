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

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// office is an issued network on loopback.
type office struct {
	t         *testing.T
	file      security.NetworkFile
	authority security.Authority
	serial    uint64
}

func newOffice(t *testing.T, required bool) *office {
	t.Helper()
	f := newNetwork(t)
	a, err := security.GenerateAuthority(f.ID, rand.Reader)
	require.NoError(t, err)
	f.Issuance = security.Issuance{Authority: a.ID(), Required: required}
	return &office{t: t, file: f, authority: a}
}

// rights change a certificate that allows nothing.
type rights func(*security.Certificate)

func all(c *security.Certificate) {
	c.Serve, c.Call, c.Publish, c.Subscribe = []string{">"}, []string{">"}, []string{">"}, []string{">"}
}

func (o *office) sign(name string, p peer.ID, r rights) []byte {
	o.t.Helper()
	o.serial++
	c := security.Certificate{Serial: o.serial, Name: name, Peer: p, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	if r != nil {
		r(&c)
	}
	b, err := o.authority.Sign(c)
	require.NoError(o.t, err)
	return b
}

// start starts a node with a certificate; nil = without one.
func (o *office) start(name string, r rights, seeds ...*node.Node) *node.Node {
	o.t.Helper()
	return o.startWith(o.file, name, r, seeds...)
}

// lawless starts a node that obeys no certificate, not its own either: it has taken the
// authority out of its file.
func (o *office) lawless(name string, r rights, seeds ...*node.Node) *node.Node {
	o.t.Helper()
	f := o.file
	f.Issuance = security.Issuance{}
	return o.startWith(f, name, r, seeds...)
}

func (o *office) startWith(f security.NetworkFile, name string, r rights, seeds ...*node.Node) *node.Node {
	o.t.Helper()
	key, err := security.GenerateNodeKey(rand.Reader)
	require.NoError(o.t, err)
	return start(o.t, f, func(c *node.Config) {
		c.NodeKey = key
		if r != nil {
			c.Certificate = o.sign(name, key.PeerID(), r)
		}
	}, seeds...)
}

func (o *office) list(number uint64, peers ...peer.ID) []byte {
	o.t.Helper()
	b, err := o.authority.SignRevocations(security.RevocationList{Number: number, Issued: time.Now(), Peers: peers})
	require.NoError(o.t, err)
	return b
}

func ask(t *testing.T, n *node.Node, cluster string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := n.Request(ctx, cluster, patterns.Message{Body: []byte("x")})
	return err
}

func linked(n *node.Node, to *node.Node) bool {
	for _, l := range n.Status().Links {
		if l.Peer == to.Self().String() && l.State == "up" {
			return true
		}
	}
	return false
}

// TestOnlyCertificatesLetIn proves that in a network that requires certificates a node
// without one has no link to anybody and is in nobody's routing table, whatever its file
// says, and that the others are called by the names of theirs.
func TestOnlyCertificatesLetIn(t *testing.T) {
	o := newOffice(t, true)
	a := o.start("a", all)
	b := o.start("b", all, a)
	serve(t, a, "geo", echo, patterns.Limits{})
	require.NoError(t, ask(t, b, "geo"))
	members, err := b.Members(t.Context(), "geo")
	require.NoError(t, err)
	require.Len(t, members, 1)
	require.Equal(t, "a", members[0].Name)
	for _, l := range b.Status().Links {
		require.Equal(t, "a", l.Name)
	}
	require.Equal(t, "b", b.Status().Name)

	stranger := o.lawless("", nil, a, b)
	require.Error(t, ask(t, stranger, "geo"))
	require.False(t, linked(stranger, a) || linked(stranger, b) || linked(a, stranger) || linked(b, stranger))
	obedient := o.start("", nil, a)
	require.ErrorIs(t, ask(t, obedient, "geo"), patterns.ErrUnauthorized)
	require.ErrorIs(t, ask(t, obedient, "geo"), security.ErrNoCertificate)
	require.NotEmpty(t, obedient.Status().Certificate.Fault)
	for _, n := range []*node.Node{a, b} {
		require.Equal(t, 1, n.Status().Peers, "the router knows the other one only")
	}
}

// TestRightsHoldAgainstWhoObeysNone proves that callers, members, publishers and
// subscribers each refuse what another node's certificate does not allow.
func TestWhoIsTurnedAwayDoesNotSayThatNobodyServes(t *testing.T) {
	// This test has nodes that the others do not let in ask for a cluster that is served:
	// one without a certificate whose file does not say yet that one is required, and one
	// that was banned. Neither takes itself for alone and says that there are no members:
	// the error and the status say who does not let it in, and why where that is told. Who
	// does not let them in knows as before that nobody serves another cluster.
	o := newOffice(t, true)
	a := o.start("a", all)
	serve(t, a, "geo", echo, patterns.Limits{})
	late := o.file
	late.Issuance.Required = false
	without := o.startWith(late, "", nil, a)

	shared := newNetwork(t)
	b := start(t, shared, nil)
	serve(t, b, "geo", echo, patterns.Limits{})
	key, err := security.GenerateNodeKey(rand.Reader)
	require.NoError(t, err)
	give(t, banning(shared, key.PeerID()), b)
	out := start(t, shared, func(c *node.Config) { c.NodeKey = key }, b)

	for n, why := range map[*node.Node]string{without: "does not let this node in, and says", out: "does not let this node in"} {
		until(t, func() bool { return n.Status().TurnedAway != "" })
		require.Contains(t, n.Status().TurnedAway, why)
		err := ask(t, n, "geo")
		require.ErrorIs(t, err, patterns.ErrUnreachable)
		require.ErrorContains(t, err, why)
	}
	require.Contains(t, without.Status().TurnedAway, "a (")
	require.Contains(t, without.Status().TurnedAway, security.ErrNoCertificate.Error()[len("security: "):])
	for _, n := range []*node.Node{a, b} {
		require.ErrorIs(t, ask(t, n, "nothing"), patterns.ErrNoMembers)
		require.Empty(t, n.Status().TurnedAway)
	}
}

func TestRightsHoldAgainstWhoObeysNone(t *testing.T) {
	o := newOffice(t, true)
	a := o.start("a", all)
	serve(t, a, "geo", echo, patterns.Limits{})
	nobody := o.lawless("nobody", func(*security.Certificate) {}, a)
	until(t, func() bool { return linked(nobody, a) || ask(t, nobody, "geo") != nil })

	// It may not call.
	require.ErrorIs(t, ask(t, nobody, "geo"), patterns.ErrUnauthorized)
	require.Positive(t, a.Status().Drops["request.not_allowed"])

	// It may not serve: who has the key of the cluster sees its lease, and no member.
	serve(t, nobody, "fake", echo, patterns.Limits{})
	until(t, func() bool { return ask(t, a, "fake") != nil && a.Status().Drops["cluster.lease_not_allowed"] > 0 })
	require.ErrorIs(t, ask(t, a, "fake"), patterns.ErrNoMembers)

	// It may not publish, and may not listen.
	var heard, spied atomic.Int64
	_, err := a.Subscribe(t.Context(), "news.>", patterns.SubscriberFunc(func(patterns.Publication) { heard.Add(1) }), patterns.SubscribeOptions{})
	require.NoError(t, err)
	_, err = nobody.Subscribe(t.Context(), "news.>", patterns.SubscriberFunc(func(p patterns.Publication) {
		if p.From == a.Self().String() {
			spied.Add(1)
		}
	}), patterns.SubscribeOptions{})
	require.NoError(t, err)
	require.NoError(t, nobody.Publish(t.Context(), "news.today", patterns.Message{Body: []byte("forged")}))
	until(t, func() bool { return a.Status().Drops["pubsub.not_allowed"] > 0 })
	require.NoError(t, a.Publish(t.Context(), "news.today", patterns.Message{Body: []byte("true")}))
	until(t, func() bool { return heard.Load() == 1 })
	time.Sleep(100 * time.Millisecond) // what is sent to it would be there by now
	require.Zero(t, spied.Load())

	// The same, allowed.
	someone := o.lawless("someone", func(c *security.Certificate) {
		c.Serve, c.Call, c.Publish, c.Subscribe = []string{"fake"}, []string{"geo"}, []string{"news.*"}, []string{"news.>"}
	}, a)
	require.NoError(t, ask(t, someone, "geo"))
	serve(t, someone, "fake", echo, patterns.Limits{})
	require.NoError(t, ask(t, a, "fake"))
	require.NoError(t, someone.Publish(t.Context(), "news.today", patterns.Message{}))
	until(t, func() bool { return heard.Load() == 2 })
}

// TestANodeRefusesItsOwnClientsFirst proves that what a node's certificate does not
// allow is refused before anything is sent.
func TestANodeRefusesItsOwnClientsFirst(t *testing.T) {
	o := newOffice(t, true)
	n := o.start("n", func(c *security.Certificate) { c.Call = []string{"geo"} })
	_, err := n.Serve(t.Context(), "geo", echo, patterns.Limits{})
	require.ErrorIs(t, err, patterns.ErrUnauthorized)
	require.ErrorContains(t, err, "--serve geo")
	require.ErrorIs(t, ask(t, n, "other"), patterns.ErrUnauthorized)
	require.ErrorIs(t, ask(t, n, "geo"), patterns.ErrNoMembers)
	require.ErrorIs(t, ask(t, n, "geo@eu"), patterns.ErrNoMembers, "who may call a cluster may ask for it in any network")
	require.ErrorIs(t, ask(t, n, "other@eu"), patterns.ErrUnauthorized)
	require.ErrorIs(t, n.Publish(t.Context(), "news", patterns.Message{}), patterns.ErrUnauthorized)
	require.ErrorIs(t, n.TryPublish("news", patterns.Message{}), patterns.ErrUnauthorized)
	_, err = n.Subscribe(t.Context(), "news", patterns.SubscriberFunc(func(patterns.Publication) {}), patterns.SubscribeOptions{})
	require.ErrorIs(t, err, patterns.ErrUnauthorized)
}

// TestARevokedNodeIsCutOffEverywhere proves that a list of revocations that one node is
// told reaches all, ends the links to the node it names within five seconds, and keeps
// it out; also by a node that restarts, and has only its data directory.
func TestARevokedNodeIsCutOffEverywhere(t *testing.T) {
	o := newOffice(t, true)
	a := o.start("a", all)
	b := o.start("b", all, a)
	thief := o.lawless("thief", all, a, b)
	var fromThief atomic.Int64
	honest := patterns.HandlerFunc(func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
		if r.From == thief.Self().String() {
			fromThief.Add(1)
		}
		return echo(ctx, r)
	})
	serve(t, a, "geo", honest, patterns.Limits{})
	serve(t, b, "geo", honest, patterns.Limits{})
	serve(t, thief, "geo", echo, patterns.Limits{})
	until(t, func() bool {
		return ask(t, thief, "geo") == nil && ask(t, a, "geo") == nil && ask(t, b, "geo") == nil && linked(a, thief) && linked(b, thief) && fromThief.Load() > 0
	})
	until(t, func() bool { return a.Status().Peers == 2 && b.Status().Peers == 2 })
	require.ErrorIs(t, a.Credentials().Revoke([]byte("x")), security.ErrBadCertificate)
	from := time.Now()
	list := o.list(1, thief.Self()) // with its time: made a second later it is another one
	require.NoError(t, a.Credentials().Revoke(list))
	until(t, func() bool {
		return !linked(a, thief) && !linked(b, thief) && a.Status().Peers == 1 && b.Status().Peers == 1
	})
	require.Less(t, time.Since(from), 5*time.Second)
	until(t, func() bool {
		for _, n := range []*node.Node{a, b} {
			members, err := n.Members(t.Context(), "geo")
			if err != nil || slices.ContainsFunc(members, func(m patterns.Member) bool { return m.Peer == thief.Self().String() }) {
				return false
			}
		}
		return true
	})
	answered := fromThief.Load()
	for range 20 {
		_ = ask(t, thief, "geo") // its own member may answer it
	}
	require.Equal(t, answered, fromThief.Load(), "what it asks reaches nobody else")
	require.Equal(t, []int{1, 1}, []int{a.Status().Peers, b.Status().Peers}, "its calls bring it into no routing table")
	require.NoError(t, a.Credentials().Revoke(list), "it is known")
	require.ErrorIs(t, b.Credentials().Revoke(o.list(1, a.Self())), node.ErrOldRevocations, "it is another one, with the same number")
	require.EqualValues(t, 1, b.Status().Certificate.Revocations)
}

// TestRevocationsOutliveARestart proves that a node keeps them in its data directory:
// the newest, if many come at once.
func TestRevocationsOutliveARestart(t *testing.T) {
	o := newOffice(t, false)
	dir := t.TempDir()
	n := start(t, o.file, func(c *node.Config) { c.DataDir = dir + "/d" })
	for number := range uint64(100) {
		require.NoError(t, n.Credentials().Revoke(o.list(number+1)))
	}
	require.NoError(t, n.Close())
	n = start(t, o.file, func(c *node.Config) { c.DataDir = dir + "/d" })
	require.EqualValues(t, 100, n.Status().Certificate.Revocations)
}

// TestANetworkMovesFromSharedToIssuedWhileItRuns proves that nobody is refused on the
// way as long as the steps are taken in order, and who has none is at the end.
func TestANetworkMovesFromSharedToIssuedWhileItRuns(t *testing.T) {
	o := newOffice(t, true)
	required := o.file.Issuance
	optional := required
	optional.Required = false
	o.file.Issuance = security.Issuance{}
	a := o.start("", nil)
	b := o.start("", nil, a)
	late := o.start("", nil, a)
	serve(t, a, "geo", echo, patterns.Limits{})
	works := func() { t.Helper(); require.NoError(t, ask(t, b, "geo")) }
	works()
	for _, n := range []*node.Node{a, b, late} {
		n.Credentials().SetIssuance(optional)
		works()
	}
	require.NoError(t, a.Credentials().Show(o.sign("a", a.Self(), all)))
	works()
	require.NoError(t, b.Credentials().Show(o.sign("b", b.Self(), all)))
	works()
	require.NoError(t, ask(t, late, "geo"))
	until(t, func() bool {
		m, err := b.Members(t.Context(), "geo")
		return err == nil && len(m) == 1 && m[0].Name == "a"
	})
	until(t, func() bool {
		return slices.ContainsFunc(a.Status().Links, func(l overlay.LinkStatus) bool { return l.Name == "b" })
	})
	a.Credentials().SetIssuance(required)
	works()
	b.Credentials().SetIssuance(required)
	works()
	until(t, func() bool { return !linked(a, late) && !linked(b, late) })
	require.Error(t, ask(t, late, "geo"))
}

// TestAnotherAuthorityBeginsWithItsFirstList proves that the number of one authority's list
// keeps no list of the next one away.
func TestAnotherAuthorityBeginsWithItsFirstList(t *testing.T) {
	o := newOffice(t, false)
	dir := t.TempDir() + "/d"
	list := o.list(7)
	n := start(t, o.file, func(c *node.Config) { c.DataDir, c.Revocations = dir, list })
	other := start(t, o.file, nil, n)
	serve(t, n, "geo", echo, patterns.Limits{})
	require.NoError(t, ask(t, other, "geo"))
	until(t, func() bool { return other.Status().Certificate.Revocations == 7 })
	next := newOffice(t, false)
	key, err := security.GenerateAuthority(o.file.ID, rand.Reader)
	require.NoError(t, err)
	next.authority = key
	for _, each := range []*node.Node{n, other} {
		each.Credentials().SetIssuance(security.Issuance{Authority: key.ID()})
	}
	require.NoError(t, n.Credentials().Revoke(next.list(1)))
	until(t, func() bool { return other.Status().Certificate.Revocations == 1 })
}

// TestBansOfKeysEndWhereCertificatesAreRequired proves that a ban which a holder of the
// network's key has said ends where certificates are required from now on, and comes back
// where they are no longer, also if the file is not read again.
func TestBansOfKeysEndWhereCertificatesAreRequired(t *testing.T) {
	o := newOffice(t, true)
	required := o.file.Issuance
	optional := required
	optional.Required = false
	o.file.Issuance = optional
	a := o.start("a", all)
	b := o.start("b", all, a)
	c := o.start("c", all, a, b)
	serve(t, b, "geo", echo, patterns.Limits{})
	require.NoError(t, ask(t, c, "geo"))
	give(t, banning(o.file, c.Self()), a)
	until(t, func() bool { return !linked(b, c) })
	b.Credentials().SetIssuance(required)
	until(t, func() bool { return ask(t, c, "geo") == nil })
	require.False(t, linked(a, c), "its own file bans it")
	b.Credentials().SetIssuance(optional)
	until(t, func() bool { return !linked(b, c) })
}

// TestListsOfTheConfigurationAreKept proves that a restart without them knows them.
func TestListsOfTheConfigurationAreKept(t *testing.T) {
	o := newOffice(t, false)
	dir := t.TempDir() + "/d"
	require.NoError(t, start(t, o.file, func(c *node.Config) { c.DataDir, c.Revocations = dir, o.list(7) }).Close())
	n := start(t, o.file, func(c *node.Config) { c.DataDir = dir })
	require.EqualValues(t, 7, n.Status().Certificate.Revocations)
}

// TestWhereCertificatesAreRequiredNoKeyBans proves that a ban in one node's file holds at
// that node, and that it can't have the others do the same: only the authority can.
func TestWhereCertificatesAreRequiredNoKeyBans(t *testing.T) {
	o := newOffice(t, true)
	a := o.start("a", all)
	b := o.start("b", all, a)
	c := o.start("c", all, a, b)
	serve(t, a, "at a", echo, patterns.Limits{})
	serve(t, b, "at b", echo, patterns.Limits{})
	require.NoError(t, ask(t, c, "at a"))
	require.NoError(t, ask(t, c, "at b"))
	require.NoError(t, ask(t, a, "at b"))
	give(t, banning(o.file, c.Self()), a)
	until(t, func() bool { return !linked(a, c) })
	require.NoError(t, a.Credentials().Revoke(o.list(1))) // comes after a statement about a ban, if there were one
	until(t, func() bool { return b.Status().Certificate.Revocations == 1 })
	require.True(t, linked(b, c))
	require.NoError(t, ask(t, c, "at b"))
}
