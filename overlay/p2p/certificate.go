// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
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
// the admission proof as one more extension. oid names the extension.
func newIdentity(key crypto.PrivKey, self peer.ID, net admission, oid asn1.ObjectIdentifier) (*libp2ptls.Identity, error) {
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
		ExtraExtensions: []pkix.Extension{{Id: oid, Value: net.Admit(self)}},
	}))
	if err != nil {
		return nil, fmt.Errorf("p2p: certificate: %w", err)
	}
	return id, nil
}

// checkCertificate verifies that p is admitted, and says by which version of the key;
// libp2p has verified that the certificate is p's.
func checkCertificate(raw []byte, p peer.ID, net admission, oid asn1.ObjectIdentifier) (version uint32, _ error) {
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNotAdmitted, err)
	}
	for _, ext := range cert.Extensions {
		if !ext.Id.Equal(oid) {
			continue
		}
		if version, err = net.AdmittedBy(p, ext.Value); err != nil {
			return 0, fmt.Errorf("%w: %s: %w", errNotAdmitted, p, err)
		}
		return version, nil
	}
	return 0, fmt.Errorf("%w: %s shows no proof", errNotAdmitted, p)
}
