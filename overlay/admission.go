// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
)

// Admission says who is let in by the certificate of a Hello. Methods may be called
// concurrently, and must not block.
type Admission interface {
	// Certificate is what this node shows, at most 1 KiB; nil = none. Nobody changes it.
	Certificate() []byte
	// Admit returns what the certificate that p shows calls it, "" = nothing, or why p
	// is not let in. A refusal takes nothing from p that the one shown before lets it do.
	Admit(p peer.ID, certificate []byte) (name string, err error)
	// Valid returns what Admit would, and remembers nothing about p: there may never be a
	// link.
	Valid(p peer.ID, certificate []byte) (name string, err error)
}

// openDoor lets everybody in who has got as far as a Hello.
type openDoor struct{}

func (openDoor) Certificate() []byte                   { return nil }
func (openDoor) Admit(peer.ID, []byte) (string, error) { return "", nil }
func (openDoor) Valid(peer.ID, []byte) (string, error) { return "", nil }

// heardHello reads the peer's Hello, and has Admission decide about it before anything else
// that it says counts.
func heardHello(st *stream, body []byte) (greeting, error) {
	g, err := decodeHello(body)
	if err != nil {
		return greeting{}, err
	}
	name, err := st.l.o.cfg.Admission.Admit(st.l.peer, g.certificate)
	if err != nil {
		return greeting{}, fmt.Errorf("%w: %w", ErrNotAdmitted, err)
	}
	if name != "" {
		g.name = name
	}
	return g, nil
}

// Review has Admission decide anew about all peers, by what each has shown, and ends
// the links to those that are let in no longer. It does not wait for that.
func Review(o *Overlay) {
	for _, l := range o.links.sorted() {
		review(l)
	}
	o.reviewRoutes()
}

// Linked says whether there is a session with p. It does not block.
func Linked(o *Overlay, p peer.ID) bool {
	l := o.links.known(p)
	return l != nil && l.Up()
}

// review does so with one link; without mu.
func review(l *Link) {
	l.mu.Lock()
	certificate, up := l.known.certificate, l.up() || l.joining != nil
	l.unlock()
	if !up {
		return
	}
	if _, err := l.o.cfg.Admission.Admit(l.peer, certificate); err != nil {
		cutOff(l, fmt.Errorf("%w: %w", ErrNotAdmitted, err), codeNotAdmitted)
		l.o.transport.Disconnect(l.peer)
	}
}

// ShowAnew shows the peers of all links what Admission has this node show now.
// Connections stay, but where the lane has no room: there the next Hello shows it. A
// Hello that is under way may still show what was before.
func ShowAnew(o *Overlay) {
	certificate := o.cfg.Admission.Certificate()
	for _, l := range o.links.sorted() {
		if !l.Up() {
			continue
		}
		if _, err := l.Send(LaneCtl, wire.KindCertificate, certificate); errors.Is(err, ErrLaneFull) {
			o.transport.Disconnect(l.peer)
		}
	}
	o.reviewRoutes()
}

// shownAnew handles another certificate of a peer's. One that does not let it in
// changes nothing: the one before may still do.
func shownAnew(l *Link, body []byte) (kept bool) {
	switch {
	case len(body) > wire.MaxCertificate:
		l.o.drops.Inc(dropCertificate)
		return false
	case !l.proofs.pass(l.o.now(), signaturePrice):
		l.o.drops.Inc(dropProofs)
		return false
	}
	certificate := bytes.Clone(body)
	name, err := l.o.cfg.Admission.Admit(l.peer, certificate)
	if err != nil {
		l.o.drops.Inc(dropCertificate)
		return false
	}
	l.mu.Lock()
	defer l.unlock()
	if l.known.certificate = certificate; name != "" {
		l.known.name = name
	}
	l.after.Add(func() { review(l) }) // what was shown may have been revoked meanwhile
	return false
}
