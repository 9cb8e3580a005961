// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	certificateFormat = 1
	renewableFormat   = 2 // with the time until which issuers may renew it
	renewedFormat     = 3 // such a one, and what an issuer has added

	// MaxCertificate bounds an encoded certificate, in bytes: it has to fit a Hello.
	MaxCertificate = 1 << 10

	// MaxCertificateName is the longest name of a node, in bytes.
	MaxCertificateName = 64
)

// Certificate says which node its holder is and what it may do. An authority signs
// it; any node of the network can check it. It is no secret.
type Certificate struct {
	// Serial is random, so that this one can be revoked and the next one not.
	Serial uint64
	// Name is what people call the node: UTF-8 of 1 to 64 bytes.
	Name string
	// Peer is the node's id: who holds the key of it.
	Peer peer.ID
	// Groups are names for people and tools, such as "frontend". Nothing in Arke
	// depends on them.
	Groups []string
	// Serve, Call, Publish and Subscribe are the names, or patterns of names, with
	// which the node may do that. None = nothing.
	Serve, Call, Publish, Subscribe []string
	// NotBefore and NotAfter bound its time, in whole seconds.
	NotBefore, NotAfter time.Time
	// RenewUntil is until when an Issuer may give it more time, in whole seconds; zero =
	// only the authority itself may.
	RenewUntil time.Time
	// Issuer is the serial number of the delegation by which it was renewed; 0 = its time
	// is the authority's. Sign leaves it out.
	Issuer uint64
}

// CertificateHash names one signed certificate.
type CertificateHash [sha256.Size]byte

// HashCertificate returns the name of an encoded certificate.
func HashCertificate(encoded []byte) CertificateHash { return sha256.Sum256(encoded) }

// lists are all lists, in the order of the format.
func (c *Certificate) lists() [5]*[]string {
	return [5]*[]string{&c.Groups, &c.Serve, &c.Call, &c.Publish, &c.Subscribe}
}

// check says what is wrong with the fields.
func (c *Certificate) check() error {
	switch {
	case c.Serial == 0:
		return fmt.Errorf("%w: the serial number is 0", ErrBadCertificate)
	case !printable(c.Name) || len(c.Name) > MaxCertificateName:
		return fmt.Errorf("%w: the name of a node has 1 to %d bytes of printable UTF-8", ErrBadCertificate, MaxCertificateName)
	case !c.NotAfter.After(c.NotBefore) || c.NotBefore.Unix() < 0:
		return fmt.Errorf("%w: it ends before it begins", ErrBadCertificate)
	case !c.RenewUntil.IsZero() && c.RenewUntil.Before(c.NotAfter):
		return fmt.Errorf("%w: it may be renewed until a time before its end", ErrBadCertificate)
	}
	if _, err := publicKeyOf(c.Peer); err != nil {
		return fmt.Errorf("%w: %w", ErrBadCertificate, err)
	}
	for _, list := range c.lists() {
		for i, s := range *list {
			switch {
			case !printable(s) || len(s) > 255:
				return fmt.Errorf("%w: a name or pattern has 1 to 255 bytes of printable UTF-8", ErrBadCertificate)
			case i > 0 && s <= (*list)[i-1]:
				return fmt.Errorf("%w: names and patterns are sorted, each once", ErrBadCertificate)
			}
		}
		if len(*list) > 255 {
			return fmt.Errorf("%w: more than 255 names in one list", ErrBadCertificate)
		}
	}
	return nil
}

func printable(s string) bool {
	return s != "" && utf8.ValidString(s) && !slices.ContainsFunc([]rune(s), func(r rune) bool { return r < ' ' || r == 0x7f })
}

