// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/subtle"
	"fmt"
	"io"
	"time"
)

const redacted = "[redacted]"

// Key is 32 secret random bytes: a network key or a cluster key. It prints as
// "[redacted]" whatever the verb, also in JSON and in zap's fields.
//
// Package fmt does not call methods of values in unexported struct fields: do
// not keep a Key by value in one if that struct may be printed.
type Key [32]byte

// KeyVersion is one of the keys that succeed each other in a network or a
// cluster. Versions count from 1.
type KeyVersion struct {
	Version uint32
	Key     Key
	// NotBefore and NotAfter bound when the key is valid: from the first on, until
	// just before the second. They are whole seconds. Zero = no bound. Each node
	// goes by its own clock, and accepts others' use of the key for
	// ClockTolerance longer at either end.
	NotBefore, NotAfter time.Time `json:",omitzero"`
}

// String returns "[redacted]".
func (Key) String() string { return redacted }

// GoString returns "[redacted]".
func (Key) GoString() string { return redacted }

// Format writes "[redacted]" for every verb.
func (Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// MarshalText returns "[redacted]".
func (Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON returns "[redacted]" as a JSON string.
func (Key) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// Equal compares in constant time.
func (k Key) Equal(other Key) bool { return subtle.ConstantTimeCompare(k[:], other[:]) == 1 }

// IsZero says whether no byte of the key is set, which no random key is.
func (k Key) IsZero() bool { return k.Equal(Key{}) }

// CheckKeys returns ErrBadFile, with the reason, unless there is a key,
// versions rise from 1 without repetition, no key is all zeros, and those with
// bounds have time between them.
func CheckKeys(keys []KeyVersion) error {
	if len(keys) == 0 {
		return fmt.Errorf("%w: there is no key", ErrBadFile)
	}
	last := uint32(0)
	for _, k := range keys {
		if k.Version <= last {
			return fmt.Errorf("%w: key versions must begin at 1 or above, rise, and occur once", ErrBadFile)
		}
		if k.Key.IsZero() {
			return fmt.Errorf("%w: key version %d is all zeros, which is no key", ErrBadFile, k.Version)
		}
		if err := k.checkTimes(); err != nil {
			return err
		}
		last = k.Version
	}
	return nil
}

// mustRead fills b with random bytes. A source that fails would make every
// seal after it worthless, so it ends the program.
func mustRead(rand io.Reader, b []byte) {
	if _, err := io.ReadFull(rand, b); err != nil {
		panic("BUG: source of random bytes failed: " + err.Error())
	}
}
