// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import "time"

type realClock struct{}

// NewRealClock returns the wall clock of this machine.
func NewRealClock() Clock { return realClock{} }

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(_ string, d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
