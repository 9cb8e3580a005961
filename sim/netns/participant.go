// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/sim/play"
)

// participant is one life of a node: a relay's process and this program's
// place at it.
type participant struct {
	*client.Client
	process *process
	peer    string
}

var _ play.Participant = (*participant)(nil)

// Now implements play.Participant: all nodes share the machine's clock.
func (p *participant) Now() time.Time { return time.Now() }

// Within implements play.Participant.
func (p *participant) Within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

// Peer implements play.Participant.
func (p *participant) Peer() string { return p.peer }

// Status implements play.Participant.
func (p *participant) Status(ctx context.Context) (node.Status, error) {
	var s node.Status
	text, err := p.Client.Status(ctx)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("netns: the relay's status: %w", err)
	}
	return s, nil
}

// Shutdown drains the client and then its relay, as a service and its relay
// are restarted in production.
func (p *participant) Shutdown(ctx context.Context) error {
	_ = p.process.pause(false) // or it can't drain
	return errors.Join(p.Client.Shutdown(ctx), p.process.terminate(ctx))
}

// Close ends the relay and the client at once.
func (p *participant) Close() error {
	p.process.kill()
	return p.Client.Close()
}
