// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// keyFormatVersion is the version of the files that list keys.
const keyFormatVersion = "2"

// keyAdvice says what a key's line looks like.
const keyAdvice = "write `key VERSION HEX`, then `not-before TIME`, `not-after TIME`, both or neither, with times like 2027-01-31T12:00:00Z"

// parseKey adds the key of one line to those before it.
func parseKey(l line, keys *[]KeyVersion) error {
	if n := len(l.words); n != 3 && n != 5 && n != 7 {
		return l.errorf("%q has %d values: %s", l.words[0], n-1, keyAdvice)
	}
	v, err := strconv.ParseUint(l.words[1], 10, 32)
	if err != nil || v == 0 {
		return l.errorf("the version of a key is a number from 1 to 4294967295: %s", keyAdvice)
	}
	k := KeyVersion{Version: uint32(v)}
	if n := len(*keys); n > 0 && k.Version <= (*keys)[n-1].Version {
		return l.errorf("key version %d follows version %d: each version may occur once, in rising order", v, (*keys)[n-1].Version)
	}
	if err := l.hexInto(k.Key[:], 2); err != nil {
		return err
	}
	if k.Key.IsZero() {
		return l.errorf("key version %d is all zeros, which is no key: make one with `arke keygen`", v)
	}
	if err := k.parseTimes(l, l.words[3:]); err != nil {
		return err
	}
	*keys = append(*keys, k)
	return nil
}

// parseTimes reads the pairs of word and time behind a key.
func (k *KeyVersion) parseTimes(l line, words []string) error {
	for len(words) > 0 {
		var at *time.Time
		switch {
		case words[0] == "not-before" && k.NotBefore.IsZero() && k.NotAfter.IsZero():
			at = &k.NotBefore
		case words[0] == "not-after" && k.NotAfter.IsZero():
			at = &k.NotAfter
		default:
			return l.errorf("the times of key version %d can't be read: %s", k.Version, keyAdvice)
		}
		t, err := time.Parse(time.RFC3339, words[1])
		if err != nil || t.UTC().Format(time.RFC3339) != words[1] {
			return l.errorf("a time of key version %d can't be read: %s", k.Version, keyAdvice)
		}
		*at, words = t.UTC(), words[2:]
	}
	if k.checkTimes() != nil {
		return l.errorf("key version %d ends before it begins, or has times before 1970", k.Version)
	}
	return nil
}

// appendKeys appends a line for each key.
func appendKeys(b []byte, keys []KeyVersion) []byte {
	for _, k := range keys {
		b = fmt.Appendf(b, "key %d ", k.Version)
		b = hex.AppendEncode(b, k.Key[:])
		if !k.NotBefore.IsZero() {
			b = append(b, " not-before "+k.NotBefore.UTC().Format(time.RFC3339)...)
		}
		if !k.NotAfter.IsZero() {
			b = append(b, " not-after "+k.NotAfter.UTC().Format(time.RFC3339)...)
		}
		b = append(b, '\n')
	}
	return b
}
