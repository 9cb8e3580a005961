// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// This test checks that a deadline fires when it should, and can be moved to
// and fro.
func TestDeadlineCanBeMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeadline()
		passed := func() bool {
			synctest.Wait()
			select {
			case <-d.passed():
				return true
			default:
				return false
			}
		}
		require.False(t, passed())
		d.set(time.Now().Add(time.Second))
		waiting := d.passed()
		time.Sleep(time.Second - 1)
		require.False(t, passed())
		d.set(time.Now().Add(time.Second))
		time.Sleep(time.Second - 1)
		require.False(t, passed())
		time.Sleep(time.Nanosecond)
		require.True(t, passed())
		<-waiting // who waited when it was moved is woken too
		d.set(time.Time{})
		require.False(t, passed())
		d.set(time.Now())
		require.True(t, passed())
		d.set(time.Now().Add(time.Hour))
		require.False(t, passed())
		d.stop()
	})
}
