// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package bench

import "time"

// sleeper waits as well as the runtime can.
type sleeper struct{ timer *time.Timer }

func newSleeper() *sleeper { return &sleeper{timer: time.NewTimer(time.Hour)} }

func (s *sleeper) close() { s.timer.Stop() }

func (s *sleeper) nap(d time.Duration) { time.Sleep(d) }
