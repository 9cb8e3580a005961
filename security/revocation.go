// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	revocationFormat = 1

	// MaxRevocations bounds an encoded list, in bytes: room for about 600
	// peers, or 3,000 serial numbers. What is revoked can be left out of a list once
	// its certificates have ended.
	MaxRevocations = 24 << 10
)

// RevocationList names certificates that are good no longer, and nodes. An authority
// signs it. Of two lists of one network the one with the larger number counts, whole:
// it repeats what the one before has.
type RevocationList struct {
	Number uint64    // from 1
	Issued time.Time // in whole seconds
	// Serials are certificates and delegations, Peers nodes: no certificate of theirs is good, past or
	// to come.
	Serials []uint64
	Peers   []peer.ID
}

// Revokes says whether a certificate was taken back, or its node's key, or the
// delegation by which it was renewed.
func (l *RevocationList) Revokes(c *Certificate) bool {
	return slices.Contains(l.Serials, c.Serial) || c.Issuer != 0 && slices.Contains(l.Serials, c.Issuer) || slices.Contains(l.Peers, c.Peer)
}

// RevokesPeer says whether a node is excluded, whatever it shows.
func (l *RevocationList) RevokesPeer(p peer.ID) bool { return slices.Contains(l.Peers, p) }

func (l *RevocationList) check() error {
	if l.Number == 0 || l.Issued.Unix() < 0 {
		return fmt.Errorf("%w: a list of revocations has a number from 1 and a time", ErrBadCertificate)
	}
	for i, s := range l.Serials {
		if s == 0 || i > 0 && s <= l.Serials[i-1] {
			return fmt.Errorf("%w: serial numbers are sorted, each once", ErrBadCertificate)
		}
	}
	for i, p := range l.Peers {
		if _, err := publicKeyOf(p); err != nil {
			return fmt.Errorf("%w: %w", ErrBadCertificate, err)
		}
		if i > 0 && p <= l.Peers[i-1] {
			return fmt.Errorf("%w: peer ids are sorted, each once", ErrBadCertificate)
		}
	}
	return nil
}

// SignRevocations returns l as nodes pass it on: at most MaxRevocations bytes, which
// the caller owns. What l names may be in any order. It returns ErrBadCertificate.
func (a Authority) SignRevocations(l RevocationList) ([]byte, error) {
	l.Serials = slices.Compact(slices.Sorted(slices.Values(l.Serials)))
	l.Peers = slices.Compact(slices.Sorted(slices.Values(l.Peers)))
	if err := l.check(); err != nil {
		return nil, err
	}
	b := []byte{revocationFormat}
	b = append(b, uint64Bytes(l.Number)...)
	b = append(b, uint64Bytes(uint64(l.Issued.Unix()))...)
	b = binary.BigEndian.AppendUint16(b, uint16(min(len(l.Serials), 1<<16-1)))
	for _, s := range l.Serials {
		b = append(b, uint64Bytes(s)...)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(min(len(l.Peers), 1<<16-1)))
	for _, p := range l.Peers {
		b = appendShort(b, string(p))
	}
	b = a.sign(labelRevocations, b)
	if len(b) > MaxRevocations {
		return nil, fmt.Errorf("%w: %d bytes of revocations are more than %d: leave out whose certificates have ended", ErrBadCertificate, len(b), MaxRevocations)
	}
	return b, nil
}

// OpenRevocations decodes what SignRevocations returned, if the authority signed it
// for this network. It returns ErrBadCertificate.
func OpenRevocations(id AuthorityID, network NetworkID, encoded []byte) (RevocationList, error) {
	if len(encoded) > MaxRevocations {
		return RevocationList{}, fmt.Errorf("%w: larger than %d bytes", ErrBadCertificate, MaxRevocations)
	}
	body, ok := id.verified(labelRevocations, network, encoded)
	if !ok {
		return RevocationList{}, fmt.Errorf("%w: revocations that this network's authority has not signed", ErrBadCertificate)
	}
	return parseRevocations(body)
}

func parseRevocations(body []byte) (RevocationList, error) {
	r := strict{rest: body}
	if r.byte() != revocationFormat {
		return RevocationList{}, fmt.Errorf("%w: unknown format: use a newer release", ErrBadCertificate)
	}
	l := RevocationList{Number: r.uint64(), Issued: r.time()}
	for range r.count() {
		l.Serials = append(l.Serials, r.uint64())
	}
	for range r.count() {
		l.Peers = append(l.Peers, peer.ID(r.short()))
	}
	if r.over || len(r.rest) > 0 {
		return RevocationList{}, fmt.Errorf("%w: malformed", ErrBadCertificate)
	}
	if err := l.check(); err != nil {
		return RevocationList{}, err
	}
	return l, nil
}

// count reads how many follow, of at least one byte each.
func (r *strict) count() int {
	n := int(binary.BigEndian.Uint16(r.take(2)))
	if n > len(r.rest) {
		r.over = true
		return 0
	}
	return n
}
