// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package issued

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/verb"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// maxHeld bounds the certificates of records that are remembered; beyond it they are
// verified again.
const maxHeld = 4096

// maxBad bounds those whose signature was found to be wrong, likewise.
const maxBad = 1024

// Roll knows the certificates of the nodes that this one deals with, and what they
// are good for. All methods may be called concurrently.
type Roll struct {
	// Immutable.
	self    peer.ID
	network security.NetworkID
	now     func() time.Time

	issued atomic.Bool // there is an authority

	// Guarded by mu.
	mu       sync.RWMutex
	issuance security.Issuance
	own      *holding // this node's; nil = none
	list     security.RevocationList
	signed   []byte                                // list, as it was signed; nil = none came
	shown    map[peer.ID]*holding                  // in Hellos of links that stand
	apart    map[peer.ID]*holding                  // those of shown that had no link at the last Sweep
	held     map[security.CertificateHash]*holding // of records, and of links
	bad      map[security.CertificateHash]error    // why others are none
}

// New returns the roll of a node. now is its wall clock.
func New(self peer.ID, network security.NetworkID, i security.Issuance, now func() time.Time) *Roll {
	r := &Roll{
		self: self, network: network, now: now, shown: make(map[peer.ID]*holding), held: make(map[security.CertificateHash]*holding),
		bad: make(map[security.CertificateHash]error),
	}
	r.SetIssuance(i)
	return r
}

// SetIssuance changes whether nodes need certificates. Whoever is in has to be looked
// at again.
func (r *Roll) SetIssuance(i security.Issuance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	another := i.Authority != r.issuance.Authority
	r.issuance = i
	r.issued.Store(i.Issued())
	if !another {
		return
	}
	// What another one has signed counts no longer.
	clear(r.shown)
	clear(r.held)
	clear(r.bad)
	r.list, r.signed = security.RevocationList{}, nil
	if own := r.own; own != nil && i.Issued() {
		r.own = nil
		_ = r.present(own.encoded) // if it is not this one's, the node has none: Status says so
	}
}

// Issuance says whether nodes need certificates.
func (r *Roll) Issuance() security.Issuance {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.issuance
}

// Present makes encoded this node's own certificate. It returns an error, and keeps the
// one that it has, unless the authority has signed it for this node. One whose time is
// over, or that was revoked, is taken: the others say so. One that this node has a longer
// renewal of, which was not revoked, changes nothing. Where no authority is known
// yet it is shown as it is, so that certificates can be handed out before it is named.
func (r *Roll) Present(encoded []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.present(encoded)
}

func (r *Roll) present(encoded []byte) error {
	open := func(encoded []byte) (*holding, error) { return r.open(encoded, security.HashCertificate(encoded)) }
	if !r.issuance.Issued() {
		open = describe
	}
	h, err := open(encoded)
	if err != nil {
		return err
	}
	if h.Peer != r.self {
		return fmt.Errorf("%w: it is for peer %s, and this node is %s", security.ErrBadCertificate, h.Peer, r.self)
	}
	if own := r.own; own != nil && security.Renews(own.encoded, encoded) && !h.NotAfter.After(own.NotAfter) && !r.list.Revokes(&own.Certificate) {
		return nil
	}
	r.own = h
	return nil
}

// Good says why others would refuse a certificate if this node showed it now; nil = they
// would not.
func Good(r *Roll, encoded []byte) error {
	hash := learn(r, encoded)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.check(r.self, encoded, hash)
	return err
}

// Certificate is what this node shows; nil = none. Nobody changes it.
func (r *Roll) Certificate() []byte {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.own == nil {
		return nil
	}
	return r.own.encoded
}

// OwnCertificate is the same decoded.
func (r *Roll) OwnCertificate() (c security.Certificate, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.own == nil {
		return c, false
	}
	return r.own.Certificate, true
}