// Sign returns c as nodes show it: at most MaxCertificate bytes, which the caller
// owns. Lists may be in any order. It returns ErrBadCertificate for what nobody
// would accept, and for what is too large: fewer names, or patterns in their place.
func (a Authority) Sign(c Certificate) ([]byte, error) {
	for _, list := range c.lists() {
		*list = slices.Compact(slices.Sorted(slices.Values(*list)))
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	format, limit := byte(certificateFormat), MaxCertificate
	if !c.RenewUntil.IsZero() {
		format, limit = renewableFormat, MaxRenewable
	}
	b := []byte{format}
	b = append(b, uint64Bytes(c.Serial)...)
	b = append(b, uint64Bytes(uint64(c.NotBefore.Unix()))...)
	b = append(b, uint64Bytes(uint64(c.NotAfter.Unix()))...)
	if format == renewableFormat {
		b = append(b, uint64Bytes(uint64(c.RenewUntil.Unix()))...)
	}
	b = appendShort(b, c.Name)
	b = appendShort(b, string(c.Peer))
	for _, list := range c.lists() {
		b = append(b, byte(len(*list)))
		for _, s := range *list {
			b = appendShort(b, s)
		}
	}
	b = a.sign(labelCertificate, b)
	if len(b) > limit {
		return nil, fmt.Errorf("%w: %d bytes are more than %d: name fewer clusters, or patterns in their place", ErrBadCertificate, len(b), limit)
	}
	return b, nil
}

// appendShort writes s, of at most 255 bytes, behind its length.
func appendShort(b []byte, s string) []byte {
	return append(append(b, byte(len(s))), s...)
}

// OpenCertificate decodes what Sign or Issuer.Renew returned, if the authority signed it for this
// network, and has delegated to who renewed it. It returns ErrBadCertificate. It does not look at times: see
// Certificate.At; nor at revocations: see RevocationList.Revokes.
func OpenCertificate(id AuthorityID, network NetworkID, encoded []byte) (Certificate, error) {
	if len(encoded) > MaxCertificate {
		return Certificate{}, fmt.Errorf("%w: larger than %d bytes", ErrBadCertificate, MaxCertificate)
	}
	if len(encoded) == 0 || encoded[0] != renewedFormat {
		return openSigned(id, network, encoded)
	}
	n, err := parseRenewed(encoded)
	if err != nil {
		return Certificate{}, err
	}
	return n.open(id, network)
}

// openSigned decodes what the authority itself has signed.
func openSigned(id AuthorityID, network NetworkID, encoded []byte) (Certificate, error) {
	body, ok := id.verified(labelCertificate, network, encoded)
	if !ok {
		return Certificate{}, fmt.Errorf("%w: not signed by this network's authority", ErrBadCertificate)
	}
	return parseCertificate(body)
}

// DescribeCertificate decodes a certificate without a look at its signature, to show it
// to people. It returns ErrBadCertificate.
func DescribeCertificate(encoded []byte) (Certificate, error) {
	if len(encoded) < signatureSize || len(encoded) > MaxCertificate {
		return Certificate{}, fmt.Errorf("%w: malformed", ErrBadCertificate)
	}
	if encoded[0] != renewedFormat {
		return parseCertificate(encoded[:len(encoded)-signatureSize])
	}
	n, err := parseRenewed(encoded)
	if err != nil || len(n.original) < signatureSize {
		return Certificate{}, fmt.Errorf("%w: malformed", ErrBadCertificate)
	}
	c, err := parseCertificate(n.original[:len(n.original)-signatureSize])
	if err != nil {
		return c, err
	}
	d, _, err := parseDelegation(n.delegation[:delegationSize-signatureSize])
	if err != nil {
		return c, err
	}
	return c, n.extends(&c, &d)
}

// Renews says whether encoded is original with another time, given by an issuer.
// Signatures are not looked at.
func Renews(encoded, original []byte) bool {
	return !bytes.Equal(encoded, original) && bytes.Equal(Original(encoded), Original(original))
}

// parseCertificate is strict: one certificate has one encoding.
func parseCertificate(b []byte) (Certificate, error) {
	r := strict{rest: b}
	format := r.byte()
	if format != certificateFormat && format != renewableFormat {
		return Certificate{}, fmt.Errorf("%w: unknown format: use a newer release", ErrBadCertificate)
	}
	c := Certificate{Serial: r.uint64(), NotBefore: r.time(), NotAfter: r.time()}
	if format == renewableFormat {
		c.RenewUntil = r.time()
	}
	c.Name, c.Peer = r.short(), peer.ID(r.short())
	for _, list := range c.lists() {
		for range r.byte() {
			*list = append(*list, r.short())
		}
	}
	if r.over || len(r.rest) > 0 {
		return Certificate{}, fmt.Errorf("%w: malformed", ErrBadCertificate)
	}
	if err := c.check(); err != nil {
		return Certificate{}, err
	}
	return c, nil
}

// At says why c is good at no such time, if so: it returns ErrExpired. Its window is
// wider by ClockTolerance at both ends, so that no clock that is nearly right keeps
// a node out.
func (c *Certificate) At(now time.Time) error {
	switch {
	case now.Before(c.NotBefore.Add(-ClockTolerance)):
		return fmt.Errorf("%w: the certificate of %q begins at %s", ErrExpired, c.Name, c.NotBefore.UTC().Format(time.RFC3339))
	case !now.Before(c.Ends()):
		return fmt.Errorf("%w: the certificate of %q ended at %s", ErrExpired, c.Name, c.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// Renewable says whether issuers may give c more time than it has.
func (c *Certificate) Renewable() bool { return c.RenewUntil.After(c.NotAfter) }

// Ends is when nobody accepts c any more, by a right clock.
func (c *Certificate) Ends() time.Time { return c.NotAfter.Add(ClockTolerance) }

// strict reads a binary format. Beyond its end it reads zeros, and notes it.
type strict struct {
	rest []byte
	over bool // there was less than was asked for
}

func (r *strict) take(n int) []byte {
	if n > len(r.rest) {
		r.over, r.rest = true, nil
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *strict) byte() byte { return r.take(1)[0] }

func (r *strict) uint64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }

// time reads seconds since 1970, which are before the year 10000.
func (r *strict) time() time.Time {
	s := r.uint64()
	if s > maxSeconds {
		r.over, s = true, 0
	}
	return time.Unix(int64(s), 0)
}

const maxSeconds = 253402300799

// short reads text behind its length, of one byte.
func (r *strict) short() string { return string(r.take(int(r.byte()))) }
