// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// labelSize is the length of what Network.Label returns, in bytes.
const labelSize = 16

// Network holds the keys of one network and what is derived from them. Its keys may
// change while it is in use. All methods may be called concurrently. Printing it
// shows no key.
type Network struct {
	// Immutable after New.
	name string
	id   NetworkID

	issuance hidden[Issuance] // no secret, but 32 bytes that look like one

	ring atomic.Pointer[networkRing] // what counts now

	banned sync.Map // of peer.ID

	mu   sync.Mutex              // held while keys are derived
	file hidden[networkVersions] // guarded by mu
}

// networkVersions are all keys of a file, in its order.
type networkVersions struct {
	keys    []KeyVersion
	derived []hidden[networkKey]
}

// networkRing is what counts at one moment. It is immutable.
type networkRing struct {
	accepted []hidden[networkKey] // newest first
	shown    []hidden[networkKey] // to others: those accepted, and if there is only one, the newest besides
	seals    hidden[networkKey]
	common   hidden[networkKey] // see Validity
	lapsed   bool
}

// networkKey is one version of the key.
type networkKey struct {
	version   uint32
	key       Key
	admission ed25519.PrivateKey
	stranger  []byte // makes greetings
	vouch     []byte // makes proofs of statements
}

// NewNetwork derives what a network's node needs. It returns ErrBadFile or
// ErrBadName for a file that ParseNetworkFile would refuse. It copies f. Until
// Advance is called the two newest keys are accepted, whatever their times.
func NewNetwork(f NetworkFile) (*Network, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	n := &Network{name: f.Name, id: f.ID, issuance: hide(&f.Issuance)}
	n.file = hide(n.derive(f.Keys, nil))
	n.ring.Store(n.file.get().ring(timeless(f.Keys)))
	return n, nil
}

// derive makes what there is to make of keys; what old has is taken from there.
func (n *Network) derive(keys []KeyVersion, old *networkVersions) *networkVersions {
	v := &networkVersions{keys: slices.Clone(keys)}
	for _, k := range keys {
		v.derived = append(v.derived, old.reuse(k, func() *networkKey {
			return &networkKey{
				version:   k.Version,
				key:       k.Key,
				admission: ed25519.NewKeyFromSeed(derive(ed25519.SeedSize, k.Key[:], n.id[:], labelAdmissionKey)),
				stranger:  derive(len(Key{}), k.Key[:], n.id[:], labelStrangerKey),
				vouch:     derive(len(Key{}), k.Key[:], n.id[:], labelVouchKey),
			}
		}))
	}
	return v
}

// reuse returns what was derived from k before, or derives it.
func (v *networkVersions) reuse(k KeyVersion, derive func() *networkKey) hidden[networkKey] {
	if v != nil {
		for _, h := range v.derived {
			if had := h.get(); had.version == k.Version && had.key.Equal(k.Key) {
				return h
			}
		}
	}
	return hide(derive())
}

// ring picks what counts.
func (v *networkVersions) ring(now Validity) *networkRing {
	r := &networkRing{seals: v.derived[now.Seals], common: v.derived[now.Common], lapsed: now.Lapsed}
	for _, i := range now.Accepted {
		r.accepted = append(r.accepted, v.derived[i])
	}
	r.shown = slices.Clone(r.accepted)
	for _, i := range newestFirst(v.keys) {
		if len(r.shown) < validVersions && !slices.Contains(now.Accepted, i) {
			r.shown = append(r.shown, v.derived[i])
		}
	}
	return r
}

// SetKeys puts other keys in the place of the present ones, for who has read the
// network's file again. It returns ErrBadFile for keys that no file may have. It
// copies keys. Clusters with derived keys follow.
func (n *Network) SetKeys(keys []KeyVersion, now time.Time) error {
	if err := CheckKeys(keys); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.file = hide(n.derive(keys, n.file.get()))
	n.ring.Store(n.file.get().ring(ValidityOf(keys, now)))
	return nil
}

// Advance has the keys count that do at now, and returns when others will; zero =
// never. changed says whether that differs from before.
func (n *Network) Advance(now time.Time) (next time.Time, changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	keys := n.file.get().keys
	r, old := n.file.get().ring(ValidityOf(keys, now)), n.ring.Load()
	if changed = !r.same(old); changed {
		n.ring.Store(r)
	}
	return NextValidity(keys, now), changed
}

func (r *networkRing) same(o *networkRing) bool {
	return r.lapsed == o.lapsed && r.seals == o.seals && r.common == o.common && slices.Equal(r.accepted, o.accepted) && slices.Equal(r.shown, o.shown)
}

// Versions returns the versions of the keys that are accepted now, newest first, and
// of the one that seals. lapsed says that none is valid by this node's clock: it
// may be wrong. The caller owns the slice.
func (n *Network) Versions() (accepted []uint32, seals uint32, lapsed bool) {
	r := n.ring.Load()
	for _, h := range r.accepted {
		accepted = append(accepted, h.get().version)
	}
	return accepted, r.seals.get().version, r.lapsed
}

// Ban has CheckAdmission refuse p, with ErrBanned, or no longer.
func (n *Network) Ban(p peer.ID, on bool) {
	if on {
		n.banned.Store(p, struct{}{})
	} else {
		n.banned.Delete(p)
	}
}

// ID is the network's permanent id.
func (n *Network) ID() NetworkID { return n.id }

// Issuance says whether nodes need certificates.
func (n *Network) Issuance() Issuance { return *n.issuance.get() }

// Name is the network's name; only people use it.
func (n *Network) Name() string { return n.name }

// Label returns 16 bytes that are the same at every node of the network, for
// names that others can see, such as the mDNS service's. It depends on the id
// and not on the keys, because it must outlive them: it keeps networks apart,
// it proves nothing.
func (n *Network) Label(purpose string) []byte {
	return derive(labelSize, n.id[:], nil, labelPublic, []byte(purpose))
}

// Cluster returns the cluster of that name with keys that are derived from the
// network's: one for each accepted version, now and later. Keep it, as it caches what it
// derives.
func (n *Network) Cluster(name string) *Cluster {
	return newCluster(name, &source{network: n})
}

// String returns the name and the id.
func (n *Network) String() string { return "network " + n.name + " " + n.id.String() }

// Format writes String, whatever the verb.
func (n *Network) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, n.String()) }
