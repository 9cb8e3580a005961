// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// patience is how long a check waits for one thing before it says that it hangs;
// a little is how long it watches that something does not happen.
const (
	patience = time.Minute
	little   = 50 * time.Millisecond
	tick     = 20 * time.Millisecond // between two looks; more of them would be a load
)

// Place is where programs meet.
type Place struct {
	// Caller and Member are two programs in one network.
	Caller, Member patterns.Messenger
	// Another starts one more, of the caller's kind, for a check to close. It
	// ends with t at the latest.
	Another func(t *testing.T) patterns.Messenger
}

// Verify goes through the list with every pattern: first while the network is
// quiet, then while programs leave it.
func Verify(t *testing.T, p Place) {
	settle(t, p)
	t.Run("quiet", func(t *testing.T) { verify(t, p, quiet()) })
	t.Run("leaving", func(t *testing.T) { verify(t, p, leaving()) })
}

func verify(t *testing.T, p Place, list []check) {
	for _, f := range faces() {
		for _, c := range list {
			t.Run(f.name()+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				c.verify(&trial{T: t, Place: p, face: f, to: f.name() + "-" + c.name})
			})
		}
	}
}

// settle waits until the network knows who is there: it is then that nobody can
// be told from somebody who is not found.
func settle(t *testing.T, p Place) {
	t.Helper()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := p.Caller.Request(ctx, "nobody", patterns.Message{})
		return errors.Is(err, patterns.ErrNoMembers)
	}, patience, tick)
}
