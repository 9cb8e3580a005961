// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "context"

// Watch is one interest in a cluster. All methods may be called concurrently.
type Watch struct{}

// View is what is known now; never nil.
func (w *Watch) View() *View { return nil }

// Release ends the interest. It is idempotent.
func (w *Watch) Release() {}

// Wait returns a view that has members. Otherwise it returns ErrNoMembers as
// soon as the cluster is known to be empty, ErrUnreachable after 2 s of not
// knowing, ErrClosed, or ctx's error. With needMember it waits for a first
// member instead, for as long as ctx lets it.
func (w *Watch) Wait(ctx context.Context, needMember bool) (*View, error) { return nil, nil }
