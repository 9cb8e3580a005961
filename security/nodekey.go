// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
)

const nodeKeyFormat = "arke-node-key"

// NodeKey is the private key of one node; its public half is the peer id. It
// prints as "[redacted]". The zero NodeKey is no key, see IsZero.
type NodeKey struct{ secret[nodeKeyState] }

type nodeKeyState struct {
	private ed25519.PrivateKey
	libp2p  crypto.PrivKey
	id      peer.ID
}

// GenerateNodeKey makes a key from 32 bytes of rand.
func GenerateNodeKey(rand io.Reader) (NodeKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(rand, seed); err != nil {
		return NodeKey{}, fmt.Errorf("security: generate node key: %w", err)
	}
	return newNodeKey(seed)
}

func newNodeKey(seed []byte) (NodeKey, error) {
	s := &nodeKeyState{private: ed25519.NewKeyFromSeed(seed)}
	var err error
	if s.libp2p, err = crypto.UnmarshalEd25519PrivateKey(s.private); err != nil {
		return NodeKey{}, fmt.Errorf("security: node key: %w", err)
	}
	if s.id, err = peer.IDFromPrivateKey(s.libp2p); err != nil {
		return NodeKey{}, fmt.Errorf("security: node key: %w", err)
	}
	return NodeKey{keep(s)}, nil
}

// PeerID is the node's public identity; "" for the zero NodeKey.
func (k NodeKey) PeerID() peer.ID {
	if k.IsZero() {
		return ""
	}
	return k.get().id
}

// Libp2p is the key as libp2p takes it; nil for the zero NodeKey. It does not
// redact itself: hand it on, do not print it.
func (k NodeKey) Libp2p() crypto.PrivKey {
	if k.IsZero() {
		return nil
	}
	return k.get().libp2p
}

const nodeKeyHead = `# Arke node key: the identity of one node.
# Keep it secret: mode 0600 (chmod 600). Never copy it to a second node: two
# nodes with one identity disturb each other.
`

// LoadNodeKey reads a key that WriteNodeKey wrote. It returns fs.ErrNotExist
// if there is none, ErrLooseMode or ErrBadFile.
func LoadNodeKey(path string) (NodeKey, error) {
	return parsed("node key", path, parseNodeKey)
}

func parseNodeKey(data []byte) (NodeKey, error) {
	seed, found := make([]byte, ed25519.SeedSize), false
	s := statements{format: nodeKeyFormat, version: "1", known: `"seed"`, parse: map[string]func(line) error{
		"seed": func(l line) error {
			found = true
			return l.hexValue(seed)
		},
	}}
	if err := s.read(data); err != nil {
		return NodeKey{}, err
	}
	if !found || (*Key)(seed).IsZero() {
		return NodeKey{}, fmt.Errorf("%w: it has no key: remove the file, and a new one is made", ErrBadFile)
	}
	return newNodeKey(seed)
}

// WriteNodeKey creates a file of mode 0600. It does not overwrite: the error
// is fs.ErrExist then.
func WriteNodeKey(path string, k NodeKey) error {
	if k.IsZero() {
		return fmt.Errorf("%w: no key to write", ErrBadFile)
	}
	b := []byte(nodeKeyHead)
	b = fmt.Appendf(b, "%s 1\nseed ", nodeKeyFormat)
	b = hex.AppendEncode(b, k.get().private.Seed())
	return writeSecretFile(path, append(b, '\n'))
}
