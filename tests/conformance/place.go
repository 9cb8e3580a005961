// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"testing"
	"time"

	"github.com/arke-mesh/arke/patterns"
)

// patience bounds everything that a check waits for; a little is how long it
// watches that something does not happen.
const (
	patience = 20 * time.Second
	little   = 50 * time.Millisecond
)

// Place is where programs meet.
type Place struct {
	// Caller and Member are two programs in one network.
	Caller, Member patterns.Messenger
	// Another starts one more, of the caller's kind, for a check to close. It
	// ends with t at the latest.
	Another func(t *testing.T) patterns.Messenger
}

// Verify goes through the list with every pattern.
func Verify(t *testing.T, p Place) {
	for _, f := range faces() {
		t.Run(f.name(), func(t *testing.T) {
			for _, c := range list() {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.verify(&trial{T: t, Place: p, face: f, to: f.name() + "-" + c.name})
				})
			}
		})
	}
}
