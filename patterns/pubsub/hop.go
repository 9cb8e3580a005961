// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"errors"
	"slices"

	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// verdict is what became of a frame.
type verdict uint8

const (
	sent verdict = iota // it is in the lane, or will be when there is a link
	full                // there is no room now; nothing was sent
	lost                // there is no room, and the node is suspect or can't be called
)

// hop is the way to one node as one publisher or forwarder sees it, whose lock
// guards it: the link, and what waits for a session of it, for keepTime at most.
// The session keeps what it was given until that has arrived, or it ends.
type hop struct {
	link    Link
	release func() // ends the hold; nil = there is none
	used    int64
	session uint64 // in which something was sent last; 0 = it has ended
	losses  uint64 // how often something may have been lost

	opening bool
	failed  bool  // the last dial has
	retry   int64 // when the link may be dialled again
	waiting fifo.Queue[frame]
	bytes   int   // of waiting
	since   int64 // when the first one of them came

	last  overlay.Receipt // of the frame that was given to the link last
	grow  growing         // what that one is, if messages can be added to it
	parts [3][]byte       // scratch
}

// growing is a frame of messages while others may be added to it: those that come
// until the link has sent what is before it share it.
type growing struct {
	next  following
	topic string // of the last message
	picks []wire.Pick
}

// following is what the next message has to be if it is to be added.
type following struct {
	session     uint64
	run, epoch  uint32
	number      uint64 // 0 = they are not for the receiver itself; no frame has this and session 0
	flags       uint8
	origin      string
	incarnation uint64
	serial      uint64
	forwarder   uint64 // serial of what the publisher says of the root group's
}

// advance has f be what follows n messages of which it is the first.
func (f *following) advance(n int) {
	if f.number > 0 {
		f.number += uint64(n)
	}
	if f.flags&wire.FlagRoot != 0 {
		f.serial += uint64(n)
	}
}

// frame is one that waits for a link.
type frame struct {
	kind wire.Kind
	body []byte
}

// extends says whether the frame that was sent last is one that such messages can follow.
func (h *hop) extends(is following) bool {
	return h.grow.next == is && h.last.Number != 0 && h.waiting.Len() == 0
}

// extend adds n messages to that frame, if the link has not taken it yet.
func (h *hop) extend(now int64, n int, a, b []byte) bool {
	h.parts[0], h.parts[1] = a, b
	ok := h.link.Extend(h.last, h.parts[:2]...)
	h.parts[0], h.parts[1] = nil, nil
	if !ok {
		h.last = overlay.Receipt{}
		return false
	}
	h.used = now
	h.grow.next.advance(n)
	return true
}

// begun notes that the frame that was sent begins with these n messages.
func (h *hop) begun(is following, n int, topic string, picks []wire.Pick) {
	h.grow = growing{next: is, topic: topic, picks: append(h.grow.picks[:0], picks...)}
	h.grow.next.advance(n)
}

// send puts a frame into the lane, or keeps it while a link is being
// established. It never blocks.
func (h *hop) send(now int64, addrs []string, k wire.Kind, a, b, c []byte) verdict {
	h.used, h.last, h.grow.next = now, overlay.Receipt{}, following{}
	if h.release == nil { // so that a node that hangs is noticed
		h.release = h.link.Hold()
	}
	if h.waiting.Len() == 0 {
		h.parts = [3][]byte{a, b, c}
		v, down := h.put(k, h.parts[:])
		h.parts = [3][]byte{}
		if !down {
			return v
		}
	}
	n := len(a) + len(b) + len(c)
	switch {
	case h.waiting.Len() == 0:
		h.since = now
	case h.bytes+n <= maxWaiting:
	case h.failed: // nobody waits for such a node
		h.losses++
		return lost
	default:
		return full
	}
	h.waiting.Push(frame{k, slices.Concat(a, b, c)})
	h.bytes += n
	h.open(now, addrs)
	return sent
}

// put gives a frame to the link, or says that it is down.
func (h *hop) put(k wire.Kind, parts [][]byte) (v verdict, down bool) {
	receipt, err := h.link.Send(overlay.LanePub, k, parts...)
	switch {
	case err == nil:
		if h.session != 0 && h.session != receipt.Session {
			h.losses++ // the event of that will be here at once
		}
		h.session, h.last = receipt.Session, receipt
		return sent, false
	case errors.Is(err, overlay.ErrLinkDown):
		return lost, true
	case errors.Is(err, overlay.ErrLaneFull) && !h.link.Suspect(): // nobody waits for a suspect node
		return full, false
	}
	h.losses++
	return lost, false
}

// open begins to establish the link, unless that has just failed.
func (h *hop) open(now int64, addrs []string) {
	if !h.opening && now >= h.retry && h.link.Session() == 0 {
		h.opening = true
		h.link.Open(addrs) // reports its result later, never from within
	}
}

// event takes in what happened to the link, and says how many frames that waited
// for it are lost.
func (h *hop) event(now int64, ev overlay.PeerEvent) (dropped int) {
	switch ev.Type {
	case overlay.LinkUp:
		h.opening, h.failed, h.retry = false, false, 0
		for h.waiting.Len() > 0 {
			f := h.waiting.First()
			if v, _ := h.put(f.kind, [][]byte{f.body}); v != sent {
				break
			}
			h.bytes -= len(h.waiting.Pop().body)
		}
		h.last = overlay.Receipt{} // it may be another kind of frame
	case overlay.LinkDown:
		if h.session != 0 && h.session != ev.Session {
			return 0 // the next one stands already
		}
		if h.session != 0 {
			h.losses++
		}
		h.session = 0
	case overlay.DialFailed:
		h.opening, h.failed, h.retry = false, true, now+int64(redialTime)
		if now-h.since < int64(keepTime) {
			return 0
		}
	default:
		return 0
	}
	if dropped = h.waiting.Len(); dropped > 0 {
		h.losses++
	}
	h.waiting.Clear()
	h.bytes = 0
	return dropped
}

// hasRoom says whether send would not return full.
func (h *hop) hasRoom(n int) bool {
	switch {
	case h.link.Suspect() || h.failed:
		return true
	case h.waiting.Len() == 0 && h.link.Session() != 0:
		return h.link.HasRoom(overlay.LanePub, n) || h.link.Session() == 0
	}
	return h.waiting.Len() == 0 || h.bytes+n <= maxWaiting
}

// sound says whether what is sent now arrives soon, as far as is known.
func (h *hop) sound() bool { return h.link.Session() != 0 && !h.link.Suspect() }

// rest lets go of a link that has not been used for a while.
func (h *hop) rest(now int64) {
	if now-h.used > int64(idleTime) && h.waiting.Len() == 0 {
		h.end()
	}
}

// end lets go of the link.
func (h *hop) end() {
	if h.release != nil {
		h.release()
		h.release = nil
	}
}
