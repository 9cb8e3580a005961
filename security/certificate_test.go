// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"encoding/binary"
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

// authorityFile is a key whose seed is the bytes 20 to 3f, for the network of the
// vectors.
func authorityFile(t testing.TB) string {
	t.Helper()
	seed := make([]byte, 32)
	for i := range seed {
		seed[i] = 0x20 + byte(i)
	}
	path := filepath.Join(t.TempDir(), "authority.key")
	require.NoError(t, os.WriteFile(path, []byte("arke-authority 1\nnetwork 000102030405060708090a0b0c0d0e0f\nseed "+hex.EncodeToString(seed)+"\n"), 0o600))
	return path
}

func testAuthority(t testing.TB) security.Authority {
	t.Helper()
	a, err := security.LoadAuthority(authorityFile(t))
	require.NoError(t, err)
	return a
}

func testCertificate(p peer.ID) security.Certificate {
	return security.Certificate{
		Serial: 7, Name: "web-1", Peer: p, Groups: []string{"frontend"},
		Serve: []string{"geo"}, Call: []string{"weather.>", "geo", "geo"}, Subscribe: []string{"news.*"},
		NotBefore: noon, NotAfter: noon.Add(24 * time.Hour),
	}
}

// TestCertificatesAgreeWithASecondImplementation proves certificate and revocations
// against vectors that another program made from the descriptions in this package.
func TestCertificatesAgreeWithASecondImplementation(t *testing.T) {
	vectors := readVectors(t)
	a := testAuthority(t)
	id := a.ID()
	require.Equal(t, vectors["authority"], id[:])
	p := peer.ID(vectors["peer"])
	signed, err := a.Sign(testCertificate(p))
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(vectors["certificate"]), hex.EncodeToString(signed))
	c, err := security.OpenCertificate(id, a.Network(), signed)
	require.NoError(t, err)
	require.Equal(t, []string{"geo", "weather.>"}, c.Call, "sorted, each once")
	require.Equal(t, "web-1", c.Name)
	require.True(t, c.NotAfter.Equal(noon.Add(24*time.Hour)))

	l := security.RevocationList{Number: 3, Issued: noon, Serials: []uint64{7, 5}, Peers: []peer.ID{p}}
	signed, err = a.SignRevocations(l)
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(vectors["revocations"]), hex.EncodeToString(signed))
	got, err := security.OpenRevocations(id, a.Network(), signed)
	require.NoError(t, err)
	require.Equal(t, []uint64{5, 7}, got.Serials)
	require.True(t, got.Revokes(&c))
	require.True(t, got.RevokesPeer(p))
}

// TestWhatWasChangedIsNoCertificate proves that each flipped bit, each cut, another
// authority, another network and the other kind of statement are refused.
func TestWhatWasChangedIsNoCertificate(t *testing.T) {
	a, p := testAuthority(t), newPeer(t, "node")
	certificate, err := a.Sign(testCertificate(p))
	require.NoError(t, err)
	revocations, err := a.SignRevocations(security.RevocationList{Number: 1, Issued: noon, Peers: []peer.ID{p}})
	require.NoError(t, err)
	open := func(id security.AuthorityID, n security.NetworkID, b []byte) error {
		_, err := security.OpenCertificate(id, n, b)
		return err
	}
	list := func(id security.AuthorityID, n security.NetworkID, b []byte) error {
		_, err := security.OpenRevocations(id, n, b)
		return err
	}
	for what, test := range map[string]struct {
		signed, other []byte
		open          func(security.AuthorityID, security.NetworkID, []byte) error
	}{
		"certificate": {certificate, revocations, open},
		"revocations": {revocations, certificate, list},
	} {
		require.NoError(t, test.open(a.ID(), a.Network(), test.signed), what)
		forEachChange(test.signed, func(changed []byte) {
			require.ErrorIs(t, test.open(a.ID(), a.Network(), changed), security.ErrBadCertificate, "%s, %x", what, changed)
		})
		require.ErrorIs(t, test.open(a.ID(), a.Network(), test.other), security.ErrBadCertificate, what)
		require.ErrorIs(t, test.open(a.ID(), security.NetworkID{1}, test.signed), security.ErrBadCertificate, what)
		other, err := security.GenerateAuthority(a.Network(), seeded("other"))
		require.NoError(t, err)
		require.ErrorIs(t, test.open(other.ID(), a.Network(), test.signed), security.ErrBadCertificate, what)
	}
}

