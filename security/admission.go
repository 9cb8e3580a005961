// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
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

// CertificateOID names the X.509 extension that carries a node's Certificate as its
// authority signed it, or as an issuer has renewed it.
func CertificateOID() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{2, 25, 0x61726b65, 2}
}

// Admit returns the value of the admission extension for p: a signature by
// each of two keys, newest first, so that peers who do not have the newest
// one yet, or who no longer accept the other one, both admit p. Where only one is
// accepted the other is the newest of those that are not: if this node's clock is
// wrong, that may be the one that counts.
//
// It is no secret: every peer of p sees it. It is good for p only.
func (n *Network) Admit(p peer.ID) []byte {
	shown := n.ring.Load().shown
	b := make([]byte, 0, admissionHeadSize+len(shown)*admissionEntrySize)
	b = append(b, admissionFormat, byte(len(shown)))
	for _, h := range shown {
		k := h.get()
		b = binary.BigEndian.AppendUint32(b, k.version)
		b = append(b, ed25519.Sign(k.admission, n.admissionMessage(k.version, p))...)
	}
	return b
}

// CheckAdmission verifies the value of p's admission extension. It returns
// ErrNotAdmitted, with the reason, unless it has a signature by an accepted key;
// ErrBanned, which is an ErrNotAdmitted, for a peer that is banned.
func (n *Network) CheckAdmission(p peer.ID, ext []byte) error {
	_, err := n.AdmittedBy(p, ext)
	return err
}

// AdmittedBy is CheckAdmission, and says which version of the key it is that
// admits p: the newest of those accepted that has signed.
func (n *Network) AdmittedBy(p peer.ID, ext []byte) (version uint32, err error) {
	if _, banned := n.banned.Load(p); banned {
		return 0, ErrBanned
	}
	if len(ext) < admissionHeadSize || ext[0] != admissionFormat {
		return 0, fmt.Errorf("%w: no admission that this release understands", ErrNotAdmitted)
	}
	count, entries := int(ext[1]), ext[admissionHeadSize:]
	if count > validVersions || len(entries) != count*admissionEntrySize {
		return 0, fmt.Errorf("%w: malformed admission", ErrNotAdmitted)
	}
	common := false
	for _, h := range n.ring.Load().accepted {
		k := h.get()
		for rest := entries; len(rest) > 0; rest = rest[admissionEntrySize:] {
			if k.version != binary.BigEndian.Uint32(rest) {
				continue
			}
			common = true
			public := k.admission.Public().(ed25519.PublicKey)
			if ed25519.Verify(public, n.admissionMessage(k.version, p), rest[4:admissionEntrySize]) {
				return k.version, nil
			}
		}
	}
	if common {
		return 0, fmt.Errorf("%w: it holds another key", ErrNotAdmitted)
	}
	return 0, fmt.Errorf("%w: no key version in common that is valid now: compare the files, and the clocks", ErrNotAdmitted)
}

func (n *Network) admissionMessage(version uint32, p peer.ID) []byte {
	return message(labelAdmission, n.id[:], binary.BigEndian.AppendUint32(nil, version), []byte(p))
}

// VouchSize is the length of what Vouch returns, in bytes.
const VouchSize = 4 + sha256.Size

// Vouch returns the proof that a holder of the network's key makes a statement to all
// nodes: what it is about, in which number, and its body. Whoever holds that key can
// make one; who it was does not show. While keys overlap it is the old one, which
// those have who have not read the new file yet. It is
//
//	4 bytes   version of the network key, big-endian
//	32 bytes  HMAC-SHA-256 over network id, version with topic, subject, number and body
func (n *Network) Vouch(topic uint32, subject string, number uint64, body []byte) []byte {
	k := n.ring.Load().common.get()
	b := binary.BigEndian.AppendUint32(make([]byte, 0, VouchSize), k.version)
	return append(b, mac(k.vouch, n.statement(k, topic, subject, number, body))...)
}

// CheckVouch verifies what Vouch returned, here or at another node. It returns
// ErrUnauthorized unless an accepted key has made it.
func (n *Network) CheckVouch(proof []byte, topic uint32, subject string, number uint64, body []byte) error {
	if len(proof) != VouchSize {
		return fmt.Errorf("%w: length of a proof", ErrUnauthorized)
	}
	for _, h := range n.ring.Load().accepted {
		k := h.get()
		if k.version == binary.BigEndian.Uint32(proof) &&
			hmac.Equal(proof[4:], mac(k.vouch, n.statement(k, topic, subject, number, body))) {
			return nil
		}
	}
	return ErrUnauthorized
}

// statement is what is vouched for.
func (n *Network) statement(k *networkKey, topic uint32, subject string, number uint64, body []byte) []byte {
	var head [8]byte
	binary.BigEndian.PutUint32(head[:], k.version)
	binary.BigEndian.PutUint32(head[4:], topic)
	return message(labelVouch, n.id[:], head[:], []byte(subject), uint64Bytes(number), body)
}
