// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package issued_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/issued"
	"github.com/arke-mesh/arke/internal/verb"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

var network = security.NetworkID{1}

var noon = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// office is an authority, a roll at a node, and a clock that a test sets.
type office struct {
	t         testing.TB
	authority security.Authority
	self      peer.ID
	now       time.Time
	serial    uint64
	*issued.Roll
}

func newOffice(t testing.TB, required bool) *office {
	t.Helper()
	a, err := security.GenerateAuthority(network, rand.Reader)
	require.NoError(t, err)
	o := &office{t: t, authority: a, self: node(t), now: noon}
	o.Roll = issued.New(o.self, network, security.Issuance{Authority: a.ID(), Required: required}, func() time.Time { return o.now })
	return o
}

func node(t testing.TB) peer.ID {
	t.Helper()
	k, err := security.GenerateNodeKey(rand.Reader)
	require.NoError(t, err)
	return k.PeerID()
}

// sign makes a certificate of a day.
func (o *office) sign(p peer.ID, change func(*security.Certificate)) []byte {
	o.t.Helper()
	o.serial++
	c := security.Certificate{Serial: o.serial, Name: "web-1", Peer: p, NotBefore: noon, NotAfter: noon.Add(24 * time.Hour)}
	if change != nil {
		change(&c)
	}
	b, err := o.authority.Sign(c)
	require.NoError(o.t, err)
	return b
}

// admit has p show a good certificate in a Hello.
func (o *office) admit(p peer.ID, change func(*security.Certificate)) {
	o.t.Helper()
	_, err := o.Admit(p, o.sign(p, change))
	require.NoError(o.t, err)
}

func (o *office) revoke(number uint64, serials []uint64, peers ...peer.ID) bool {
	o.t.Helper()
	b, err := o.authority.SignRevocations(security.RevocationList{Number: number, Issued: noon, Serials: serials, Peers: peers})
	require.NoError(o.t, err)
	news, err := o.Revoke(b)
	require.NoError(o.t, err)
	return news
}

// TestWhoIsLetIn checks admission for each thing that can be wrong with a certificate,
// where one is required and where none is.
func TestWhoIsLetIn(t *testing.T) {
	for name, c := range map[string]struct {
		show     func(o *office, p peer.ID) []byte
		required error  // where a certificate is required
		optional error  // where it is not
		is       string // what the node is called then, "" = nothing
	}{
		"a good one":                     {func(o *office, p peer.ID) []byte { return o.sign(p, nil) }, nil, nil, "web-1"},
		"none":                           {func(*office, peer.ID) []byte { return nil }, security.ErrNoCertificate, nil, ""},
		"rubbish":                        {func(*office, peer.ID) []byte { return []byte("x") }, security.ErrBadCertificate, nil, ""},
		"another node's":                 {func(o *office, _ peer.ID) []byte { return o.sign(node(o.t), nil) }, security.ErrBadCertificate, nil, ""},
		"of another authority":           {func(o *office, p peer.ID) []byte { return newOffice(o.t, true).sign(p, nil) }, security.ErrBadCertificate, nil, ""},
		"one that is over":               {func(o *office, p peer.ID) []byte { b := o.sign(p, nil); o.now = noon.Add(25 * time.Hour); return b }, security.ErrExpired, nil, ""},
		"one whose time comes":           {func(o *office, p peer.ID) []byte { b := o.sign(p, nil); o.now = noon.Add(-time.Hour); return b }, security.ErrExpired, nil, ""},
		"within the tolerance":           {func(o *office, p peer.ID) []byte { b := o.sign(p, nil); o.now = noon.Add(-14 * time.Minute); return b }, nil, nil, "web-1"},
		"a revoked certificate":          {func(o *office, p peer.ID) []byte { b := o.sign(p, nil); o.revoke(1, []uint64{o.serial}); return b }, security.ErrRevoked, security.ErrRevoked, ""},
		"a revoked node":                 {func(o *office, p peer.ID) []byte { b := o.sign(p, nil); o.revoke(1, nil, p); return b }, security.ErrRevoked, security.ErrRevoked, ""},
		"a revoked node that shows none": {func(o *office, p peer.ID) []byte { o.revoke(1, nil, p); return nil }, security.ErrRevoked, security.ErrRevoked, ""},
		"the next one after a revoked one": {func(o *office, p peer.ID) []byte {
			o.sign(p, nil)
			o.revoke(1, []uint64{o.serial})
			return o.sign(p, nil)
		}, nil, nil, "web-1"},
	} {
		for _, required := range []bool{true, false} {
			o, p := newOffice(t, required), node(t)
			want := c.optional
			if required {
				want = c.required
			}
			shown := c.show(o, p)
			for range 2 { // what is remembered decides the same
				is, err := o.Admit(p, shown)
				if want != nil {
					require.ErrorIs(t, err, want, "%s, required %v", name, required)
					continue
				}
				require.NoError(t, err, "%s, required %v", name, required)
				require.Equal(t, c.is, is, "%s, required %v", name, required)
			}
		}
	}
}

