// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	// MaxLeafKeySets bounds the clusters that a client brings keys for, and
	// MaxLeafKeys the versions of each: a Hello has room for no more.
	MaxLeafKeySets = 32
	MaxLeafKeys    = 8
)

// LeafKeys is the keys of one cluster that a client brings its relay.
type LeafKeys struct {
	Cluster string    // 1 to 255 bytes
	Keys    []LeafKey // at least one
}

// LeafKey is one version of them.
type LeafKey struct {
	Version uint32
	// NotBefore and NotAfter bound when the key is valid, in seconds since 1970; 0 =
	// no bound.
	NotBefore, NotAfter uint64
	Key                 Secret
}

// Secret is a key as it travels. It prints as "[redacted]" whatever the verb.
type Secret [32]byte

// Format writes "[redacted]" for every verb.
func (Secret) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "[redacted]") }

// MarshalText returns "[redacted]".
func (Secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

func appendLeafKeys(dst []byte, sets []LeafKeys) []byte {
	if len(sets) > MaxLeafKeySets {
		panic("BUG: more sets of keys than a hello may have")
	}
	dst = append(dst, byte(len(sets)))
	for i := range sets {
		set := &sets[i]
		dst = appendShort(dst, set.Cluster)
		dst = append(dst, byte(len(set.Keys)))
		for j := range set.Keys {
			k := &set.Keys[j]
			dst = binary.BigEndian.AppendUint32(dst, k.Version)
			dst = binary.BigEndian.AppendUint64(dst, k.NotBefore)
			dst = binary.BigEndian.AppendUint64(dst, k.NotAfter)
			dst = append(dst, k.Key[:]...)
		}
	}
	return dst
}

// readLeafKeys reads what appendLeafKeys has written. What the keys are worth is for
// their user to say.
func readLeafKeys(r *reader) (sets []LeafKeys) {
	n := int(r.uint8())
	r.bad = r.bad || n > MaxLeafKeySets
	for range n {
		set := LeafKeys{Cluster: r.name(255)}
		count := int(r.uint8())
		r.bad = r.bad || count == 0 || count > MaxLeafKeys
		for range count {
			if r.bad {
				return nil
			}
			k := LeafKey{Version: r.uint32(), NotBefore: r.uint64(), NotAfter: r.uint64()}
			copy(k.Key[:], r.bytes(len(k.Key)))
			set.Keys = append(set.Keys, k)
		}
		sets = append(sets, set)
	}
	return sets
}
