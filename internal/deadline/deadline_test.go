// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package deadline

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// This test checks that a deadline fires when it should, can be moved to and
// fro, and is over for ever after its end.
func TestDeadlineCanBeMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Deadline{}
		passed := func() bool {
			synctest.Wait()
			select {
			case <-d.Done():
				return true
			default:
				return false
			}
		}
		require.False(t, passed())
		require.NoError(t, d.Set(time.Now().Add(time.Second)))
		waiting := d.Done()
		time.Sleep(time.Second - 1)
		require.False(t, passed())
		require.NoError(t, d.Set(time.Now().Add(time.Second)))
		time.Sleep(time.Second - 1)
		require.False(t, passed())
		time.Sleep(time.Nanosecond)
		require.True(t, passed())
		<-waiting // who waited when it was moved is woken too
		require.NoError(t, d.Set(time.Time{}))
		require.False(t, passed())
		require.NoError(t, d.Set(time.Now()))
		require.True(t, passed())
		require.NoError(t, d.Set(time.Now().Add(time.Hour)))
		require.False(t, passed())
		d.End()
		require.True(t, passed())
		require.True(t, d.Passed())
		require.ErrorIs(t, d.Set(time.Now().Add(time.Hour)), net.ErrClosed)
		require.True(t, passed(), "an ended deadline stays over")
	})
}
