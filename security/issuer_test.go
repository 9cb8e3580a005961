// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

const day = 24 * time.Hour

// testTerms are those of the vectors.
var testTerms = security.Delegation{Serial: 9, NotBefore: noon, NotAfter: noon.Add(30 * day), Life: 6 * time.Hour}

func testIssuer(t testing.TB, terms security.Delegation) security.Issuer {
	t.Helper()
	i, err := security.NewIssuer(testAuthority(t), terms, seeded("issuer"))
	require.NoError(t, err)
	return i
}

// renewable is the test certificate, which may be renewed for ten days.
func renewable(t testing.TB, p peer.ID) []byte {
	t.Helper()
	c := testCertificate(p)
	c.RenewUntil = noon.Add(10 * day)
	signed, err := testAuthority(t).Sign(c)
	require.NoError(t, err)
	return signed
}

func renew(t testing.TB, i security.Issuer, encoded []byte, now time.Time) []byte {
	t.Helper()
	signed, err := i.Renew(encoded, now)
	require.NoError(t, err)
	return signed
}

// TestRenewalsAgreeWithASecondImplementation proves delegation and renewed certificate
// against vectors that another program made from the descriptions in this package.
func TestRenewalsAgreeWithASecondImplementation(t *testing.T) {
	vectors := readVectors(t)
	seed := make([]byte, 32)
	for i := range seed {
		seed[i] = 0x40 + byte(i)
	}
	a := testAuthority(t)
	i, err := security.NewIssuer(a, testTerms, strings.NewReader(string(seed)))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "issuer.key")
	require.NoError(t, security.WriteIssuer(path, i))
	require.Contains(t, string(read(t, path)), "\ndelegation "+hex.EncodeToString(vectors["delegation"])+"\n")

	c := renewable(t, peer.ID(vectors["peer"]))
	require.Equal(t, hex.EncodeToString(vectors["renewable certificate"]), hex.EncodeToString(c))
	c = renew(t, i, c, noon.Add(20*time.Hour))
	require.Equal(t, hex.EncodeToString(vectors["renewed certificate"]), hex.EncodeToString(c))
}

// TestAnIssuerGivesTimeAndNothingElse proves that a renewed certificate has the node,
// the rights and the serial number that the authority has signed, for as long as
// delegation and certificate allow, again and again, and does not grow.
func TestAnIssuerGivesTimeAndNothingElse(t *testing.T) {
	a, i, p := testAuthority(t), testIssuer(t, testTerms), newPeer(t, "node")
	encoded := renewable(t, p)
	original, err := security.OpenCertificate(a.ID(), a.Network(), encoded)
	require.NoError(t, err)
	first, size := encoded, 0
	for now := noon.Add(20 * time.Hour); now.Before(noon.Add(10*day - 6*time.Hour)); now = now.Add(5 * time.Hour) {
		encoded = renew(t, i, encoded, now)
		got, err := security.OpenCertificate(a.ID(), a.Network(), encoded)
		require.NoError(t, err)
		require.True(t, got.NotAfter.Equal(now.Add(6*time.Hour)), "%s", got.NotAfter)
		require.EqualValues(t, 9, got.Issuer)
		described, err := security.DescribeCertificate(encoded)
		require.NoError(t, err)
		require.Equal(t, got, described)
		got.NotBefore, got.NotAfter, got.Issuer = original.NotBefore, original.NotAfter, 0
		require.Equal(t, original, got)
		require.True(t, security.Renews(encoded, first))
		if size != 0 {
			require.Len(t, encoded, size)
		}
		size = len(encoded)
	}
	encoded = renew(t, i, encoded, noon.Add(10*day-time.Hour))
	last, err := security.OpenCertificate(a.ID(), a.Network(), encoded)
	require.NoError(t, err)
	require.True(t, last.NotAfter.Equal(noon.Add(10*day)), "as long as the authority has said")
	_, err = i.Renew(encoded, noon.Add(10*day-time.Minute))
	require.ErrorIs(t, err, security.ErrNotYet)
	_, err = i.Renew(encoded, noon.Add(10*day))
	require.ErrorIs(t, err, security.ErrNotRenewable)
}

