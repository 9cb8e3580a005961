// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/ed25519"
	"encoding/asn1"
	"encoding/binary"
	"fmt"

	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	admissionFormat    = 1
	admissionHeadSize  = 2
	admissionEntrySize = 4 + ed25519.SignatureSize
)

// AdmissionOID names the X.509 extension that carries what Admit returns. The
// arc 2.25 is for ids that nobody has to assign; the number is "arke" in ASCII.
func AdmissionOID() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{2, 25, 0x61726b65, 1}
}

// Admit returns the value of the admission extension for p: a signature by
// each accepted key, newest first, so that peers who do not have the newest
// one yet, or who no longer accept the other one, both admit p.
//
// It is no secret: every peer of p sees it. It is good for p only.
func (n *Network) Admit(p peer.ID) []byte {
	b := make([]byte, 0, admissionHeadSize+len(n.keys)*admissionEntrySize)
	b = append(b, admissionFormat, byte(len(n.keys)))
	for _, h := range n.keys {
		k := h.get()
		b = binary.BigEndian.AppendUint32(b, k.version)
		b = append(b, ed25519.Sign(k.admission, n.admissionMessage(k.version, p))...)
	}
	return b
}

// CheckAdmission verifies the value of p's admission extension. It returns
// ErrNotAdmitted, with the reason, unless it has a signature by an accepted key.
func (n *Network) CheckAdmission(p peer.ID, ext []byte) error {
	if len(ext) < admissionHeadSize || ext[0] != admissionFormat {
		return fmt.Errorf("%w: no admission that this release understands", ErrNotAdmitted)
	}
	count, entries := int(ext[1]), ext[admissionHeadSize:]
	if count > validVersions || len(entries) != count*admissionEntrySize {
		return fmt.Errorf("%w: malformed admission", ErrNotAdmitted)
	}
	common := false
	for ; len(entries) > 0; entries = entries[admissionEntrySize:] {
		version := binary.BigEndian.Uint32(entries)
		for _, h := range n.keys {
			k := h.get()
			if k.version != version {
				continue
			}
			common = true
			public := k.admission.Public().(ed25519.PublicKey)
			if ed25519.Verify(public, n.admissionMessage(version, p), entries[4:admissionEntrySize]) {
				return nil
			}
		}
	}
	if common {
		return fmt.Errorf("%w: it holds another key", ErrNotAdmitted)
	}
	return fmt.Errorf("%w: no key version in common", ErrNotAdmitted)
}

func (n *Network) admissionMessage(version uint32, p peer.ID) []byte {
	return message(labelAdmission, n.id[:], binary.BigEndian.AppendUint32(nil, version), []byte(p))
}
