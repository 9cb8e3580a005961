// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"fmt"
	"io"
)

// hidden keeps a secret where package fmt can't reach it. One pointer would not
// do: fmt ignores the methods of values in unexported fields, and follows a
// pointer there if the verb does not fit it. It never follows a second one.
type hidden[T any] struct{ at **T }

func hide[T any](v *T) hidden[T] { return hidden[T]{&v} }

func (h hidden[T]) get() *T { return *h.at }

func (h hidden[T]) empty() bool { return h.at == nil }

// secret is what a key of a node, an authority or an issuer embeds: whatever the verb or
// the encoder, the key shows "[redacted]".
type secret[T any] struct{ hidden[T] }

func keep[T any](v *T) secret[T] { return secret[T]{hide(v)} }

// IsZero says whether it is no key.
func (s secret[T]) IsZero() bool { return s.empty() }

// String returns "[redacted]".
func (secret[T]) String() string { return redacted }

// GoString returns "[redacted]".
func (secret[T]) GoString() string { return redacted }

// Format writes "[redacted]" for every verb.
func (secret[T]) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// MarshalText returns "[redacted]".
func (secret[T]) MarshalText() ([]byte, error) { return []byte(redacted), nil }
