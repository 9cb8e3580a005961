// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"io"
	"time"
)

const (
	issuerFormat     = "arke-issuer"
	delegationFormat = 1
	delegationSize   = 1 + 8 + ed25519.PublicKeySize + 3*8 + signatureSize
	renewalSize      = 1 + 2 + delegationSize + 2*8 + signatureSize // and the certificate
)

// MaxRenewable bounds a certificate that issuers may renew, in bytes: what they add
// has to fit a Hello, too.
const MaxRenewable = MaxCertificate - renewalSize

// Delegation is what an authority lets an issuer do: give certificates that
// it has signed itself, and no others, more time.
type Delegation struct {
	// Serial is random. A list of revocations that names it takes back all that the
	// issuer has renewed.
	Serial uint64
	// NotBefore and NotAfter bound its time, and that of what it renews, in whole seconds.
	NotBefore, NotAfter time.Time
	// Life is how long what it renews is good, in whole seconds.
	Life time.Duration
}

func (d *Delegation) check() error {
	switch {
	case d.Serial == 0:
		return fmt.Errorf("%w: the serial number of the delegation is 0", ErrBadCertificate)
	case !d.NotAfter.After(d.NotBefore) || d.NotBefore.Unix() < 0:
		return fmt.Errorf("%w: the delegation ends before it begins", ErrBadCertificate)
	case d.Life < time.Second || d.Life > maxLife:
		return fmt.Errorf("%w: what an issuer renews is good for a second to 10 years", ErrBadCertificate)
	}
	return nil
}

const maxLife = 10 * 366 * 24 * time.Hour

// Issuer is a key that renews certificates while the authority's key is put away. Who
// holds it can't make a certificate for another node, or give a node other rights: it
// can only give time, as far as certificates and delegation let it. It prints as "[redacted]". The
// zero Issuer is no key.
type Issuer struct{ secret[issuerState] }

type issuerState struct {
	network   NetworkID
	authority AuthorityID
	private   ed25519.PrivateKey
	terms     Delegation
	signed    []byte // the delegation
}

// NewIssuer makes a key from 32 bytes of rand to which a delegates. It returns
// ErrBadCertificate for terms that nobody would accept.
func NewIssuer(a Authority, terms Delegation, rand io.Reader) (Issuer, error) {
	if err := terms.check(); err != nil {
		return Issuer{}, err
	}
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(rand, seed); err != nil {
		return Issuer{}, fmt.Errorf("security: generate issuer: %w", err)
	}
	private := ed25519.NewKeyFromSeed(seed)
	b := append([]byte{delegationFormat}, uint64Bytes(terms.Serial)...)
	b = append(b, private.Public().(ed25519.PublicKey)...)
	b = append(b, uint64Bytes(uint64(terms.NotBefore.Unix()))...)
	b = append(b, uint64Bytes(uint64(terms.NotAfter.Unix()))...)
	b = append(b, uint64Bytes(uint64(terms.Life/time.Second))...)
	return newIssuer(a.ID(), a.Network(), seed, a.sign(labelDelegation, b))
}

// newIssuer returns the key that a delegation is for.
func newIssuer(id AuthorityID, network NetworkID, seed, signed []byte) (Issuer, error) {
	terms, public, err := openDelegation(id, network, signed)
	if err != nil {
		return Issuer{}, err
	}
	private := ed25519.NewKeyFromSeed(seed)
	if !public.Equal(private.Public()) {
		return Issuer{}, fmt.Errorf("%w: the delegation is for another key", ErrBadCertificate)
	}
	return Issuer{keep(&issuerState{network, id, private, terms, signed})}, nil
}

// openDelegation decodes what the authority has signed, and returns whose key it is for.
func openDelegation(id AuthorityID, network NetworkID, signed []byte) (Delegation, ed25519.PublicKey, error) {
	body, ok := id.verified(labelDelegation, network, signed)
	if !ok {
		return Delegation{}, nil, fmt.Errorf("%w: its renewal is by an issuer to whom this network's authority has delegated nothing", ErrBadCertificate)
	}
	return parseDelegation(body)
}