// learn verifies a certificate if that has not been done, while nobody waits for it, and
// returns its hash.
func learn(r *Roll, encoded []byte) security.CertificateHash {
	hash := security.HashCertificate(encoded)
	r.mu.RLock()
	known := len(encoded) == 0 || r.held[hash] != nil || r.bad[hash] != nil
	authority := r.issuance.Authority
	r.mu.RUnlock()
	if known {
		return hash
	}
	c, err := security.OpenCertificate(authority, r.network, encoded)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.issuance.Authority == authority && r.held[hash] == nil {
		remember(r, hash, encoded, c, err)
	}
	return hash
}

// open returns a certificate that is verified, or why it is none. mu is held.
func (r *Roll) open(encoded []byte, hash security.CertificateHash) (*holding, error) {
	if h := r.held[hash]; h != nil {
		return h, nil
	}
	if err := r.bad[hash]; err != nil {
		return nil, err
	}
	c, err := security.OpenCertificate(r.issuance.Authority, r.network, encoded)
	return remember(r, hash, encoded, c, err), err
}

// remember keeps what came of a verification. mu is held.
func remember(r *Roll, hash security.CertificateHash, encoded []byte, c security.Certificate, err error) *holding {
	if err != nil {
		if len(r.bad) >= maxBad {
			clear(r.bad)
		}
		r.bad[hash] = err
		return nil
	}
	if len(r.held) >= maxHeld {
		clear(r.held) // those of links stay in shown
	}
	h := hold(c, encoded)
	r.held[hash] = h
	return h
}

// valid returns the certificate that p shows. Without one, or with one that is good
// for nothing, it is nil where none is required, and an error where one is; who was
// revoked is refused in any case. mu is held.
func (r *Roll) valid(p peer.ID, encoded []byte, hash security.CertificateHash) (*holding, error) {
	h, err := r.check(p, encoded, hash)
	switch {
	case err == nil:
		return h, nil
	case errors.Is(err, security.ErrRevoked), r.issuance.Required:
		return nil, err
	}
	return nil, nil
}

// check says what is wrong with a certificate, or with the node. It returns one whose
// signature is good together with the error. mu is held.
func (r *Roll) check(p peer.ID, encoded []byte, hash security.CertificateHash) (*holding, error) {
	if r.list.RevokesPeer(p) {
		return nil, fmt.Errorf("%w: list %d excludes the node", security.ErrRevoked, r.list.Number)
	}
	if len(encoded) == 0 {
		return nil, security.ErrNoCertificate
	}
	h, err := r.open(encoded, hash)
	if err != nil {
		return nil, err
	}
	return stands(r, p, h)
}

// stands says whether a certificate whose signature is good counts for p now. mu is held.
func stands(r *Roll, p peer.ID, h *holding) (*holding, error) {
	switch {
	case h.Peer != p:
		return nil, fmt.Errorf("%w: it is another node's", security.ErrBadCertificate)
	case r.list.RevokesPeer(p):
		return nil, fmt.Errorf("%w: list %d excludes the node", security.ErrRevoked, r.list.Number)
	case r.list.Revokes(&h.Certificate):
		return h, fmt.Errorf("%w: list %d has serial %016x", security.ErrRevoked, r.list.Number, h.Serial)
	}
	return h, h.At(r.now())
}

// Admit says whether p is let in by what it shows in a Hello, and what its certificate
// calls it; "" = it has none, and needs none. What it may do is remembered until Forget.
// One that is refused takes nothing from p that the one before lets it do.
func (r *Roll) Admit(p peer.ID, encoded []byte) (name string, err error) {
	if !r.issued.Load() {
		return "", nil
	}
	hash := learn(r, encoded)
	r.mu.Lock()
	defer r.mu.Unlock()
	h, err := r.valid(p, encoded, hash)
	if h != nil {
		r.shown[p] = h
		return h.Name, nil
	}
	if before := r.shown[p]; before != nil && err != nil {
		if _, over := stands(r, p, before); over == nil {
			return "", err
		}
	}
	delete(r.shown, p)
	return "", err
}

