// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAWatchedStatusOutlivesTheRelay(t *testing.T) {
	// This test watches a relay that goes away and comes back: it is shown every two
	// seconds, its absence is told on standard error, and only other errors end it.
	for _, end := range []error{nil, errors.New("it makes no sense")} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var out, told bytes.Buffer
			a := App{Stdout: &out, Stderr: &told}
			begin, shown := time.Now(), 0
			err := watchStatus(ctx, a, 2*time.Second, false, func(context.Context) error {
				shown++
				switch {
				case shown == 2:
					return &attachError{target: "/run/a.sock", err: errors.New("connection refused")}
				case shown == 4 && end == nil:
					cancel()
				case shown == 4:
					return end
				}
				return nil
			})
			require.Equal(t, end, err)
			require.Equal(t, 6*time.Second, time.Since(begin))
			require.Equal(t, 4, strings.Count(out.String(), "# "))
			require.Equal(t, 1, strings.Count(told.String(), "/run/a.sock"))
		})
	}
}