// TestWhatAnIssuerDoesNotRenew proves that it refuses what the authority did not sign,
// or not for that, and has no time to give beyond its own.
func TestWhatAnIssuerDoesNotRenew(t *testing.T) {
	i, p := testIssuer(t, testTerms), newPeer(t, "node")
	once, err := testAuthority(t).Sign(testCertificate(p))
	require.NoError(t, err)
	foreign, err := security.GenerateAuthority(i.Network(), seeded("other"))
	require.NoError(t, err)
	c := testCertificate(p)
	c.RenewUntil = noon.Add(10 * day)
	forged, err := foreign.Sign(c)
	require.NoError(t, err)
	for what, test := range map[string]struct {
		encoded []byte
		at      time.Duration
		err     error
	}{
		"not signed for that":      {once, 20 * time.Hour, security.ErrNotRenewable},
		"of another authority":     {forged, 20 * time.Hour, security.ErrBadCertificate},
		"rubbish":                  {[]byte("x"), 20 * time.Hour, security.ErrBadCertificate},
		"nothing":                  {nil, 20 * time.Hour, security.ErrBadCertificate},
		"good for longer already":  {renewable(t, p), time.Hour, security.ErrNotYet},
		"before the delegation":    {renewable(t, p), -time.Second, security.ErrNotRenewable},
		"after the delegation":     {renewable(t, p), 30 * day, security.ErrNotRenewable},
		"after what it may become": {renewable(t, p), 11 * day, security.ErrNotRenewable},
	} {
		_, err := i.Renew(test.encoded, noon.Add(test.at))
		require.ErrorIs(t, err, test.err, what)
	}
	short := testTerms
	short.NotAfter = noon.Add(25 * time.Hour)
	got, err := security.DescribeCertificate(renew(t, testIssuer(t, short), renewable(t, p), noon.Add(20*time.Hour)))
	require.NoError(t, err)
	require.True(t, got.NotAfter.Equal(short.NotAfter), "no longer than the delegation")
	_, err = testIssuer(t, short).Renew(renew(t, testIssuer(t, testTerms), renewable(t, p), noon.Add(20*time.Hour)), noon.Add(21*time.Hour))
	require.ErrorContains(t, err, "arke authority delegate")
}

// TestWhatWasChangedIsNoRenewedCertificate proves that each flipped bit and each cut of
// a renewed certificate is refused, and each part in place of another one's.
func TestWhatWasChangedIsNoRenewedCertificate(t *testing.T) {
	a, i, p := testAuthority(t), testIssuer(t, testTerms), newPeer(t, "node")
	refused := func(encoded []byte, what string, args ...any) {
		t.Helper()
		_, err := security.OpenCertificate(a.ID(), a.Network(), encoded)
		require.ErrorIs(t, err, security.ErrBadCertificate, append([]any{what}, args...)...)
	}
	signed := renew(t, i, renewable(t, p), noon.Add(20*time.Hour))
	forEachChange(signed, func(changed []byte) { refused(changed, "%x", changed) })

	// Splices: the certificate of another node, another issuer's delegation, and an
	// issuer to whom nobody has delegated.
	other := renew(t, i, renewable(t, newPeer(t, "other")), noon.Add(20*time.Hour))
	head := len(renewable(t, p)) + 3
	require.Len(t, other, len(signed))
	refused(append(append([]byte(nil), other[:head]...), signed[head:]...), "another node's")
	terms := testTerms
	terms.Life = 9 * day
	wider, err := security.NewIssuer(a, terms, seeded("wider"))
	require.NoError(t, err)
	longer := renew(t, wider, renewable(t, p), noon.Add(20*time.Hour))
	tail := len(signed) - 64 - 16
	refused(append(append([]byte(nil), longer[:tail]...), signed[tail:]...), "another issuer's delegation")
	refused(append(append([]byte(nil), signed[:tail]...), longer[tail:]...), "more time than delegated")
	foreign, err := security.GenerateAuthority(a.Network(), seeded("foreign"))
	require.NoError(t, err)
	rogue, err := security.NewIssuer(foreign, testTerms, seeded("rogue"))
	require.NoError(t, err)
	_, err = rogue.Renew(renewable(t, p), noon.Add(20*time.Hour))
	require.ErrorIs(t, err, security.ErrBadCertificate)
}