// Forget notes that there is no link to p any more.
func (r *Roll) Forget(p peer.ID) {
	if r.issued.Load() {
		r.mu.Lock()
		delete(r.shown, p)
		r.mu.Unlock()
	}
}

// Sweep forgets what peers have shown who had no link at this call and at the one before:
// a Hello may have come to nothing. linked must not block.
func Sweep(r *Roll, linked func(peer.ID) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.apart
	r.apart = make(map[peer.ID]*holding)
	for p, h := range r.shown {
		switch {
		case linked(p):
		case before[p] == h:
			delete(r.shown, p)
		default:
			r.apart[p] = h
		}
	}
}

// Serves says whether the node p, whose record has that certificate, may serve a
// cluster, and what it is called. The error is security's.
func (r *Roll) Serves(p peer.ID, encoded []byte, cluster string) (name string, err error) {
	return r.recorded(p, encoded, func(h *holding) error {
		if !h.allows(verb.Serve, cluster) {
			return forbidden(h, verb.Serve, cluster)
		}
		return nil
	})
}

// Valid says whether the certificate in a record of the node p is good, whatever it lets
// it do, and what it calls the node.
func (r *Roll) Valid(p peer.ID, encoded []byte) (name string, err error) {
	return r.recorded(p, encoded, func(*holding) error { return nil })
}

// recorded judges a certificate in a record of the node p, and by more what it lets the
// node do, and returns what it calls the node.
func (r *Roll) recorded(p peer.ID, encoded []byte, more func(*holding) error) (name string, err error) {
	if !r.issued.Load() {
		return "", nil
	}
	hash := learn(r, encoded)
	r.mu.Lock()
	defer r.mu.Unlock()
	h, err := r.valid(p, encoded, hash)
	if h == nil {
		return "", err
	}
	if err := more(h); err != nil {
		return "", err
	}
	return h.Name, nil
}

// Asked says whether there is an authority: else everybody may do everything.
func (r *Roll) Asked() bool { return r.issued.Load() }

// Lets says whether the node p, whose record has that certificate, may do something
// with a name.
func (r *Roll) Lets(p peer.ID, encoded []byte, v verb.Verb, name string) bool {
	if !r.issued.Load() {
		return true
	}
	hash := learn(r, encoded)
	r.mu.Lock()
	defer r.mu.Unlock()
	h, err := r.valid(p, encoded, hash)
	return err == nil && (h == nil || h.allows(v, name))
}

