// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"time"
)

// KeyID names a key without showing it: one version of a cluster's key, in what is
// sealed with it, or a set of them. It is not secret.
type KeyID [8]byte

// String returns 16 hexadecimal digits.
func (id KeyID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText returns 16 hexadecimal digits.
func (id KeyID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// keyID names one version of the key of that cluster.
func keyID(cluster string, version uint32, key Key) (id KeyID) {
	copy(id[:], derive(len(id), key[:], nil, labelKeyID, []byte(cluster), uint32Bytes(version)))
	return id
}

// KeySetID names the keys of a cluster together. Two sets have the same id only if
// they are the same keys in the same versions and with the same times, for the same
// cluster, whatever their order. It changes when a key is added: who holds an old set must not come to
// stand for who holds the new one.
func KeySetID(cluster string, keys []KeyVersion) (id KeyID) {
	if len(keys) == 0 {
		return id
	}
	newest := newestFirst(keys)
	parts := [][]byte{[]byte(cluster)}
	for _, i := range newest {
		k := keys[i]
		one := keyID(cluster, k.Version, k.Key)
		parts = append(parts, slices.Concat(one[:], boundBytes(k.NotBefore), boundBytes(k.NotAfter)))
	}
	copy(id[:], derive(len(id), keys[newest[0]].Key[:], nil, labelKeySet, parts...))
	return id
}

// SealedWith says which key has sealed a payload; false if it is none that Seal has
// made. Nothing is verified by that.
func SealedWith(sealed []byte) (id KeyID, ok bool) {
	if len(sealed) < SealOverhead || sealed[0] != sealFormat && sealed[0] != agreedFormat {
		return id, false
	}
	copy(id[:], sealed[1:])
	return id, true
}

// boundBytes is a bound in seconds since 1970; zeros = there is none.
func boundBytes(t time.Time) []byte {
	if t.IsZero() {
		return uint64Bytes(0)
	}
	return uint64Bytes(uint64(t.Unix()))
}

func uint32Bytes(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
