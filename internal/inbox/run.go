// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// Run is messages of one publisher on one topic that have come together, as they travel.
// Each becomes a Publication when it is its turn, so that what waits is one piece of
// memory, in which there is nothing for the garbage collector to look through.
type Run struct {
	Topic, From string
	Messages    wire.Messages // checked, whatever they are named; nobody changes them any more
	Count       int
	Behind      int // bytes at the end of each that are not the subscriber's
}

// size is what sizeOf would be of all of them, or a little more if they have headers.
func (r *Run) size() int {
	return len(r.Messages) + r.Count*(len(r.Topic)-wire.MessageHead-wire.NoHeaders-r.Behind)
}

// next takes the first one out, of which there must be one.
func (r *Run) next() patterns.Publication {
	content := r.Messages.Next(wire.Message{}).Content
	r.Count--
	headers, body, _ := wire.DecodeHeaders(content[:len(content)-r.Behind]) // it was checked
	return patterns.Publication{Topic: r.Topic, From: r.From, Headers: wire.ConvertHeaders[patterns.Header](headers), Body: body}
}

// Cut takes the first one out, of which there must be one.
func (r *Run) Cut() (one Run) {
	one = *r
	r.Messages.Next(wire.Message{})
	r.Count--
	one.Messages, one.Count = one.Messages[:len(one.Messages)-len(r.Messages)], 1
	return one
}
