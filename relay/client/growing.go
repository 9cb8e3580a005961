// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"sync"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// growBytes is how many bytes messages that share a frame have at most: they fit into one
// between relays, whose head is longer. One that has more than a quarter of it goes alone.
const growBytes = 62 << 10

// growing is the frame of publications that was sent last: those on its topic that come
// until the connection takes it share it. So the relay passes them on at once.
type growing struct {
	mu    sync.Mutex
	topic string
	last  overlay.Receipt // guarded by mu, as all; the zero value = there is none
	bytes int             // of messages in it
}

// put sends a message behind others or, if that can't be, as the first one of a frame,
// which begins with head; its own part of that begins at own.
func (g *growing) put(l *link, topic string, head []byte, own int, body []byte) (err error) {
	n := len(head) - own + len(body)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last.Number != 0 && g.topic == topic && g.bytes+n <= growBytes && l.Extend(g.last, head[own:], body) {
		g.bytes += n
		return nil
	}
	g.last, err = l.Send(wire.LanePub, wire.KindPublish, head, body)
	g.topic, g.bytes = topic, n
	return err
}
