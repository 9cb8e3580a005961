// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/ed25519"
	"fmt"
	"io"
)

// labelSize is the length of what Network.Label returns, in bytes.
const labelSize = 16

// Network holds the keys of one network and what is derived from them. It is
// immutable; all methods may be called concurrently. Printing it shows no key.
type Network struct {
	name string
	id   NetworkID
	keys []hidden[networkKey] // the accepted ones, newest first

	issuance hidden[Issuance] // no secret, but 32 bytes that look like one
}

// networkKey is one version of the key.
type networkKey struct {
	version   uint32
	key       Key
	admission ed25519.PrivateKey
	stranger  []byte // makes greetings
}

// NewNetwork derives what a network's node needs. It returns ErrBadFile or
// ErrBadName for a file that ParseNetworkFile would refuse. It copies f.
func NewNetwork(f NetworkFile) (*Network, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	n := &Network{name: f.Name, id: f.ID, issuance: hide(&f.Issuance)}
	for _, k := range newest(f.Keys) {
		seed := derive(ed25519.SeedSize, k.Key[:], f.ID[:], labelAdmissionKey)
		stranger := derive(len(Key{}), k.Key[:], f.ID[:], labelStrangerKey)
		n.keys = append(n.keys, hide(&networkKey{k.Version, k.Key, ed25519.NewKeyFromSeed(seed), stranger}))
	}
	return n, nil
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
// network's: one for each accepted version. Keep it, as it caches what it
// derives.
func (n *Network) Cluster(name string) *Cluster {
	c := newCluster(name, true)
	for _, h := range n.keys {
		k := h.get()
		c.addKey(k.version, Key(derive(len(Key{}), k.key[:], n.id[:], labelClusterKey, []byte(name))))
	}
	return c
}

// String returns the name and the id.
func (n *Network) String() string { return "network " + n.name + " " + n.id.String() }

// Format writes String, whatever the verb.
func (n *Network) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, n.String()) }
