// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package issued_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/issued"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

func (o *office) issuer() *issued.Issuer {
	o.t.Helper()
	key, err := security.NewIssuer(o.authority, security.Delegation{
		Serial: 99, NotBefore: noon, NotAfter: noon.Add(30 * 24 * time.Hour), Life: 6 * time.Hour,
	}, rand.Reader)
	require.NoError(o.t, err)
	return issued.NewIssuer(o.Roll, key)
}

func renewable(c *security.Certificate) { c.RenewUntil = noon.Add(10 * 24 * time.Hour) }

// TestWhatAnIssuerRenews checks each thing that can be wrong with what a node shows.
func TestWhatAnIssuerRenews(t *testing.T) {
	for what, c := range map[string]struct {
		show func(o *office, p peer.ID) []byte
		at   time.Duration
		code patterns.Code // 0 = it is renewed
	}{
		"a good one":           {func(o *office, p peer.ID) []byte { return o.sign(p, renewable) }, 20 * time.Hour, 0},
		"within the tolerance": {func(o *office, p peer.ID) []byte { return o.sign(p, renewable) }, 24*time.Hour + 14*time.Minute, 0},
		"over":                 {func(o *office, p peer.ID) []byte { return o.sign(p, renewable) }, 24*time.Hour + 15*time.Minute, issued.CodeRefused},
		"good for long":        {func(o *office, p peer.ID) []byte { return o.sign(p, renewable) }, time.Hour, issued.CodeNotYet},
		"not to be renewed":    {func(o *office, p peer.ID) []byte { return o.sign(p, nil) }, 20 * time.Hour, issued.CodeRefused},
		"another node's":       {func(o *office, _ peer.ID) []byte { return o.sign(node(o.t), renewable) }, 20 * time.Hour, issued.CodeRefused},
		"of another authority": {func(o *office, p peer.ID) []byte { return newOffice(o.t, true).sign(p, renewable) }, 20 * time.Hour, issued.CodeRefused},
		"none":                 {func(*office, peer.ID) []byte { return nil }, 20 * time.Hour, issued.CodeRefused},
		"revoked": {func(o *office, p peer.ID) []byte {
			b := o.sign(p, renewable)
			o.revoke(1, []uint64{o.serial})
			return b
		}, 20 * time.Hour, issued.CodeRefused},
		"of a revoked node":          {func(o *office, p peer.ID) []byte { o.revoke(1, nil, p); return o.sign(p, renewable) }, 20 * time.Hour, issued.CodeRefused},
		"renewed by who was revoked": {renewedByWhoIsRevoked, 21 * time.Hour, issued.CodeRefused},
	} {
		for _, required := range []bool{true, false} {
			o, p := newOffice(t, required), node(t)
			i := o.issuer()
			shown := c.show(o, p)
			o.now = noon.Add(c.at)
			got, err := i.Renew(p, shown)
			if c.code == 0 {
				require.NoError(t, err, what)
				opened, err := security.OpenCertificate(o.authority.ID(), network, got)
				require.NoError(t, err, what)
				require.True(t, opened.NotAfter.Equal(o.now.Add(6*time.Hour)), what)
				require.EqualValues(t, 1, i.Status().Renewed)
				continue
			}
			var refused *patterns.RemoteError
			require.ErrorAs(t, err, &refused, what)
			require.Equal(t, c.code, refused.Code, "%s: %v", what, err)
			require.EqualValues(t, 1, i.Status().Refused)
		}
	}
}

func renewedByWhoIsRevoked(o *office, p peer.ID) []byte {
	first := o.sign(p, renewable)
	o.now = noon.Add(20 * time.Hour)
	b, err := o.issuer().Renew(p, first)
	require.NoError(o.t, err)
	o.revoke(1, []uint64{99})
	return b
}

// TestAnIssuerDoesNotServeOneNodeAllTheTime proves the bound of what it does for each.
func TestAnIssuerDoesNotServeOneNodeAllTheTime(t *testing.T) {
	o := newOffice(t, true)
	i, greedy, modest := o.issuer(), node(t), node(t)
	o.now = noon.Add(20 * time.Hour)
	mine, other := o.sign(greedy, renewable), o.sign(modest, renewable)
	for range 4 {
		_, err := i.Renew(greedy, mine)
		require.NoError(t, err)
	}
	_, err := i.Renew(greedy, mine)
	require.ErrorIs(t, err, patterns.ErrOverloaded)
	_, err = i.Renew(modest, other)
	require.NoError(t, err)
	o.now = o.now.Add(10 * time.Second)
	_, err = i.Renew(greedy, mine)
	require.NoError(t, err)
	_, err = i.Renew(greedy, mine)
	require.ErrorIs(t, err, patterns.ErrOverloaded)
}

// TestALongerRenewalStays proves that a node which is shown its certificate as the
// authority signed it, as from a file that is read again, keeps the time that an issuer gave,
// unless that issuer was revoked.
func TestALongerRenewalStays(t *testing.T) {
	o := newOffice(t, true)
	first := o.sign(o.self, renewable)
	require.NoError(t, o.Present(first))
	o.now = noon.Add(20 * time.Hour)
	next, err := o.issuer().Renew(o.self, o.Certificate())
	require.NoError(t, err)
	require.NoError(t, o.Present(next))
	require.NoError(t, o.Present(first))
	require.Equal(t, next, o.Certificate())
	o.revoke(1, []uint64{99})
	require.ErrorIs(t, issued.Good(o.Roll, next), security.ErrRevoked)
	require.NoError(t, issued.Good(o.Roll, first))
	require.NoError(t, o.Present(first))
	require.Equal(t, first, o.Certificate(), "what a revoked issuer gave is in nobody's way")
	another := o.sign(o.self, nil)
	require.NoError(t, o.Present(another))
	require.Equal(t, another, o.Certificate(), "what the authority has signed anew counts")
}

// TestBadCertificatesAreVerifiedOnce proves that what is no certificate is remembered,
// and that no more is kept than a bound says.
func TestBadCertificatesAreVerifiedOnce(t *testing.T) {
	o := newOffice(t, true)
	p := node(t)
	bad := o.sign(p, nil)
	bad[len(bad)-1] ^= 1
	_, first := o.Admit(p, bad)
	require.ErrorIs(t, first, security.ErrBadCertificate)
	allocs := testing.AllocsPerRun(100, func() { _, _ = o.Admit(p, bad) })
	require.LessOrEqual(t, allocs, 1.0, "no signature is verified")
	for n := range 3000 {
		_, err := o.Admit(p, append(bad, byte(n), byte(n>>8)))
		require.ErrorIs(t, err, security.ErrBadCertificate)
	}
	_, again := o.Admit(p, bad)
	require.ErrorIs(t, again, security.ErrBadCertificate)
}
