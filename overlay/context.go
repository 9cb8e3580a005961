// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"
	"time"
)

// WithTimeout is context.WithTimeout over a Clock.
func WithTimeout(ctx context.Context, clock Clock, label string, d time.Duration) (context.Context, context.CancelFunc) {
	panic("not yet")
}
