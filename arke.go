// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/arke-mesh/arke/internal/door"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// Conn is a program's connection to an Arke network. It is attached to a relay
// on the same machine (Attach), or it is a node of its own (package node, Join). Its
// methods do the same either way. All of them may be called concurrently.
//
// Every call that has a context ends when the context ends, and returns a
// *DeadlineError then. A call whose context has no deadline ends after 5 s.
type Conn struct {
	// Immutable after Attach.
	m     patterns.Messenger
	addrs []string

	work sync.WaitGroup // members that leave after their listener was closed

	mu     sync.Mutex
	loops  map[*Subscription]bool // guarded by mu; those that a loop reads
	doors  map[*listener]bool     // guarded by mu; those that are open
	closed bool                   // guarded by mu
}

// Attach connects the program to the relay on its machine. It tries until ctx
// ends, or for 5 s if ctx has no deadline. From then on it reconnects by itself:
// it serves and subscribes again, and calls wait for the relay for a while (see
// RelayWait).
//
// Errors match ErrNoRelay, ErrVersion, ErrUnauthorized, ErrTooMany, ErrRefused or
// context.Canceled.
func Attach(ctx context.Context, opts ...AttachOption) (*Conn, error) {
	var o attachOptions
	for _, opt := range opts {
		if by, ok := opt.(interface{ Inner() door.Joined }); ok { // node.Join
			joined := by.Inner()
			return newConn(joined.Messenger, joined.Addrs), nil
		}
		opt.set(&o)
	}
	if o.client.Socket == "" && o.client.Address == "" {
		said := os.Getenv("ARKE_SOCKET")
		o.client.Socket, o.client.Named = client.FindSocket(said, os.Getenv("XDG_RUNTIME_DIR")), said != ""
	}
	if o.client.TrustUsers == nil {
		var err error
		if o.client.TrustUsers, err = client.ParseUsers(os.Getenv("ARKE_TRUST_USER")); err != nil {
			return nil, fmt.Errorf("arke: ARKE_TRUST_USER: %w", err)
		}
	}
	if o.client.Keys == nil {
		for path := range strings.FieldsFuncSeq(os.Getenv("ARKE_CLUSTER_KEY_FILE"), func(r rune) bool { return r == ',' }) {
			ClusterKeyFile(path).set(&o)
		}
	}
	if o.err != nil {
		return nil, o.err
	}
	c, err := client.New(o.client)
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		_ = c.Close() // it has done nothing yet
		return nil, outward(err)
	}
	return newConn(c, nil), nil
}

func newConn(m patterns.Messenger, addrs []string) *Conn {
	return &Conn{m: m, addrs: addrs, loops: map[*Subscription]bool{}, doors: map[*listener]bool{}}
}

// Addrs are the addresses at which other nodes find this one, to be given to
// them as seeds. An attached program has none. The caller owns the slice.
func (c *Conn) Addrs() []string { return slices.Clone(c.addrs) }

// Shutdown ends the Conn in good order. Its members leave their clusters and finish
// what they have accepted. Subscriptions deliver the messages they have, and tunnels
// end. Nobody loses a request to a program that shuts down. If ctx ends before,
// Shutdown drops the rest and returns the error of ctx.
func (c *Conn) Shutdown(ctx context.Context) error {
	loops, doors := c.close()
	var wg sync.WaitGroup
	for _, s := range loops {
		wg.Go(func() { _ = s.Close(ctx) })
	}
	for _, l := range doors {
		_ = l.Close()
	}
	wg.Wait()
	err := c.m.Shutdown(ctx)
	c.work.Wait()
	return outward(err)
}

// Close ends everything at once and waits for handlers to return. A handler
// must not call it. A second call does nothing.
//
// The error of an attached program matches ErrInterrupted if messages that
// Publish took may not have been published.
func (c *Conn) Close() error {
	loops, doors := c.close()
	for _, s := range loops {
		s.loop.abandon()
	}
	for _, l := range doors {
		_ = l.Close()
	}
	err := c.m.Close()
	c.work.Wait()
	for _, s := range loops {
		s.loop.end()
	}
	return outward(err)
}

// note runs f, which notes a new loop or listener, unless the Conn is closed. It
// reports whether it did.
func (c *Conn) note(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		f()
	}
	return !c.closed
}

// close refuses new loops and listeners, and returns those that there are.
func (c *Conn) close() (loops []*Subscription, doors []*listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return slices.Collect(maps.Keys(c.loops)), slices.Collect(maps.Keys(c.doors))
}
