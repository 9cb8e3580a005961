// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

// selfSession is the session of the link to ourselves: the first number.
const selfSession = 1

// newLoopback returns the link to ourselves. It has the lanes, bounds and
// order of any link, but no connection below: its reader takes what its queue has.
func newLoopback(o *Overlay) *Link {
	l := newLink(o, o.self)
	s := o.newSession(l, selfSession)
	l.last.Store(s)
	l.number.Store(s.Number())
	return l
}

// serveLoopback hands on what this node sends to itself, until the overlay
// closes.
func (o *Overlay) serveLoopback() {
	if err := o.loopback.last.Load().RunLoop(); err != nil && !o.leaving() {
		panic("BUG: link to ourselves: " + err.Error())
	}
}