// TestWhatACertificateAllows checks the rights of names, by verb, for names, topics,
// patterns and the names that Arke keeps for itself.
func TestWhatACertificateAllows(t *testing.T) {
	c := security.Certificate{
		Serve: []string{"geo", "db.>"}, Call: []string{">"}, Publish: []string{"news.*"}, Subscribe: []string{"news.>", "a"},
	}
	for _, w := range []struct {
		verb    verb.Verb
		name    string
		allowed bool
	}{
		{verb.Serve, "geo", true},
		{verb.Serve, "geo2", false},
		{verb.Serve, "db", false},
		{verb.Serve, "db.eu.1", true},
		{verb.Serve, "$members", false},
		{verb.Call, "anything", true},
		{verb.Call, "$members", false},
		{verb.Publish, "news.a", true},
		{verb.Publish, "news.a.b", false},
		{verb.Subscribe, "news.a", true},
		{verb.Subscribe, "news.*", true},
		{verb.Subscribe, "news.>", true},
		{verb.Subscribe, ">", false},
		{verb.Subscribe, "*", false},
		{verb.Subscribe, "a", true},
	} {
		require.Equal(t, w.allowed, issued.Allows(&c, w.verb, w.name), "%v %s", w.verb, w.name)
	}
	require.NoError(t, issued.CheckPatterns(&c))
	require.ErrorContains(t, issued.CheckPatterns(&security.Certificate{Call: []string{"a.>.b"}}), "--call: ")
	require.Error(t, issued.CheckPatterns(&security.Certificate{Serve: []string{"$members"}}))
}

// TestRightsFollowWhatWasShown checks who may do what: a peer by the certificate of its
// Hello until its link is gone, a member's node by the one of its record.
func TestRightsFollowWhatWasShown(t *testing.T) {
	o, p := newOffice(t, true), node(t)
	require.False(t, o.May(p, verb.Call, "geo"), "it has shown nothing")
	o.admit(p, func(c *security.Certificate) { c.Call, c.Publish = []string{"geo"}, []string{"news"} })
	for range 2 {
		require.True(t, o.May(p, verb.Call, "geo"))
		require.False(t, o.May(p, verb.Call, "other"))
		require.True(t, o.MayBytes(p, verb.Publish, []byte("news")))
		require.False(t, o.MayBytes(p, verb.Publish, []byte("geo")))
	}
	o.admit(p, func(c *security.Certificate) { c.Call = []string{"other"} })
	require.False(t, o.May(p, verb.Call, "geo"), "it has shown another one")
	require.True(t, o.May(p, verb.Call, "other"))
	o.Forget(p)
	require.False(t, o.May(p, verb.Call, "other"))

	record := o.sign(p, func(c *security.Certificate) { c.Serve, c.Subscribe = []string{"geo"}, []string{"news.>"} })
	name, err := o.Serves(p, record, "geo")
	require.NoError(t, err)
	require.Equal(t, "web-1", name)
	_, err = o.Serves(p, record, "other")
	require.ErrorContains(t, err, `the certificate of "web-1" does not let it serve "other"`)
	_, err = o.Serves(p, nil, "geo")
	require.ErrorIs(t, err, security.ErrNoCertificate)
	_, err = o.Serves(node(t), record, "geo")
	require.ErrorIs(t, err, security.ErrBadCertificate)
	_, err = o.Valid(p, record)
	require.NoError(t, err)
	require.True(t, o.Lets(p, record, verb.Subscribe, "news.a"))
	require.False(t, o.Lets(p, record, verb.Subscribe, ">"))
	require.True(t, o.revoke(1, nil, p))
	_, err = o.Serves(p, record, "geo")
	require.ErrorIs(t, err, security.ErrRevoked, "what was verified before is looked at again")
	require.False(t, o.Lets(p, record, verb.Subscribe, "news.a"))
}