// May says whether p, to which there is a link, may do something with a name. It is
// asked for each message.
func (r *Roll) May(p peer.ID, v verb.Verb, name string) bool {
	if !r.issued.Load() {
		return true
	}
	r.mu.RLock()
	h := r.shown[p]
	if p == r.self {
		h = r.own
	}
	if h == nil {
		defer r.mu.RUnlock()
		return !r.issuance.Required
	}
	verdict, known := h.verdicts[question{v, name}]
	r.mu.RUnlock()
	if known {
		return verdict
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return h.allows(v, name)
}

// MayBytes is May for a name that is no string yet, and that is not kept.
func (r *Roll) MayBytes(p peer.ID, v verb.Verb, name []byte) bool {
	if !r.issued.Load() {
		return true
	}
	r.mu.RLock()
	h := r.shown[p]
	if h != nil {
		if verdict, known := h.verdicts[question{v, string(name)}]; known { // not copied
			r.mu.RUnlock()
			return verdict
		}
	}
	r.mu.RUnlock()
	return r.May(p, v, string(name))
}

// Own says why this node itself must not do something, if so: patterns.ErrUnauthorized
// with what to do about it.
func (r *Roll) Own(v verb.Verb, name string) error {
	if r.May(r.self, v, name) {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.own == nil {
		return fmt.Errorf("%w: %w: have one made with `arke authority sign`", patterns.ErrUnauthorized, security.ErrNoCertificate)
	}
	return fmt.Errorf("%w: %w: have another one made with `arke authority sign --%s %s`",
		patterns.ErrUnauthorized, forbidden(r.own, v, name), v, name)
}

// Parse verifies a list of revocations. It returns security.ErrBadCertificate.
func (r *Roll) Parse(signed []byte) (security.RevocationList, error) {
	return security.OpenRevocations(r.Issuance().Authority, r.network, signed)
}

// Verify says whether a statement is a list that the authority has signed.
func (r *Roll) Verify(subject string, number uint64, signed []byte) error {
	l, err := r.Parse(signed)
	switch {
	case err != nil:
		return err
	case subject != "" || number != l.Number:
		return fmt.Errorf("%w: the statement is not about list %d", security.ErrBadCertificate, l.Number)
	}
	return nil
}

// Revoke takes in a list that the authority has signed. It reports whether that is
// news; who is in has to be looked at again then. The error is
// security.ErrBadCertificate.
func (r *Roll) Revoke(signed []byte) (news bool, err error) {
	authority := r.Issuance().Authority
	l, err := security.OpenRevocations(authority, r.network, signed)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.issuance.Authority != authority:
		return false, fmt.Errorf("%w: the network has another authority now", security.ErrBadCertificate)
	case l.Number <= r.list.Number:
		return false, nil
	}
	r.list, r.signed = l, append([]byte(nil), signed...)
	return true, nil
}

// Revocations are the list that counts, and as it was signed; nil = there is none.
func (r *Roll) Revocations() (security.RevocationList, []byte) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.list, r.signed
}

// Next is when the first certificate ends after since: of somebody with a link, or in a
// record; zero = none does.
func (r *Roll) Next(since time.Time) (first time.Time) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	look := func(h *holding) {
		if end := h.Ends(); end.After(since) && (first.IsZero() || end.Before(first)) {
			first = end
		}
	}
	for _, h := range r.shown {
		look(h)
	}
	for _, h := range r.held {
		look(h)
	}
	return first
}

// Status is what people want to know of a node's certificate.
type Status struct {
	Mode        string    `json:"mode"` // shared, optional or required
	Authority   string    `json:"authority,omitempty"`
	Name        string    `json:"name,omitempty"` // as the certificate has it
	Serial      string    `json:"serial,omitempty"`
	Groups      []string  `json:"groups,omitempty"`
	NotAfter    time.Time `json:"not_after,omitzero"`
	RenewUntil  time.Time `json:"renew_until,omitzero"`  // by issuers
	Revocations uint64    `json:"revocations,omitempty"` // number of the list that counts
	Fault       string    `json:"fault,omitempty"`       // why others refuse this node; "" = they don't

	Renewals     uint64    `json:"renewals,omitempty"`      // by issuers, since the start
	Renewed      time.Time `json:"renewed,omitzero"`        // when the last one came
	NextRenewal  time.Time `json:"next_renewal,omitzero"`   // when one is asked for
	RenewalFault string    `json:"renewal_fault,omitempty"` // why the last try failed; "" = it did not

	Issuer *IssuerStatus `json:"issuer,omitempty"` // nil = this node renews nobody's
}

// Status describes this node's certificate.
func (r *Roll) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{Mode: "shared", Revocations: r.list.Number}
	if !r.issuance.Issued() {
		return s
	}
	s.Mode, s.Authority = "optional", r.issuance.Authority.String()
	if r.issuance.Required {
		s.Mode = "required"
	}
	var encoded []byte
	if r.own != nil {
		s.Name, s.Serial, s.Groups, s.NotAfter = r.own.Name, fmt.Sprintf("%016x", r.own.Serial), r.own.Groups, r.own.NotAfter
		s.RenewUntil = r.own.RenewUntil
		encoded = r.own.encoded
	}
	if _, err := r.check(r.self, encoded, security.HashCertificate(encoded)); err != nil && (r.own != nil || r.issuance.Required) {
		s.Fault = err.Error()
	}
	return s
}
