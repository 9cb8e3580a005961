// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package issued

import (
	"errors"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/pace"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// Cluster is where nodes have their certificates renewed: its members are issuers. Who
// serves it has to have that name in its certificate; who is in the network may call it.
const Cluster = "$authority"

// maxAskers bounds the nodes that are remembered; the others share what one may ask.
const maxAskers = 16384

// asking is what an issuer does for one node: four renewals at once, and one more every
// ten seconds.
var asking = pace.Limit{Units: 1, Per: 10 * time.Second, Burst: 40 * time.Second}

// Codes of an issuer's refusals. Do not reorder.
const (
	CodeNotYet  patterns.Code = 100 // it is good for longer than a renewal would be
	CodeRefused patterns.Code = 101
)

// Issuer renews what it may: certificates of the node that asks, by their authority,
// neither revoked nor longer over than clocks may differ. Methods may be called
// concurrently.
type Issuer struct {
	roll  *Roll
	key   security.Issuer
	began time.Time // what askers count from: a wall clock that is set back does not matter

	askers *pace.Meters[peer.ID]

	mu     sync.Mutex
	counts struct{ renewed, refused uint64 } // guarded by mu
}

// IssuerStatus is what people want to know of an issuer.
type IssuerStatus struct {
	NotAfter time.Time `json:"not_after"`    // of the delegation
	Life     float64   `json:"life_seconds"` // of what it renews
	Renewed  uint64    `json:"renewed"`      // since the start
	Refused  uint64    `json:"refused"`
}

// NewIssuer returns an issuer that goes by what the roll knows.
func NewIssuer(r *Roll, key security.Issuer) *Issuer {
	return &Issuer{roll: r, key: key, began: r.now(), askers: pace.New[peer.ID](asking, maxAskers)}
}

// Renew renews a certificate of p. The error is a *patterns.RemoteError, or a
// *patterns.Refusal if p asks too often.
func (i *Issuer) Renew(p peer.ID, encoded []byte) ([]byte, error) {
	now := i.roll.now()
	if !i.askers.Pass(p, int64(now.Sub(i.began)), 1) {
		i.mu.Lock()
		i.counts.refused++
		i.mu.Unlock()
		return nil, &patterns.Refusal{Cause: patterns.ErrOverloaded}
	}
	hash := learn(i.roll, encoded)
	i.roll.mu.Lock()
	_, err := i.roll.check(p, encoded, hash)
	i.roll.mu.Unlock()
	var signed []byte
	if err == nil {
		signed, err = i.key.Renew(encoded, now)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if err == nil {
		i.counts.renewed++
		return signed, nil
	}
	i.counts.refused++
	code := CodeRefused
	if errors.Is(err, security.ErrNotYet) {
		code = CodeNotYet
	}
	return nil, &patterns.RemoteError{Code: code, Message: err.Error()}
}

// Status describes the issuer.
func (i *Issuer) Status() *IssuerStatus {
	i.mu.Lock()
	defer i.mu.Unlock()
	terms := i.key.Terms()
	return &IssuerStatus{NotAfter: terms.NotAfter.UTC(), Life: terms.Life.Seconds(), Renewed: i.counts.renewed, Refused: i.counts.refused}
}

// RenewalError is what an issuer's answer means.
func RenewalError(err error) error {
	var remote *patterns.RemoteError
	if errors.As(err, &remote) && remote.Code == CodeNotYet {
		return security.ErrNotYet
	}
	return err
}