// TestANodeKnowsWhatItMayNot checks that a node refuses what others would, with what to
// do about it.
func TestANodeKnowsWhatItMayNot(t *testing.T) {
	o := newOffice(t, true)
	err := o.Own(verb.Serve, "geo")
	require.ErrorIs(t, err, patterns.ErrUnauthorized)
	require.ErrorIs(t, err, security.ErrNoCertificate)
	require.Equal(t, security.ErrNoCertificate.Error(), o.Status().Fault)
	require.ErrorIs(t, o.Present(o.sign(node(t), nil)), security.ErrBadCertificate, "another node's")
	require.NoError(t, o.Present(o.sign(o.self, func(c *security.Certificate) { c.Serve = []string{"geo"} })))
	require.NoError(t, o.Own(verb.Serve, "geo"))
	err = o.Own(verb.Call, "geo")
	require.ErrorIs(t, err, patterns.ErrUnauthorized)
	require.ErrorContains(t, err, "arke authority sign --call geo")
	s := o.Status()
	require.Empty(t, s.Fault)
	require.Equal(t, "required", s.Mode)
	require.Equal(t, "web-1", s.Name)
	o.revoke(1, nil, o.self)
	require.Contains(t, o.Status().Fault, "revoked")

	o = newOffice(t, false)
	require.NoError(t, o.Own(verb.Serve, "geo"), "none is needed")
	require.Empty(t, o.Status().Fault)
	shared := issued.New(o.self, network, security.Issuance{}, func() time.Time { return noon })
	require.NoError(t, shared.Own(verb.Serve, "geo"))
	require.Equal(t, issued.Status{Mode: "shared"}, shared.Status())
	require.ErrorIs(t, shared.Present([]byte("x")), security.ErrBadCertificate)
	own := o.sign(o.self, nil)
	require.NoError(t, shared.Present(own), "it comes before the authority is named")
	require.Equal(t, own, shared.Certificate())
	require.NoError(t, shared.Own(verb.Serve, "geo"))
	shared.SetIssuance(o.Issuance())
	require.ErrorIs(t, shared.Own(verb.Serve, "geo"), patterns.ErrUnauthorized, "now it counts")
	_, err = shared.Admit(o.self, []byte("x"))
	require.NoError(t, err, "nobody looks")
}

// TestTheLargerNumberCounts checks that lists of revocations replace each other by their
// numbers only, and that nobody but the authority makes one.
func TestTheLargerNumberCounts(t *testing.T) {
	o, p := newOffice(t, true), node(t)
	shown := o.sign(p, nil)
	require.True(t, o.revoke(3, nil, p))
	require.False(t, o.revoke(2, nil), "an older one")
	require.False(t, o.revoke(3, nil), "the same number")
	_, err := o.Admit(p, shown)
	require.ErrorIs(t, err, security.ErrRevoked)
	require.True(t, o.revoke(4, nil))
	_, err = o.Admit(p, shown)
	require.NoError(t, err, "the new list counts, whole")
	other := newOffice(t, true)
	b, err := other.authority.SignRevocations(security.RevocationList{Number: 9, Issued: noon, Peers: []peer.ID{p}})
	require.NoError(t, err)
	_, err = o.Revoke(b)
	require.ErrorIs(t, err, security.ErrBadCertificate)
	require.ErrorIs(t, o.Verify("", 9, b), security.ErrBadCertificate)
	list, signed := o.Revocations()
	require.EqualValues(t, 4, list.Number)
	require.NoError(t, o.Verify("", 4, signed))
	require.Error(t, o.Verify("", 5, signed), "the statement's number is the list's")
	require.Error(t, o.Verify("somebody", 4, signed), "there is one list")
}

