// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
)

// heading is what frames of publications begin with that follow each other and are of one
// publisher, on one topic, for the same subscriptions: it is looked at once. It is owned by
// the link's reader.
type heading struct {
	text  []byte
	of    wire.LeafPublication // the same, decoded; its Tail is nobody's
	known wire.Texts
}

// take returns what a frame has behind its heading, which is then of that frame.
func (h *heading) take(frame []byte) (tail []byte, err error) {
	if len(h.text) > 0 {
		if tail, ok := bytes.CutPrefix(frame, h.text); ok {
			return tail, nil
		}
	}
	f, err := wire.DecodeLeafPublication(frame, h.of.Subscriptions[:0], &h.known)
	if err != nil {
		h.text = h.text[:0]
		return nil, err
	}
	h.text = append(h.text[:0], frame[:len(frame)-len(f.Tail)]...)
	tail, f.Tail = f.Tail, nil
	h.of = f
	return tail, nil
}

// longFrame is how many bytes of messages are kept where they are, and not copied: then the
// frames that follow are read into memory of their own.
const longFrame = 2 << 10

// messagesOf returns the messages of a frame in memory of their own, which is the frame's if
// that is long: then it is kept. several says that they are Messages.
func messagesOf(tail []byte, several bool) (all wire.Messages, count int, kept bool, err error) {
	if !several {
		all = append(wire.AppendMessage(make([]byte, 0, wire.MessageHead+len(tail)), "", nil, len(tail)), tail...)
		count, err = all.CheckUnnamed()
		return all, count, false, err
	}
	all = tail
	if count, err = all.CheckUnnamed(); err != nil {
		return nil, 0, false, err
	}
	if kept = len(all) > longFrame; !kept {
		all = slices.Clone(all)
	}
	return all, count, kept, nil
}
