// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conn

import (
	"context"
	"time"
)

// until is the context of a call that ends when done is closed: at a deadline.
type until struct{ done <-chan struct{} }

// Deadline implements context.Context: it is not known, as it may change.
func (c until) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (c until) Done() <-chan struct{} { return c.done }

// Err implements context.Context.
func (c until) Err() error {
	select {
	case <-c.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Value implements context.Context.
func (c until) Value(any) any { return nil }
