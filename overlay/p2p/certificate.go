// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"

	"github.com/arke-mesh/arke/security"
)

// admission decides who belongs to the network; *security.Network does.
type admission interface {
	// Admit returns what proves to others that p belongs to the network.
	Admit(p peer.ID) []byte
	// AdmittedBy verifies what Admit returned elsewhere, and says which version
	// of the network's key has made it.
	AdmittedBy(p peer.ID, proof []byte) (version uint32, err error)
	// Greet returns what shows, before anything else is said, that a key of
	// the network is held; CheckGreeting verifies it.
	Greet(hello []byte) [security.GreetingSize]byte
	CheckGreeting(greeting, hello []byte) (mark uint64, ok bool)
}

// newIdentity makes the TLS identity of this node: libp2p's certificate with
// the admission proof as one more extension, and the node's certificate as another
// one if it has one. oid names the former.
func newIdentity(key crypto.PrivKey, self peer.ID, net admission, oid asn1.ObjectIdentifier, certificate []byte) (*libp2ptls.Identity, error) {
	extensions := []pkix.Extension{{Id: oid, Value: net.Admit(self)}}
	if len(certificate) > 0 {
		extensions = append(extensions, pkix.Extension{Id: security.CertificateOID(), Value: certificate})
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 62))
	if err != nil {
		return nil, fmt.Errorf("p2p: certificate: %w", err)
	}
	id, err := libp2ptls.NewIdentity(key, libp2ptls.WithCertTemplate(&x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{SerialNumber: serial.String()},
		// Nobody's clock may keep a node out: the certificate is valid at any
		// time (RFC 5280 section 4.1.2.5 for the end). What expires is the
		// network key.
		NotBefore:       time.Unix(0, 0),
		NotAfter:        time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		ExtraExtensions: extensions,
	}))
	if err != nil {
		return nil, fmt.Errorf("p2p: certificate: %w", err)
	}
	return id, nil
}

// shown is what a peer's TLS certificate shows.
type shown struct {
	version     uint32 // of the network's key that has admitted the peer
	certificate []byte // of the node, unchecked; nil = none
}

// checkCertificate verifies that p is admitted; libp2p has verified that the certificate
// is p's. Whether p also has a certificate that lets it in is asked later: who has none
// is told so in the first frame of a link.
func checkCertificate(raw []byte, p peer.ID, net admission, oid asn1.ObjectIdentifier) (s shown, _ error) {
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		return shown{}, fmt.Errorf("%w: %w", errNotAdmitted, err)
	}
	var proof []byte
	for _, ext := range cert.Extensions {
		switch {
		case ext.Id.Equal(oid) && proof == nil:
			proof = ext.Value
		case ext.Id.Equal(security.CertificateOID()) && len(ext.Value) <= security.MaxCertificate:
			s.certificate = bytes.Clone(ext.Value) // the rest of cert is not kept
		}
	}
	if proof == nil {
		return shown{}, fmt.Errorf("%w: %s shows no proof", errNotAdmitted, p)
	}
	if s.version, err = net.AdmittedBy(p, proof); err != nil {
		return shown{}, fmt.Errorf("%w: %s: %w", errNotAdmitted, p, err)
	}
	return s, nil
}