// TestAnAuthoritySignsOnlyWhatOthersAccept proves the bounds of a certificate.
func TestAnAuthoritySignsOnlyWhatOthersAccept(t *testing.T) {
	a, p := testAuthority(t), newPeer(t, "node")
	many := make([]string, 200)
	for i := range many {
		many[i] = fmt.Sprintf("cluster-%03d", i)
	}
	for what, change := range map[string]func(c *security.Certificate){
		"no serial":            func(c *security.Certificate) { c.Serial = 0 },
		"no name":              func(c *security.Certificate) { c.Name = "" },
		"a long name":          func(c *security.Certificate) { c.Name = strings.Repeat("n", 65) },
		"a name on two lines":  func(c *security.Certificate) { c.Name = "a\nb" },
		"no peer":              func(c *security.Certificate) { c.Peer = "" },
		"a peer without a key": func(c *security.Certificate) { c.Peer = "peer" },
		"no time":              func(c *security.Certificate) { c.NotAfter = c.NotBefore },
		"an empty pattern":     func(c *security.Certificate) { c.Call = []string{""} },
		"too much":             func(c *security.Certificate) { c.Call = many },
	} {
		c := testCertificate(p)
		change(&c)
		_, err := a.Sign(c)
		require.ErrorIs(t, err, security.ErrBadCertificate, what)
	}
	_, err := a.SignRevocations(security.RevocationList{Issued: noon})
	require.ErrorIs(t, err, security.ErrBadCertificate, "no number")
	_, err = a.SignRevocations(security.RevocationList{Number: 1, Issued: noon, Serials: make([]uint64, 1)})
	require.ErrorIs(t, err, security.ErrBadCertificate, "serial 0")
	var serials []uint64
	for i := range 4000 {
		serials = append(serials, uint64(i+1))
	}
	_, err = a.SignRevocations(security.RevocationList{Number: 1, Issued: noon, Serials: serials})
	require.ErrorIs(t, err, security.ErrBadCertificate, "too large")
}

// TestACertificateHasATime proves its window, which is wider by the tolerance of
// clocks at both ends.
func TestACertificateHasATime(t *testing.T) {
	c := testCertificate(newPeer(t, "node"))
	for at, good := range map[time.Duration]bool{
		-security.ClockTolerance - time.Second: false,
		-security.ClockTolerance:               true,
		0:                                      true,
		24 * time.Hour:                         true,
		24*time.Hour + security.ClockTolerance - time.Second: true,
		24*time.Hour + security.ClockTolerance:               false,
	} {
		err := c.At(noon.Add(at))
		if good {
			require.NoError(t, err, at)
		} else {
			require.ErrorIs(t, err, security.ErrExpired, at)
		}
	}
	require.True(t, c.Ends().Equal(noon.Add(24*time.Hour+security.ClockTolerance)))
}

// TestRevocationsAreOfOneCertificateOrOfAllOfANode proves what a list takes back.
func TestRevocationsAreOfOneCertificateOrOfAllOfANode(t *testing.T) {
	c := testCertificate(newPeer(t, "node"))
	next := c
	next.Serial++
	bySerial := security.RevocationList{Serials: []uint64{c.Serial}}
	require.True(t, bySerial.Revokes(&c))
	require.False(t, bySerial.Revokes(&next))
	require.False(t, bySerial.RevokesPeer(c.Peer))
	byPeer := security.RevocationList{Peers: []peer.ID{c.Peer}}
	require.True(t, byPeer.Revokes(&c))
	require.True(t, byPeer.Revokes(&next))
	require.False(t, byPeer.RevokesPeer(newPeer(t, "other")))
}