func parseDelegation(body []byte) (d Delegation, key ed25519.PublicKey, err error) {
	r := strict{rest: body}
	if r.byte() != delegationFormat {
		return d, nil, fmt.Errorf("%w: a delegation of unknown format: use a newer release", ErrBadCertificate)
	}
	d.Serial, key = r.uint64(), ed25519.PublicKey(r.take(ed25519.PublicKeySize))
	d.NotBefore, d.NotAfter = r.time(), r.time()
	d.Life = time.Duration(min(r.uint64(), uint64(maxLife/time.Second)+1)) * time.Second
	if r.over || len(r.rest) > 0 {
		return d, nil, fmt.Errorf("%w: malformed delegation", ErrBadCertificate)
	}
	return d, key, d.check()
}

// Authority is who has delegated to i.
func (i Issuer) Authority() AuthorityID { return i.get().authority }

// Network is the network that i renews for.
func (i Issuer) Network() NetworkID { return i.get().network }

// Terms are what i may do.
func (i Issuer) Terms() Delegation { return i.get().terms }

// Renew returns a certificate again, which its authority has signed or an issuer has
// renewed, with the time from now on that i's terms and the certificate's RenewUntil
// allow. It returns ErrBadCertificate for what the authority has not signed, and
// ErrNotRenewable, or ErrNotYet, if more time than it has can't be given. Whether its time is over, or it
// was revoked, has the caller to look at.
func (i Issuer) Renew(encoded []byte, now time.Time) ([]byte, error) {
	s := i.get()
	c, err := OpenCertificate(s.authority, s.network, encoded)
	if err != nil {
		return nil, err
	}
	now = now.Truncate(time.Second)
	end := now.Add(s.terms.Life)
	switch {
	case c.RenewUntil.IsZero():
		return nil, fmt.Errorf("%w: it was not signed for that: `arke authority sign --renew-for` does", ErrNotRenewable)
	case !now.Before(c.RenewUntil):
		return nil, fmt.Errorf("%w: that was possible until %s: `arke authority renew` makes another one", ErrNotRenewable, c.RenewUntil.UTC().Format(time.RFC3339))
	case now.Before(s.terms.NotBefore), !now.Before(s.terms.NotAfter):
		return nil, fmt.Errorf("%w: the issuer's delegation is not valid now: `arke authority delegate` makes another one", ErrNotRenewable)
	case end.After(c.RenewUntil):
		end = c.RenewUntil
	}
	if end.After(s.terms.NotAfter) {
		end = s.terms.NotAfter
	}
	switch {
	case end.After(c.NotAfter):
	case end.Equal(s.terms.NotAfter):
		return nil, fmt.Errorf("%w: the issuer's delegation ends at %s: `arke authority delegate` makes another one", ErrNotRenewable, end.UTC().Format(time.RFC3339))
	default:
		return nil, fmt.Errorf("%w: it ends at %s", ErrNotYet, c.NotAfter.UTC().Format(time.RFC3339))
	}
	original := Original(encoded)
	b := []byte{renewedFormat, byte(len(original) >> 8), byte(len(original))}
	b = append(append(b, original...), s.signed...)
	b = append(b, uint64Bytes(uint64(now.Unix()))...)
	b = append(b, uint64Bytes(uint64(end.Unix()))...)
	return append(b, ed25519.Sign(s.private, message(labelRenewal, s.network[:], b))...), nil
}

// renewed is a certificate that an issuer has renewed, in its parts.
type renewed struct {
	original, delegation []byte // as the authority signed them
	notBefore, notAfter  time.Time
	body, signature      []byte // what the issuer signed
}

