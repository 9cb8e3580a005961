// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"crypto/rand"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/issued"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// brief is a certificate of twelve seconds, of which eight are over, that may be renewed.
func brief(c *security.Certificate) {
	all(c)
	c.Serve = append(c.Serve, issued.Cluster)
	now := time.Now().Truncate(time.Second)
	c.NotBefore, c.NotAfter, c.RenewUntil = now.Add(-8*time.Second), now.Add(4*time.Second), now.Add(time.Hour)
}

func (o *office) issuer(life time.Duration) security.Issuer {
	o.t.Helper()
	now := time.Now().Truncate(time.Second)
	key, err := security.NewIssuer(o.authority, security.Delegation{Serial: 1 << 40, NotBefore: now, NotAfter: now.Add(time.Hour), Life: life}, rand.Reader)
	require.NoError(o.t, err)
	return key
}

// TestNodesRenewTheirCertificatesBeforeTheyEnd proves that nodes have issuers give
// their certificates more time, again and again, issuers too, while requests flow: none is lost, and no
// link is made anew. Where there is no issuer the status says so.
func TestNodesRenewTheirCertificatesBeforeTheyEnd(t *testing.T) {
	o := newOffice(t, true)
	a := o.start("a", brief)
	b := o.start("b", brief, a)
	serve(t, a, "geo", echo, patterns.Limits{})
	require.NoError(t, ask(t, b, "geo"))
	until(t, func() bool { return b.Status().Certificate.RenewalFault != "" })
	sessions := b.Status().Links

	_, err := a.Issue(t.Context(), o.issuer(6*time.Second))
	require.NoError(t, err)
	_, err = b.Serve(t.Context(), issued.Cluster, echo, patterns.Limits{})
	require.Error(t, err, "programs can't")
	var lost atomic.Int64
	until(t, func() bool {
		if err := ask(t, b, "geo"); err != nil {
			t.Log(err)
			lost.Add(1)
		}
		return a.Status().Certificate.Renewals >= 2 && b.Status().Certificate.Renewals >= 2
	})
	require.Zero(t, lost.Load())
	s := b.Status()
	require.Empty(t, s.Certificate.RenewalFault)
	require.Empty(t, s.Certificate.Fault)
	require.True(t, s.Certificate.NotAfter.After(time.Now()))
	require.False(t, s.Certificate.Renewed.IsZero())
	require.Len(t, s.Links, len(sessions))
	for i := range sessions {
		require.Equal(t, sessions[i].Session, s.Links[i].Session)
	}
	require.GreaterOrEqual(t, a.Status().Certificate.Issuer.Renewed, uint64(4))
}

// TestARenewedCertificateOutlivesARestart proves that a node keeps it in its data
// directory: after a restart with the certificate that the authority signed, which has ended meanwhile,
// the renewed one counts, and after one with another certificate that one.
func TestARenewedCertificateOutlivesARestart(t *testing.T) {
	o := newOffice(t, true)
	dir := filepath.Join(t.TempDir(), "d")
	key, err := security.GenerateNodeKey(rand.Reader)
	require.NoError(t, err)
	first := o.sign("n", key.PeerID(), brief)
	boot := func(certificate []byte) *node.Node {
		return start(t, o.file, func(c *node.Config) { c.DataDir, c.NodeKey, c.Certificate = dir, key, certificate })
	}
	n := boot(first)
	_, err = n.Issue(t.Context(), o.issuer(time.Minute))
	require.NoError(t, err)
	until(t, func() bool { return n.Status().Certificate.Renewals == 1 })
	ends := n.Status().Certificate.NotAfter
	require.NoError(t, n.Credentials().Show(first), "as from its file, on SIGHUP")
	require.Equal(t, ends, n.Status().Certificate.NotAfter)
	require.NoError(t, n.Close())

	n = boot(first)
	require.Equal(t, ends, n.Status().Certificate.NotAfter)
	require.NoError(t, n.Close())
	n = boot(o.sign("n", key.PeerID(), all))
	require.NotEqual(t, ends, n.Status().Certificate.NotAfter)
}

// TestTheOriginalCountsAgainOnceItsIssuerIsRevoked proves that a node shows its certificate
// as the authority signed it when the delegation is revoked by which it was renewed,
// and takes no other renewal of that issuer.
func TestTheOriginalCountsAgainOnceItsIssuerIsRevoked(t *testing.T) {
	o := newOffice(t, true)
	n := o.start("n", brief)
	ended := n.Status().Certificate.NotAfter
	_, err := n.Issue(t.Context(), o.issuer(time.Minute))
	require.NoError(t, err)
	until(t, func() bool { return n.Status().Certificate.Renewals == 1 })
	require.NotEqual(t, ended, n.Status().Certificate.NotAfter)
	list, err := o.authority.SignRevocations(security.RevocationList{Number: 1, Issued: time.Now().Truncate(time.Second), Serials: []uint64{1 << 40}})
	require.NoError(t, err)
	require.NoError(t, n.Credentials().Revoke(list))
	until(t, func() bool { return n.Status().Certificate.RenewalFault != "" })
	s := n.Status().Certificate
	require.Equal(t, ended, s.NotAfter)
	require.Empty(t, s.Fault, "it ended a moment ago, or did not yet")
	require.EqualValues(t, 1, s.Renewals)
}

// TestWhoMayIssue proves that a node needs the right in its certificate, by name, and a
// key to which this network's authority has delegated.
func TestWhoMayIssue(t *testing.T) {
	o := newOffice(t, true)
	n := o.start("n", all)
	_, err := n.Issue(t.Context(), o.issuer(time.Minute))
	require.ErrorIs(t, err, patterns.ErrUnauthorized)
	n = o.start("m", brief)
	_, err = n.Issue(t.Context(), newOffice(t, true).issuer(time.Minute))
	require.ErrorContains(t, err, "another network")
	other, err := security.GenerateAuthority(o.file.ID, rand.Reader)
	require.NoError(t, err)
	_, err = n.Issue(t.Context(), (&office{t: t, authority: other}).issuer(time.Minute))
	require.ErrorContains(t, err, other.ID().String())
}