// TestWithoutAnAuthorityNothingIsSigned proves that a network without an authority takes
// nobody's revocations, and no certificate. All zeros are a public key of order 4: every
// fourth message has the signature that needs no key.
func TestWithoutAnAuthorityNothingIsSigned(t *testing.T) {
	forged := append([]byte{1}, make([]byte, 63)...) // the neutral point, and 0
	for number := range uint64(64) {
		body := binary.BigEndian.AppendUint64([]byte{1}, number+1)
		body = append(body, make([]byte, 8+2+2)...)
		_, err := security.OpenRevocations(security.AuthorityID{}, security.NetworkID{1}, append(body, forged...))
		require.ErrorContains(t, err, "has not signed", "list %d", number+1)
	}
}

// TestFilesOfAnAuthority proves that what is written is read, that the key keeps the
// rules of secrets and the others those of files that decide, and that nothing but
// the key is overwritten.
func TestFilesOfAnAuthority(t *testing.T) {
	dir := t.TempDir()
	a, err := security.GenerateAuthority(security.NetworkID{9}, seeded("authority"))
	require.NoError(t, err)
	key := filepath.Join(dir, "authority.key")
	require.NoError(t, security.WriteAuthority(key, a))
	require.ErrorIs(t, security.WriteAuthority(key, a), os.ErrExist)
	require.ErrorIs(t, security.WriteAuthority(filepath.Join(dir, "none"), security.Authority{}), security.ErrBadFile)
	b, err := security.LoadAuthority(key)
	require.NoError(t, err)
	require.Equal(t, a.ID(), b.ID())
	require.Equal(t, a.Network(), b.Network())
	require.NoError(t, os.Chmod(key, 0o644))
	_, err = security.LoadAuthority(key)
	require.ErrorIs(t, err, security.ErrLooseMode)

	signed, err := a.Sign(testCertificate(newPeer(t, "node")))
	require.NoError(t, err)
	path := filepath.Join(dir, "web-1.cert")
	for range 2 { // the second one takes the first one's place
		require.NoError(t, security.WriteCertificateFile(path, signed))
	}
	require.Contains(t, string(read(t, path)), "# node web-1, peer 12D3KooW")
	got, err := security.ReadCertificateFile(path)
	require.NoError(t, err)
	require.Equal(t, signed, got)
	_, err = security.ReadRevocationsFile(path)
	require.ErrorIs(t, err, security.ErrBadFile)
	require.NoError(t, os.Chmod(path, 0o666))
	_, err = security.ReadCertificateFile(path)
	require.ErrorIs(t, err, security.ErrUnguarded)

	list, err := a.SignRevocations(security.RevocationList{Number: 1, Issued: noon})
	require.NoError(t, err)
	path = filepath.Join(dir, "revocations")
	require.NoError(t, security.WriteRevocationsFile(path, list))
	got, err = security.ReadRevocationsFile(path)
	require.NoError(t, err)
	require.Equal(t, list, got)
	names, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, names, "nothing is left behind")
}

// TestBadAuthorityFilesSayWhatToDo proves that the format is strict.
func TestBadAuthorityFilesSayWhatToDo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "authority.key")
	seed, network := strings.Repeat("ab", 32), strings.Repeat("01", 16)
	for text, says := range map[string]string{
		"":                                     "it is empty",
		"arke-network 1":                       "another kind of file",
		"arke-authority 2":                     "this release reads version 1",
		"arke-authority 1\nseed " + seed:       `no "network" line`,
		"arke-authority 1\nnetwork " + network: `no "seed" line`,
		"arke-authority 1\nnetwork ab\nseed " + seed:                                  "exactly 32 hexadecimal digits",
		"arke-authority 1; seed " + seed + "; seed ab":                                "already in line 1",
		"arke-authority 1; word x":                                                    `"word" is none of`,
		"arke-authority 1; network " + network + "; seed " + strings.Repeat("00", 32): "no key",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := security.LoadAuthority(path)
		require.ErrorIs(t, err, security.ErrBadFile, text)
		require.ErrorContains(t, err, says, text)
		require.NotContains(t, err.Error(), "abab", "no part of the key")
	}
}

