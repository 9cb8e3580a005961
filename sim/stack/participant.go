// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/sim/play"
)

// participant is one life of a node.
type participant struct {
	*node.Node
	stack       *Stack
	host        *p2p.Host
	proc        *process
	incarnation uint64
	clock       *clock
	workers     *overlay.Workers

	once sync.Once
	err  error // of Close
}

var _ play.Participant = (*participant)(nil)

// Now implements play.Participant.
func (p *participant) Now() time.Time { return p.clock.Now() }

// Within implements play.Participant.
func (p *participant) Within(d time.Duration) (context.Context, context.CancelFunc) {
	return overlay.WithTimeout(context.Background(), p.clock, "stack.within", d)
}

// Peer implements play.Participant.
func (p *participant) Peer() string { return p.Self().String() }

// Status implements play.Participant.
func (p *participant) Status(context.Context) (node.Status, error) { return p.Node.Status(), nil }

// Shutdown implements patterns.Messenger.
func (p *participant) Shutdown(ctx context.Context) error {
	return errors.Join(p.Node.Shutdown(ctx), p.Close())
}

// Close implements patterns.Messenger. The process exits.
func (p *participant) Close() error {
	p.once.Do(func() {
		p.stack.net.resume(p.proc) // nothing must keep it from ending
		p.err = errors.Join(p.Node.Close(), p.workers.Close())
		p.exit()
		p.stack.forget(p)
	})
	return p.err
}

// exit ends the process, if nothing else has before.
func (p *participant) exit() {
	p.stack.net.mu.Lock()
	defer p.stack.net.mu.Unlock()
	p.proc.leave(exited)
}
