// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

import "context"

// Messenger is what a program needs of Arke. An embedded *node.Node and an
// attached *client.Client both are one, so that a program changes one line to
// switch. All methods may be called concurrently.
type Messenger interface {
	// Serve registers h as a member of the cluster and returns when the
	// registration is acknowledged. The member lives until the registration
	// or the Messenger is closed; ctx bounds only the registration.
	Serve(ctx context.Context, cluster string, h Handler, limits Limits) (Registration, error)

	// Request sends m to one live member of the cluster and waits for the one
	// outcome. Without a deadline in ctx it has 5 s. The caller keeps m.Body
	// and must not change it before Request returns.
	Request(ctx context.Context, cluster string, m Message, opts ...RequestOption) (Message, error)

	// Members lists who serves the cluster now, in the order of member ids.
	// It returns ErrNoMembers or ErrUnreachable as Request would.
	Members(ctx context.Context, cluster string) ([]Member, error)

	// Shutdown drains: it leaves its clusters, finishes what was accepted
	// until ctx ends, then closes.
	Shutdown(ctx context.Context) error

	// Close ends everything at once. It is idempotent and waits.
	Close() error
}

// Registration is one member of a cluster.
type Registration interface {
	// Member is the member's id: 16 hexadecimal digits, new at each Serve.
	Member() string
	// Close drains this member: it leaves the cluster, finishes what it
	// accepted until ctx ends, and is gone. Idempotent.
	Close(ctx context.Context) error
}

// Member describes one live member as its callers see it.
type Member struct {
	ID          string `json:"id"`   // 16 hexadecimal digits
	Peer        string `json:"peer"` // peer id of its node
	Incarnation uint64 `json:"incarnation"`
	Zone        string `json:"zone,omitempty"`
	Capacity    int    `json:"capacity"`
	State       string `json:"state"` // live, suspect, ejected, or unreachable
}
