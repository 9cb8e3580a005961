// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// TestAdmissionIsForOnePeerOfOneNetwork proves who is admitted and who is not.
func TestAdmissionIsForOnePeerOfOneNetwork(t *testing.T) {
	f := newFile(t, "net")
	n, p, other := newNetwork(t, f), newPeer(t, "p"), newPeer(t, "other")
	ext := n.Admit(p)
	require.NoError(t, n.CheckAdmission(p, ext))
	require.NoError(t, newNetwork(t, f).CheckAdmission(p, ext))

	sameID, sameKey := newFile(t, "net2"), newFile(t, "net2")
	sameID.ID, sameKey.Keys = f.ID, f.Keys
	for what, err := range map[string]error{
		"another peer":                 n.CheckAdmission(other, ext),
		"no peer":                      n.CheckAdmission("", ext),
		"another network":              newNetwork(t, newFile(t, "net2")).CheckAdmission(p, ext),
		"another key with the same id": newNetwork(t, sameID).CheckAdmission(p, ext),
		"another id with the same key": newNetwork(t, sameKey).CheckAdmission(p, ext),
		"no extension":                 n.CheckAdmission(p, nil),
		"an empty list":                n.CheckAdmission(p, []byte{1, 0}),
		"zeros":                        n.CheckAdmission(p, make([]byte, len(ext))),
		"twice the entry":              n.CheckAdmission(p, append(bytes.Clone(ext), ext[2:]...)),
		"a count of 255":               n.CheckAdmission(p, append([]byte{1, 255}, bytes.Repeat(ext[2:], 255)...)),
	} {
		require.ErrorIs(t, err, security.ErrNotAdmitted, what)
	}
	forEachChange(ext, func(changed []byte) {
		require.ErrorIs(t, n.CheckAdmission(p, changed), security.ErrNotAdmitted)
	})
}

// TestNetworkKeysRotateWithoutAPause proves that while a new key spreads,
// everybody who has one of the two accepted versions admits everybody else who
// has, and that who has only an older one is out.
func TestNetworkKeysRotateWithoutAPause(t *testing.T) {
	p := newPeer(t, "p")
	with := func(v ...uint32) *security.Network {
		f := newFile(t, "net")
		f.Keys = versions(v...)
		return newNetwork(t, f)
	}
	for _, c := range []struct {
		what             string
		shower, verifier []uint32
		ok               bool
	}{
		{"before", []uint32{1}, []uint32{1}, true},
		{"who has the new key shows it to who has not", []uint32{1, 2}, []uint32{1}, true},
		{"and the other way round", []uint32{1}, []uint32{1, 2}, true},
		{"the old one is dropped here", []uint32{1, 2}, []uint32{2}, true},
		{"and there", []uint32{2}, []uint32{1, 2}, true},
		{"one rotation further", []uint32{2, 3}, []uint32{1, 2}, true},
		{"the oldest is in the list, but not accepted", []uint32{1}, []uint32{1, 2, 3}, false},
		{"nor shown", []uint32{1, 2, 3}, []uint32{1}, false},
		{"excluded", []uint32{1}, []uint32{2}, false},
	} {
		err := with(c.verifier...).CheckAdmission(p, with(c.shower...).Admit(p))
		require.Equal(t, c.ok, err == nil, "%s: %v", c.what, err)
	}
	require.ErrorContains(t, with(2).CheckAdmission(p, with(1).Admit(p)), "no key version in common")
	require.ErrorContains(t, newNetwork(t, newFile(t, "x")).CheckAdmission(p, with(1).Admit(p)), "another key")
}

// TestAdmissionFitsACertificate proves that the extension survives an X.509
// certificate, and that verifiers who do not know it are not disturbed.
func TestAdmissionFitsACertificate(t *testing.T) {
	n, p := newNetwork(t, newFile(t, "net")), newPeer(t, "p")
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	der, err := x509.CreateCertificate(seeded("cert"), &x509.Certificate{
		SerialNumber:    big.NewInt(1),
		ExtraExtensions: []pkix.Extension{{Id: security.AdmissionOID(), Value: n.Admit(p)}},
	}, &x509.Certificate{}, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	require.Empty(t, cert.UnhandledCriticalExtensions)
	found := false
	for _, e := range cert.Extensions {
		if e.Id.Equal(security.AdmissionOID()) {
			found = true
			require.NoError(t, n.CheckAdmission(p, e.Value))
		}
	}
	require.True(t, found)
	require.Equal(t, "2.25.1634888549.1", security.AdmissionOID().String())
}

// TestLabelsOutliveKeys proves that what others see of a network stays while
// its keys change, and differs between networks and purposes.
func TestLabelsOutliveKeys(t *testing.T) {
	f := newFile(t, "net")
	n := newNetwork(t, f)
	require.Len(t, n.Label("mdns"), 16)
	require.NotEqual(t, n.Label("mdns"), n.Label("other"))
	require.NotEqual(t, n.Label("mdns"), newNetwork(t, newFile(t, "net2")).Label("mdns"))
	f.Keys = versions(1, 2)
	rotated := newNetwork(t, f)
	require.Equal(t, n.Label("mdns"), rotated.Label("mdns"))
	require.Equal(t, f.ID, rotated.ID())
	require.Equal(t, "net", rotated.Name())
}

// FuzzCheckAdmission proves that no bytes make it panic, and that none but the
// honest ones are admitted.
func FuzzCheckAdmission(f *testing.F) {
	file := newFile(f, "net")
	file.Keys = versions(1, 2)
	n := newNetwork(f, file)
	p := newPeer(f, "p")
	honest := n.Admit(p)
	f.Add(honest)
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, ext []byte) {
		if n.CheckAdmission(p, ext) == nil {
			// One of the two signatures is enough.
			require.True(t, bytes.Contains(ext, honest[2:70]) || bytes.Contains(ext, honest[70:]))
		}
	})
}