// TestANetworkFileSaysWhetherNodesNeedCertificates proves the statement of network
// files: none is a shared network.
func TestANetworkFileSaysWhetherNodesNeedCertificates(t *testing.T) {
	f := newFile(t, "net")
	require.False(t, f.Issuance.Issued())
	require.NotContains(t, string(f.Encode()), "authority")
	for _, required := range []bool{false, true} {
		f.Issuance = security.Issuance{Authority: testAuthority(t).ID(), Required: required}
		got, err := security.ParseNetworkFile(f.Encode())
		require.NoError(t, err)
		require.Equal(t, f.Issuance, got.Issuance)
		require.Equal(t, f.Issuance, newNetwork(t, got).Issuance())
	}
	f.Issuance = security.Issuance{}
	text := string(f.Encode())
	for statement, says := range map[string]string{
		"authority abcd required":                        "hexadecimal digits",
		"authority " + strings.Repeat("00", 32):          "1 values instead of 2",
		"authority " + strings.Repeat("00", 32) + " yes": "all zeros",
		"authority " + strings.Repeat("ab", 32) + " yes": "while certificates are handed out",
	} {
		_, err := security.ParseNetworkFile([]byte(text + statement + "\n"))
		require.ErrorIs(t, err, security.ErrBadFile, statement)
		require.ErrorContains(t, err, says, statement)
	}
}

func FuzzOpenCertificate(f *testing.F) {
	a, p := testAuthority(f), newPeer(f, "node")
	signed, err := a.Sign(testCertificate(p))
	require.NoError(f, err)
	f.Add(signed[:len(signed)-64])
	again := renewable(f, p)
	f.Add(again[:len(again)-64])
	f.Add(renew(f, testIssuer(f, testTerms), again, noon.Add(20*time.Hour)))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, body []byte) {
		// This test proves that decoders of certificates and revocations neither fail
		// nor take two encodings of one: what is decoded gives the same bytes again.
		if c, err := security.ParseCertificate(body); err == nil {
			again, err := a.Sign(c)
			if len(body) <= security.MaxCertificate-64 && (c.RenewUntil.IsZero() || len(body) <= security.MaxRenewable-64) {
				require.NoError(t, err)
				require.Equal(t, body, again[:len(again)-64])
			}
		}
		_, _ = security.DescribeCertificate(body)
		_, _ = security.OpenCertificate(a.ID(), a.Network(), body)
		if l, err := security.ParseRevocations(body); err == nil && len(body) <= security.MaxRevocations-64 {
			again, err := a.SignRevocations(l)
			require.NoError(t, err)
			require.Equal(t, body, again[:len(again)-64])
		}
	})
}

// TestAFileThatIsReplacedKeepsItsModeAndItsLink proves that a certificate file which is
// written anew keeps its mode, and that a link to it stays one.
func TestAFileThatIsReplacedKeepsItsModeAndItsLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "web-1.cert"), filepath.Join(dir, "link")
	signed := renewable(t, newPeer(t, "node"))
	require.NoError(t, security.WriteCertificateFile(path, signed))
	require.NoError(t, os.Chmod(path, 0o640))
	require.NoError(t, os.Symlink(path, link))
	next := renew(t, testIssuer(t, testTerms), signed, noon.Add(20*time.Hour))
	require.NoError(t, security.WriteCertificateFile(link, next))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	info, err = os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 0o640, info.Mode().Perm())
	got, err := security.ReadCertificateFile(path)
	require.NoError(t, err)
	require.Equal(t, next, got)
}

// TestRootReadsWhatAGroupMayRead proves that `sudo arke key rotate` takes a file that root
// owns and a daemon's group reads.
func TestRootReadsWhatAGroupMayRead(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	path := authorityFile(t)
	require.NoError(t, os.Chown(path, 0, 54321))
	require.NoError(t, os.Chmod(path, 0o440))
	_, err := security.LoadAuthority(path)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o444))
	_, err = security.LoadAuthority(path)
	require.ErrorIs(t, err, security.ErrLooseMode)
}
