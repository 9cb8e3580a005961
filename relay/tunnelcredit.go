// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import "github.com/arke-mesh/arke/internal/wire/session"

const (
	// firstWindow is the credit of a new tunnel while there is plenty: the
	// largest chunk fits even while some of the credit is not told yet.
	firstWindow = 80 << 10
	// maxWindow is enough for any client that is on the same machine.
	maxWindow = 256 << 10
	// smallWindow is one whose credit is told in halves, and not in eighths:
	// chunks are no longer than the credit there is.
	smallWindow = 16 << 10
	// maxSure and minSure bound what every tunnel has whatever the others do.
	maxSure = 2 << 10
	minSure = 256
)

// allowance decides how much credit a client has for each of its tunnels. What
// is lent may come at any time and then waits in the relay until the node takes
// it, so the sum is bounded. Half of it is divided among as many tunnels as
// there may be; the other half is lent to those that are new or busy, less and
// less as it is used up. It decides only; whoever owns it serialises the calls.
type allowance struct {
	bytes   int // limit of all credit
	tunnels int // limit of their number
	sure    int // credit of every tunnel
	pool    int // what may be lent beyond that
	open    int // tunnels
	lent    int // of the pool
}

func newAllowance(l Limits) allowance {
	sure := min(max(l.TunnelBytes/2/l.Tunnels, minSure), maxSure)
	return allowance{
		bytes:   l.TunnelBytes,
		tunnels: l.Tunnels,
		sure:    sure,
		pool:    max(l.TunnelBytes-sure*l.Tunnels, 0),
	}
}

// take takes the place of one tunnel and returns its window, or
// ErrTooManyTunnels.
func (a *allowance) take() (window int, err error) {
	if a.open >= a.tunnels || (a.open+1)*a.sure > a.bytes {
		return 0, ErrTooManyTunnels
	}
	window = a.sure
	switch free := a.pool - a.lent; {
	case free > a.pool/2:
		window = max(a.sure, firstWindow)
	case free > a.pool/4:
		window = max(a.sure, 16<<10)
	case free > a.pool/8:
		window = max(a.sure, 4<<10)
	}
	window = a.within(0, min(window, a.sure+a.pool/4))
	a.open++
	a.move(0, window)
	return window, nil
}

// giveBack is the reverse of take for a tunnel that has so much.
func (a *allowance) giveBack(has int) {
	a.open--
	a.move(has, 0)
}

// busy returns what the window of a tunnel may be that has so much and wants
// more.
func (a *allowance) busy(has, wants int) int {
	may := a.sure
	switch free := a.pool - a.lent; {
	case free > a.pool/2:
		may = maxWindow
	case free > a.pool/4:
		may = maxWindow / 2
	case free > a.pool/8:
		may = 64 << 10
	case free > a.pool/16:
		may = 32 << 10
	case free > a.pool/32:
		may = 16 << 10
	}
	return a.within(has, min(max(may, a.sure), wants))
}

// within returns window, or as much of it as is there for a tunnel that has so
// much.
func (a *allowance) within(has, window int) int {
	return min(window, max(has, a.sure)+a.pool-a.lent)
}

// move notes that a tunnel which had from has to now.
func (a *allowance) move(from, to int) {
	a.lent += max(to-a.sure, 0) - max(from-a.sure, 0)
}

// intake is what of a tunnel's credit is where, on the way from the client to
// the node: pure accounting.
type intake struct {
	given  int // the client may send so much
	held   int // came, and waits for the node
	window int // given and held together may be so much
	streak int // passed on since the window changed or the node was slow
	due    int // credit that the client is to be told of
}

// has is the credit that is lent.
func (i *intake) has() int { return i.given + i.held }

// came takes a chunk from the client. False: there was no credit for it.
func (i *intake) came(n int) bool {
	cost := session.ChunkCost(n)
	if cost > i.given {
		return false
	}
	i.given -= cost
	i.held += cost
	return true
}

// passed notes that the node has taken a chunk, and gives new credit when
// enough has come together. It says whether the client is to be told.
func (i *intake) passed(n int, a *allowance) bool {
	cost := session.ChunkCost(n)
	before := i.has()
	i.held -= cost
	i.streak += cost
	if i.held > 0 {
		i.streak = 0 // the node is slower than the client
	}
	if i.streak >= i.window {
		i.window, i.streak = min(2*i.window, maxWindow), 0
	}
	a.move(before, i.has())
	may := a.busy(i.has(), i.window)
	more := may - i.has()
	if more < may/8 || may <= smallWindow && more < may/2 {
		return false
	}
	a.move(i.has(), i.has()+more)
	i.given += more
	i.due += more
	return true
}
