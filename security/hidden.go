// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

// hidden keeps a secret where package fmt can't reach it. One pointer would not
// do: fmt ignores the methods of values in unexported fields, and follows a
// pointer there if the verb does not fit it. It never follows a second one.
type hidden[T any] struct{ at **T }

func hide[T any](v *T) hidden[T] { return hidden[T]{&v} }

func (h hidden[T]) get() *T { return *h.at }

func (h hidden[T]) empty() bool { return h.at == nil }