// TestARevokedDelegationTakesAllBackThatItRenewed proves that a list with its serial
// number is about what was renewed by it, and not about the certificate before.
func TestARevokedDelegationTakesAllBackThatItRenewed(t *testing.T) {
	first := renewable(t, newPeer(t, "node"))
	before, err := security.DescribeCertificate(first)
	require.NoError(t, err)
	after, err := security.DescribeCertificate(renew(t, testIssuer(t, testTerms), first, noon.Add(20*time.Hour)))
	require.NoError(t, err)
	list := security.RevocationList{Serials: []uint64{9}}
	require.False(t, list.Revokes(&before))
	require.True(t, list.Revokes(&after))
	list.Serials = []uint64{before.Serial}
	require.True(t, list.Revokes(&before))
	require.True(t, list.Revokes(&after))
	zero := security.RevocationList{}
	require.False(t, zero.Revokes(&before))
}

// TestARenewableCertificateLeavesRoom proves that what can be signed to be renewed can
// be renewed.
func TestARenewableCertificateLeavesRoom(t *testing.T) {
	a, p := testAuthority(t), newPeer(t, "node")
	c := testCertificate(p)
	c.Call = nil
	for n := 0; ; n++ {
		c.Call = append(c.Call, fmt.Sprintf("cluster-%03d", n))
		c.RenewUntil = noon.Add(10 * day)
		signed, err := a.Sign(c)
		if err != nil {
			require.ErrorContains(t, err, fmt.Sprint(security.MaxRenewable))
			c.RenewUntil = time.Time{}
			_, err = a.Sign(c)
			require.NoError(t, err, "there is room for more where nobody renews it")
			break
		}
		require.LessOrEqual(t, len(renew(t, testIssuer(t, testTerms), signed, noon.Add(20*time.Hour))), security.MaxCertificate)
	}
	c.Call, c.RenewUntil = nil, c.NotAfter.Add(-time.Second)
	_, err := a.Sign(c)
	require.ErrorIs(t, err, security.ErrBadCertificate)
}

// TestFilesOfAnIssuer proves that what is written is read, and that the key is a secret
// that goes with its delegation.
func TestFilesOfAnIssuer(t *testing.T) {
	i := testIssuer(t, testTerms)
	path := filepath.Join(t.TempDir(), "issuer.key")
	require.NoError(t, security.WriteIssuer(path, i))
	require.ErrorIs(t, security.WriteIssuer(path, i), os.ErrExist)
	got, err := security.LoadIssuer(path)
	require.NoError(t, err)
	terms := got.Terms()
	require.True(t, terms.NotAfter.Equal(testTerms.NotAfter))
	require.Equal(t, testTerms.Life, terms.Life)
	require.Equal(t, i.Authority(), got.Authority())
	require.Equal(t, i.Network(), got.Network())
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		require.Contains(t, fmt.Sprintf(verb, got), "[redacted]")
	}
	text := read(t, path)
	other := filepath.Join(t.TempDir(), "other.key")
	seed := strings.Index(string(text), "seed ") + len("seed ")
	changed := append([]byte(nil), text...)
	changed[seed] ^= 1
	require.NoError(t, os.WriteFile(other, changed, 0o600))
	_, err = security.LoadIssuer(other)
	require.ErrorIs(t, err, security.ErrBadFile)
	require.NoError(t, os.Chmod(path, 0o644))
	_, err = security.LoadIssuer(path)
	require.ErrorIs(t, err, security.ErrLooseMode)
	require.ErrorIs(t, security.WriteIssuer(other, security.Issuer{}), security.ErrBadFile)
	for _, terms := range []security.Delegation{
		{NotBefore: noon, NotAfter: noon.Add(day), Life: time.Hour},
		{Serial: 1, NotBefore: noon, NotAfter: noon, Life: time.Hour},
		{Serial: 1, NotBefore: noon, NotAfter: noon.Add(day)},
	} {
		_, err := security.NewIssuer(testAuthority(t), terms, seeded("issuer"))
		require.ErrorIs(t, err, security.ErrBadCertificate)
	}
}
