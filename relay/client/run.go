// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// run is publications that come one after the other and whose frames begin alike: of
// one publisher, on one topic, for the same subscriptions. What is the same for all is
// looked at once, and they are put into the queues together. It is owned by the link's
// reader.
type run struct {
	like  []byte               // what their frames begin with
	of    wire.LeafPublication // the same, decoded; its Tail is nobody's
	known wire.Texts
	pubs  []patterns.Publication // those that are not put yet
	room  []patterns.Publication // for others behind them
	shelf []byte                 // the bodies that came last
}

const (
	// together is how many publications share an allocation, and so are put together,
	// and shelfBytes how many bytes their bodies do, if they are no longer than
	// shelfBody: so few that it does not matter that a program which keeps one of them
	// keeps the others, too.
	together   = 32
	shelfBytes = 8 << 10
	shelfBody  = 2 << 10
)

// follows says whether a frame belongs to the run, and returns what of it is its own.
func (r *run) follows(frame []byte) (tail []byte, ok bool) {
	if len(r.like) == 0 {
		return nil, false
	}
	return bytes.CutPrefix(frame, r.like)
}

// begin has the run be of frames that begin as this one. Nothing must be in it.
func (r *run) begin(frame []byte) (tail []byte, err error) {
	f, err := wire.DecodeLeafPublication(frame, r.of.Subscriptions[:0], &r.known)
	if err != nil {
		r.like = r.like[:0]
		return nil, err
	}
	r.like = append(r.like[:0], frame[:len(frame)-len(f.Tail)]...)
	tail, f.Tail = f.Tail, nil
	r.of = f
	return tail, nil
}

// add adds the message with that tail. It keeps the tail, unless its body is short. more
// is false when there is no room behind it.
func (r *run) add(tail []byte) (kept, more bool, err error) {
	headers, body, err := wire.SplitTail(tail)
	if err != nil {
		return false, true, err
	}
	if kept = len(body) > shelfBody; !kept {
		body = r.put(body)
	}
	return kept, r.push(headers, body), nil
}

// several adds all messages of one frame, and has handed called where there is no room
// behind one. It keeps the frame if that is one long message; else what is not short is
// copied at once, and shared by those who came in it.
func (r *run) several(tail []byte, handed func()) (kept bool, err error) {
	all := wire.Messages(tail)
	count, err := all.CheckUnnamed()
	if err != nil {
		return false, err
	}
	short := len(all) <= shelfBody
	if kept = count == 1 && !short; !kept && !short {
		all = slices.Clone(all)
	}
	for m := (wire.Message{}); len(all) > 0; {
		m = all.Next(m)
		headers, body, _ := wire.SplitTail(m.Content) // it was checked
		if short {
			body = r.put(body)
		}
		if !r.push(headers, body) {
			handed()
		}
	}
	return kept, nil
}

// push adds a message whose body is the program's, and says whether there is room behind
// it.
func (r *run) push(headers []wire.Header, body []byte) (more bool) {
	if len(r.room) == 0 {
		r.room = make([]patterns.Publication, together)
		r.pubs = r.room[:0]
	}
	r.pubs, r.room = r.pubs[:len(r.pubs)+1], r.room[1:]
	r.pubs[len(r.pubs)-1] = patterns.Publication{
		Topic: r.of.Topic, From: r.of.Publisher, Headers: wire.ConvertHeaders[patterns.Header](headers), Body: body,
	}
	return len(r.room) > 0
}

// put returns a copy of a short body.
func (r *run) put(body []byte) []byte {
	if len(body) > cap(r.shelf)-len(r.shelf) || r.shelf == nil {
		r.shelf = make([]byte, 0, shelfBytes)
	}
	from := len(r.shelf)
	r.shelf = append(r.shelf, body...)
	return r.shelf[from:len(r.shelf):len(r.shelf)]
}

// take takes the publications out.
func (r *run) take() []patterns.Publication {
	pubs := r.pubs
	r.pubs = r.room[:0]
	return pubs[:len(pubs):len(pubs)]
}
