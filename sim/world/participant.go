// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/relay/policy"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/play"
)

// participant is one life of a node.
type participant struct {
	*node.Node
	timed
	seam  overlay.Seam
	desk  *desk // nil = no program attaches to it
	admit func(security.NetworkFile) error
}

var (
	_ play.Participant = (*participant)(nil)
	_ play.Keyed       = (*participant)(nil)
	_ play.Issued      = (*participant)(nil)
	_ play.Holder      = (*participant)(nil)
)

// timed is the part of a play.Participant that is about its clock.
type timed struct{ clock overlay.Clock }

// Now implements play.Participant.
func (t timed) Now() time.Time { return t.clock.Now() }

// Within implements play.Participant: its timer has a place in the trace.
func (t timed) Within(d time.Duration) (context.Context, context.CancelFunc) {
	return overlay.WithTimeout(context.Background(), t.clock, "world.within", d)
}

// Peer implements play.Participant.
func (p *participant) Peer() string { return p.Self().String() }

// Status implements play.Participant.
func (p *participant) Status(context.Context) (node.Status, error) { return p.Node.Status(), nil }

// SetKeys implements play.Keyed: handshakes show the new keys from then on.
func (p *participant) SetKeys(k node.Keys) error {
	if err := p.admit(k.Network); err != nil {
		return err
	}
	return p.Node.SetKeys(k)
}

// Held implements play.Holder.
func (p *participant) Held() (out []history.Held) {
	if p.desk == nil {
		return nil
	}
	for _, c := range p.desk.Status().Clients {
		out = append(out, history.Held{Client: c.Name, Bytes: uint64(c.Queued + c.Kept)})
	}
	return out
}

// Shutdown implements patterns.Messenger: the relay drains, then the node.
func (p *participant) Shutdown(ctx context.Context) error {
	var err error
	if p.desk != nil {
		err = p.desk.Shutdown(ctx)
	}
	return errors.Join(err, p.Node.Shutdown(ctx))
}

// Close implements patterns.Messenger.
func (p *participant) Close() error {
	var err error
	if p.desk != nil {
		err = p.desk.Close()
	}
	return errors.Join(err, p.Node.Close())
}

// desk is the relay beside a node, for the programs on its machine.
type desk struct {
	*relay.Relay
	socket net.Listener
	served sync.WaitGroup
}

// open starts the relay of a node that runs, on its local socket.
func (w *World) open(p *participant, spec play.NodeSpec) error {
	cfg := relay.Config{
		Node: p.Node, Peer: p.Peer(), Logger: w.log(spec.Name),
		Seam: &relay.Seam{Clock: p.seam.Clock, Rand: p.seam.Rand, Exec: p.seam.Exec},
	}
	for _, name := range spec.Tokens {
		cfg.Tokens = append(cfg.Tokens, relay.Token{Name: name, Secret: secretOf(name)})
	}
	var err error
	if spec.Policy != "" {
		if cfg.Policy, err = policy.Parse(spec.Policy, nil); err != nil {
			return err
		}
	}
	made, err := relay.New(cfg)
	if err != nil {
		return err
	}
	if err := made.Start(context.Background()); err != nil {
		return err
	}
	d := &desk{Relay: made}
	if d.socket, err = w.n.ListenLocal(spec.Name); err != nil {
		_ = made.Close()
		return err
	}
	p.desk = d
	d.served.Go(d.accept)
	return nil
}

// secretOf is the secret of a token.
func secretOf(name string) string { return "the secret of token " + name }

// accept takes programs in until the socket closes.
func (d *desk) accept() {
	for {
		conn, err := d.socket.Accept()
		if err != nil {
			return
		}
		d.served.Go(func() { d.Attach(conn) })
	}
}

// Shutdown drains the relay.
func (d *desk) Shutdown(ctx context.Context) error {
	_ = d.socket.Close()
	err := d.Relay.Shutdown(ctx)
	d.served.Wait()
	return err
}

// Close ends the relay at once.
func (d *desk) Close() error {
	_ = d.socket.Close()
	err := d.Relay.Close()
	d.served.Wait()
	return err
}

// attached is one life of a client.
type attached struct {
	*client.Client
	timed
	seam overlay.Seam
	peer string
}

var _ play.Participant = (*attached)(nil)

// attachLimit is how long a client may take to find its relay, which may be away.
const attachLimit = 10 * time.Minute

// attach starts a client.
func (w *World) attach(ctx context.Context, spec play.NodeSpec) (play.Participant, error) {
	seam := w.n.Client(spec.Name)
	token := ""
	if len(spec.Tokens) > 0 {
		token = secretOf(spec.Tokens[0])
	}
	made, err := client.New(client.Config{
		Name: spec.Name, Logger: w.log(spec.Name), Token: token,
		Seam: &client.Seam{Clock: seam.Clock, Rand: seam.Rand, Exec: seam.Exec, Dial: func(ctx context.Context) (net.Conn, error) {
			return w.n.DialLocal(ctx, spec.Name, spec.Relay)
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("client %s: %w", spec.Name, err)
	}
	a := &attached{Client: made, timed: timed{seam.Clock}, seam: seam, peer: w.n.Peer(spec.Relay).String()}
	ctx, cancel := overlay.WithTimeout(ctx, seam.Clock, "world.attach", attachLimit)
	defer cancel()
	if err := made.Start(ctx); err != nil {
		_ = a.Close()
		return nil, fmt.Errorf("client %s: %w", spec.Name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients = append(w.clients, a)
	return a, nil
}

// Peer implements play.Participant: its relay's.
func (a *attached) Peer() string { return a.peer }

// Status implements play.Participant. A client has none of a node's.
func (a *attached) Status(context.Context) (node.Status, error) {
	return node.Status{}, play.ErrUnsupported
}

// Close implements patterns.Messenger. The process ends with it.
func (a *attached) Close() error {
	return errors.Join(a.Client.Close(), a.seam.Transport.Close())
}