func parseRenewed(encoded []byte) (n renewed, err error) {
	r := strict{rest: encoded}
	_ = r.byte() // the format
	n.original = r.take(int(r.byte())<<8 | int(r.byte()))
	n.delegation = r.take(delegationSize)
	n.notBefore, n.notAfter = r.time(), r.time()
	n.body = encoded[:max(len(encoded)-signatureSize, 0)]
	n.signature = r.take(signatureSize)
	if r.over || len(r.rest) > 0 {
		return n, fmt.Errorf("%w: malformed", ErrBadCertificate)
	}
	return n, nil
}

// extends gives c, which the delegation is about, the time of the renewal.
func (n *renewed) extends(c *Certificate, d *Delegation) error {
	switch {
	case !n.notAfter.After(n.notBefore), n.notAfter.Sub(n.notBefore) > d.Life,
		n.notBefore.Before(d.NotBefore), n.notAfter.After(d.NotAfter), n.notAfter.After(c.RenewUntil):
		return fmt.Errorf("%w: it was renewed for longer than its issuer may", ErrBadCertificate)
	}
	c.NotBefore, c.NotAfter, c.Issuer = n.notBefore, n.notAfter, d.Serial
	return nil
}

// open verifies all three signatures.
func (n *renewed) open(id AuthorityID, network NetworkID) (Certificate, error) {
	c, err := openSigned(id, network, n.original)
	if err != nil {
		return c, err
	}
	d, key, err := openDelegation(id, network, n.delegation)
	if err != nil {
		return c, err
	}
	if !ed25519.Verify(key, message(labelRenewal, network[:], n.body), n.signature) {
		return c, fmt.Errorf("%w: its renewal is not signed by the issuer that it names", ErrBadCertificate)
	}
	return c, n.extends(&c, &d)
}

// Original returns a certificate as its authority signed it, in the same array.
func Original(encoded []byte) []byte {
	if len(encoded) > 0 && encoded[0] == renewedFormat {
		if n, err := parseRenewed(encoded); err == nil {
			return n.original
		}
	}
	return encoded
}

const issuerHead = `# Arke issuer key: who holds it can give certificates of the network's authority more time.
# It is for the nodes that run arke authority serve. Keep it secret: mode 0600 (chmod 600).
`

// LoadIssuer reads a key that WriteIssuer wrote. Errors are those of LoadAuthority.
func LoadIssuer(path string) (Issuer, error) {
	return parsed("issuer key", path, parseIssuer)
}

func parseIssuer(data []byte) (Issuer, error) {
	var network NetworkID
	var authority AuthorityID
	seed, signed := make([]byte, ed25519.SeedSize), make([]byte, delegationSize)
	into := func(b []byte) func(line) error { return func(l line) error { return l.hexValue(b) } }
	s := statements{
		format: issuerFormat, version: "1", known: `"network", "authority", "seed" and "delegation"`,
		required: []string{"network", "authority", "seed", "delegation"},
		parse: map[string]func(line) error{
			"network": into(network[:]), "authority": into(authority[:]), "seed": into(seed), "delegation": into(signed),
		},
	}
	if err := s.read(data); err != nil {
		return Issuer{}, err
	}
	i, err := newIssuer(authority, network, seed, signed)
	if err != nil {
		return i, fmt.Errorf("%w: %w", ErrBadFile, err)
	}
	return i, nil
}

// WriteIssuer creates a file of mode 0600. It does not overwrite: the error is
// fs.ErrExist then.
func WriteIssuer(path string, i Issuer) error {
	if i.IsZero() {
		return fmt.Errorf("%w: no key to write", ErrBadFile)
	}
	s := i.get()
	b := []byte(issuerHead)
	b = fmt.Appendf(b, "%s 1\nnetwork %s\nauthority %s\nseed ", issuerFormat, s.network, s.authority)
	b = hex.AppendEncode(b, s.private.Seed())
	b = hex.AppendEncode(append(b, "\ndelegation "...), s.signed)
	return writeSecretFile(path, append(b, '\n'))
}