// TestANetworkMovesWhileItRuns checks what changes when an authority is added, required,
// and replaced.
func TestANetworkMovesWhileItRuns(t *testing.T) {
	o, p := newOffice(t, false), node(t)
	id := o.authority.ID()
	o.SetIssuance(security.Issuance{})
	require.True(t, o.May(p, verb.Call, "geo"))
	o.SetIssuance(security.Issuance{Authority: id})
	_, err := o.Admit(p, nil)
	require.NoError(t, err)
	require.True(t, o.May(p, verb.Call, "geo"), "who has none yet may everything")
	o.admit(p, nil)
	require.False(t, o.May(p, verb.Call, "geo"), "who has one has its rights")
	require.Equal(t, noon.Add(24*time.Hour+security.ClockTolerance).Unix(), o.Next(noon).Unix())
	require.True(t, o.Next(noon.Add(24*time.Hour+security.ClockTolerance)).IsZero(), "what has ended was looked at")
	o.SetIssuance(security.Issuance{Authority: id, Required: true})
	_, err = o.Admit(node(t), nil)
	require.ErrorIs(t, err, security.ErrNoCertificate)
	require.NoError(t, o.Present(o.sign(o.self, nil)))
	other := newOffice(t, true)
	o.SetIssuance(security.Issuance{Authority: other.authority.ID(), Required: true})
	require.Nil(t, o.Certificate(), "it was another authority's")
	require.False(t, o.May(p, verb.Call, "geo"))
}

func TestARefusedCertificateTakesNothingAway(t *testing.T) {
	// This test has a node show rubbish, another's certificate and one that is over, after
	// a good one: it may what that one lets it do, until that one is revoked.
	o, p := newOffice(t, true), node(t)
	o.admit(p, func(c *security.Certificate) { c.Call = []string{"geo"} })
	good := o.serial
	over := o.sign(p, func(c *security.Certificate) { c.NotBefore, c.NotAfter = noon.Add(-9*time.Hour), noon.Add(-time.Hour) })
	for _, bad := range [][]byte{nil, []byte("x"), o.sign(node(t), nil), over} {
		_, err := o.Admit(p, bad)
		require.Error(t, err)
		require.True(t, o.May(p, verb.Call, "geo"))
	}
	o.revoke(1, []uint64{good})
	_, err := o.Admit(p, []byte("x"))
	require.Error(t, err)
	require.False(t, o.May(p, verb.Call, "geo"), "it is good for nothing any more")
}

func TestWhoHasNoLinkIsForgotten(t *testing.T) {
	// This test has a node show its certificate in a Hello that comes to nothing, after its
	// link has ended: nothing is kept of it when it has had no link for two looks.
	o, linked, late := newOffice(t, true), node(t), node(t)
	admit := func(p peer.ID) { o.admit(p, func(c *security.Certificate) { c.Call = []string{"geo"} }) }
	admit(linked)
	o.Forget(late)
	admit(late)
	look := func() { issued.Sweep(o.Roll, func(p peer.ID) bool { return p == linked }) }
	look()
	require.True(t, o.May(late, verb.Call, "geo"), "its link may come")
	admit(late)
	look()
	require.True(t, o.May(late, verb.Call, "geo"), "it has said Hello again")
	look()
	require.False(t, o.May(late, verb.Call, "geo"))
	require.True(t, o.May(linked, verb.Call, "geo"))
}

// TestAskingCostsNoAllocation checks that what is asked for each message only looks up
// what was decided before, with and without an authority.
func TestAskingCostsNoAllocation(t *testing.T) {
	o, p := newOffice(t, true), node(t)
	o.admit(p, func(c *security.Certificate) { c.Call, c.Publish = []string{"geo.>"}, []string{"news.>"} })
	topic := []byte("news.today")
	ask := func() {
		if !o.May(p, verb.Call, "geo.eu") || !o.MayBytes(p, verb.Publish, topic) {
			panic("refused")
		}
	}
	ask()
	require.Zero(t, testing.AllocsPerRun(100, ask))
	o.SetIssuance(security.Issuance{})
	require.Zero(t, testing.AllocsPerRun(100, ask))
}

// TestWhatIsRememberedIsBounded checks that names which others choose don't fill memory,
// and that what was forgotten is decided the same again.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	o, p := newOffice(t, true), node(t)
	o.admit(p, func(c *security.Certificate) { c.Call = []string{"geo.*"} })
	for i := range 5000 {
		require.True(t, o.May(p, verb.Call, fmt.Sprintf("geo.%d", i)))
		require.False(t, o.May(p, verb.Call, fmt.Sprintf("other.%d", i)))
	}
}

func BenchmarkMay(b *testing.B) {
	o, p := newOffice(b, true), node(b)
	o.admit(p, func(c *security.Certificate) { c.Call = []string{"geo.>"} })
	b.ReportAllocs()
	for b.Loop() {
		o.May(p, verb.Call, "geo.eu")
	}
}
