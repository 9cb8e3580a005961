// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"github.com/arke-mesh/arke/internal/waitline"
	"github.com/arke-mesh/arke/internal/wire"
)

// account is whose window a frame counts in: its lane's, but for single frames of
// lane bulk. Those are tunnels: many senders, each with little, that would leave
// no room for large messages. So they have a window, and an order of waiting, of
// their own.
type account uint8

const (
	singles      = account(wire.Lanes)
	accountCount = wire.Lanes + 1
	singlesBytes = 512 << 10 // of single frames that may wait to be sent: two batches
)

// frameSlack is how much longer than wire.MaxPayload a frame of lane bulk may be,
// in bytes, so that 64 KiB of a tunnel fit with what is around them.
const frameSlack = 64

// single says whether a message of n bytes travels in one frame.
func single(lane wire.Lane, n int) bool {
	return n <= wire.MaxPayload || lane == wire.LaneBulk && n <= wire.MaxPayload+frameSlack
}

// place is how a message of n bytes travels: on which lane, in whose window, and
// how much of it it takes.
func place(lane wire.Lane, n int) (l wire.Lane, acc account, size int) {
	switch {
	case !single(lane, n):
		if lane != wire.LanePub { // where the order of large messages matters, too
			lane = wire.LaneBulk
		}
		return lane, account(lane), messageSize(n)
	case lane == wire.LaneBulk:
		return lane, singles, n + wire.FrameOverhead
	}
	return lane, account(lane), n + wire.FrameOverhead
}

// sendLog holds what one session has to send and what it keeps until the peer has
// acknowledged it: four lanes, each bounded in bytes. take hands frames out by
// priority. Pure: no lock, goroutine or clock.
type sendLog struct {
	pool     *Pool
	room     Room // nil = only the windows bound it
	lanes    [wire.Lanes]laneLog
	bulk     bulkQueue // what lane bulk has not put in order yet
	windows  windows
	youngest youngest // of single frames of lane bulk
	batch    int      // the limit of the last one taken; 0 = none was
}

type windows [accountCount]window

// window is the bound of one account: what is queued and what is kept together.
type window struct {
	limit    int
	unsent   int // bound on queued
	queued   int // bytes not sent yet, or promised to a message on its way in
	kept     int // bytes sent and not acknowledged
	promised int // of queued, what is not in the log yet
	waiting  waitline.Line
}

func newSendLog(limits [wire.Lanes]int, maxMessage int, m Memory) *sendLog {
	// The receiver reassembles three of the longest: one is for lane pub, and a single
	// frame that is cut has room beside the two.
	q := &sendLog{pool: m.Pool, room: m.Room, bulk: bulkQueue{maxTotal: 2*maxMessage - wire.MaxFrame}}
	for lane, limit := range limits {
		q.windows[lane].limit, q.windows[lane].unsent = limit, limit
	}
	bulk := limits[wire.LaneBulk]
	q.windows[singles].limit, q.windows[singles].unsent = bulk, min(bulk, singlesBytes)
	return q
}

// reserve promises size bytes, or says that the window is full. Room is given in
// order: nobody overtakes a sender that waits, except with what a visitor before
// it came for: it can't be told from others who send.
func (q *sendLog) reserve(acc account, size int) bool {
	if !q.hasRoom(acc, size) {
		return false
	}
	w := &q.windows[acc]
	w.waiting.Took(size)
	w.promise(size)
	return true
}

// hasRoom says whether reserve would promise size bytes now.
func (q *sendLog) hasRoom(acc account, size int) bool {
	w := &q.windows[acc]
	return w.waiting.Passable() && q.windows.fits(q.room, w, size)
}

// fits says whether there is room for size bytes in one window, and for all of them.
func (ws *windows) fits(room Room, w *window, size int) bool {
	if !w.fits(size) {
		return false
	}
	if room == nil {
		return true
	}
	held := ws.held()
	return room.Cover(held+size) || held == 0
}

// held is how many bytes all windows have.
func (ws *windows) held() (n int) {
	for i := range ws {
		n += ws[i].queued + ws[i].kept
	}
	return n
}

// shrunk has the room known that there is again.
func (ws *windows) shrunk(room Room) {
	if room != nil {
		room.Cover(ws.held())
	}
}

// fits says whether there is room for size bytes. A message that is larger than
// half the window has it when nothing waits and little is kept: else the largest
// could never be sent.
func (w *window) fits(size int) bool {
	if w.queued == 0 && size > w.limit/2 {
		return w.kept <= w.limit/2
	}
	return w.queued+w.kept+size <= w.limit && (w.queued == 0 || w.queued+size <= w.unsent)
}

func (w *window) promise(size int) {
	w.queued += size
	w.promised += size
}

// unreserve gives back what reserve, or a grant, promised.
func (q *sendLog) unreserve(acc account, size int) {
	q.windows[acc].queued -= size
	q.windows[acc].promised -= size
	q.windows.shrunk(q.room)
}

// push appends one frame, for which room was reserved, and returns its number; that
// of single frames of lane bulk, which may have none yet, only extend understands. It
// copies parts.
func (q *sendLog) push(lane wire.Lane, acc account, k wire.Kind, size int, parts [][]byte) uint64 {
	q.windows[acc].promised -= size
	g := &q.lanes[lane]
	if acc == singles && !q.direct(g, size) {
		list := q.bulk.plainChunks()
		c := list.tail
		if c == nil || !c.room(size) || len(c.b) >= chunkFill {
			c = q.pool.get(largeChunk)
			c.account = singles
			list.push(c)
		}
		at := len(c.b)
		c.b = wire.AppendFrame(c.b, lane, k, parts...)
		c.frames++
		return q.youngest.is(c, at, 0)
	}
	c := g.append(q.pool, acc, size, q.windows[acc].limit)
	c.b = wire.AppendFrame(c.b, lane, k, parts...)
	if acc == singles {
		return q.youngest.is(c, g.last, g.pushed)
	}
	return g.pushed
}

// direct says whether a single frame of lane bulk may go behind what is in order
// already: nothing takes turns, what is before it is one chunk at most, and it is not
// to be cut.
func (q *sendLog) direct(g *laneLog, size int) bool {
	if !passes(q, size) {
		return false
	}
	return g.at == nil || g.at == g.tail && g.tail.account == singles && g.tail.room(size) && len(g.tail.b) < chunkFill
}

// passes says whether nothing of lane bulk takes turns that a single frame of it would
// have to wait for, and it is not to be cut.
func passes(q *sendLog, size int) bool { return q.bulk.empty() && (q.batch == 0 || size <= q.batch) }

// pushMessage appends the fragments of a large message, for which room was
// reserved, and returns the number that withdraw knows it by, 0 in lane pub.
func (q *sendLog) pushMessage(lane wire.Lane, m *bulkMessage) uint64 {
	q.windows[lane].promised -= m.size
	if lane == wire.LaneBulk {
		return q.bulk.push(m)
	}
	g := &q.lanes[lane]
	for m.chunks.head != nil {
		g.add(m.chunks.pop())
	}
	return 0
}

// queued and kept are how many bytes of a lane wait to be sent, and to be
// acknowledged.
func (q *sendLog) queued(lane wire.Lane) int {
	return q.windows.sum(lane, func(w *window) int { return w.queued })
}

func (q *sendLog) kept(lane wire.Lane) int {
	return q.windows.sum(lane, func(w *window) int { return w.kept })
}

func (w *windows) sum(lane wire.Lane, of func(*window) int) int {
	n := of(&w[lane])
	if lane == wire.LaneBulk {
		n += of(&w[singles])
	}
	return n
}

// pending says whether anything waits for the peer to receive it.
func (q *sendLog) pending() bool {
	for i := range q.windows {
		if q.windows[i].queued+q.windows[i].kept > q.windows[i].promised {
			return true
		}
	}
	return false
}

// empty says that take would return nothing.
func (q *sendLog) empty() bool {
	for i := range q.lanes {
		if !q.lanes[i].empty() {
			return false
		}
	}
	return q.bulk.empty()
}

// take appends to spans what shall be sent next, by priority, at most limit bytes
// (more only if the first frame alone has more). Where the limit is small, chunks are
// cut between their frames, and large messages into smaller fragments.
func (q *sendLog) take(spans []span, limit int) []span {
	room := limit
	q.batch = limit
	for lane := range q.lanes {
		g := &q.lanes[lane]
		for {
			if wire.Lane(lane) == wire.LaneBulk && g.at == nil && (len(spans) == 0 || q.bulk.size() <= room) {
				if c := q.bulk.pop(); c != nil {
					q.order(g, c, limit)
				}
			}
			n := g.unsent()
			if n == 0 {
				break // the next lane; of bulk, what does not fit keeps its turn
			}
			if n > room && limit < chunkFill {
				n = g.fitting(room, len(spans) == 0)
			}
			if n == 0 || n > room && len(spans) > 0 {
				return spans // nothing of lower priority may fill the gap
			}
			s := g.take(n)
			s.lane = wire.Lane(lane)
			w := &q.windows[s.account]
			w.queued -= n
			w.kept += n
			room -= n
			spans = append(spans, s)
		}
	}
	return spans
}

// order puts a chunk of lane bulk in order. Where its frames are longer than
// limit they are cut, so that nothing has to wait for a whole one.
func (q *sendLog) order(g *laneLog, c *chunk, limit int) {
	if c.size() <= limit || c.loan.body == nil && longestFrame(c.b) <= limit {
		g.add(c)
		return
	}
	finer := refined(q.pool, c, limit)
	for finer.head != nil {
		part := finer.pop()
		q.windows[c.account].queued += len(part.b)
		g.add(part)
	}
	q.windows[c.account].queued -= c.size()
	q.pool.put(c)
}

// wrote notes that all that take returned has been written.
func (q *sendLog) wrote() {
	for lane := range q.lanes {
		g := &q.lanes[lane]
		if g.written != g.taken {
			g.wrote()
			q.release(g)
		}
	}
}

// ack notes what the peer need not get again. false means that it lies.
func (q *sendLog) ack(counts wire.Counts) bool {
	for lane, n := range counts {
		g := &q.lanes[lane]
		if n <= g.acked {
			continue
		}
		if !g.ack(n) {
			return false
		}
		q.release(g)
	}
	return true
}

// release lets go what is not needed any more.
func (q *sendLog) release(g *laneLog) {
	for c := g.gone(); c != nil; c = g.gone() {
		q.windows[c.account].kept -= c.size()
		q.pool.put(c)
	}
	q.windows.shrunk(q.room)
}

// resume has everything sent again that the peer has not received. false means
// that the peer lies.
func (q *sendLog) resume(received wire.Counts) bool {
	for lane, n := range received {
		g := &q.lanes[lane]
		ok := g.resume(n, func(acc account, bytes int) {
			w := &q.windows[acc]
			w.kept -= bytes
			w.queued += bytes
		})
		if !ok {
			return false
		}
		q.release(g)
	}
	return true
}

// withdraw takes back what was not sent. It says whether it is certain that the
// peer does not get it, or never did.
func (q *sendLog) withdraw(lane wire.Lane, n uint64) bool {
	if lane != wire.LaneBulk {
		return q.lanes[lane].withdraw(n)
	}
	if q.bulk.lost[n] {
		return true
	}
	m := q.bulk.remove(n)
	if m == nil {
		return false
	}
	q.windows[lane].queued -= m.size
	q.windows.shrunk(q.room)
	q.pool.putAll(m.chunks.head)
	return true
}

// join queues up for size bytes of a window.
func (q *sendLog) join(acc account, p *waitline.Place) bool { return q.windows[acc].waiting.Join(p) }

// leave removes who gave up, granted or not, or a visitor that has looked.
func (q *sendLog) leave(acc account, p *waitline.Place) {
	if q.windows[acc].waiting.Leave(p) {
		q.unreserve(acc, p.Size)
	}
}

// grant promises the room there is to those who wait, and returns whom to wake,
// in order. Usually nobody waits and it costs nothing.
func (q *sendLog) grant() []*waitline.Place {
	var granted []*waitline.Place
	for acc := range q.windows {
		w := &q.windows[acc]
		fits := func(size int) bool { return q.windows.fits(q.room, w, size) }
		for p := w.waiting.Next(fits); p != nil; p = w.waiting.Next(fits) {
			if !p.Visits {
				w.promise(p.Size)
			}
			granted = append(granted, p)
		}
	}
	return granted
}

// drop empties the log. It returns how many messages were not sent, and all who
// wait; they are not granted. handled is how far the peer has come, if it has said
// so; withdraw knows it from here on.
func (q *sendLog) drop(handled *wire.Counts) (messages int, waiting []*waitline.Place) {
	q.bulk.lost = q.lostMessages(handled)
	for lane := range q.lanes {
		g := &q.lanes[lane]
		messages += g.messages()
		g.chunkList, g.at = chunkList{}, nil // not recycled: some may be being written
		if handled != nil {
			g.taken = min(g.taken, handled[lane])
		}
	}
	for c := q.bulk.pop(); c != nil; c = q.bulk.pop() {
		messages += c.messages(0)
	}
	for acc := range q.windows {
		w := &q.windows[acc]
		waiting = append(waiting, w.waiting.Clear()...)
		w.queued, w.kept = w.promised, 0
	}
	q.windows.shrunk(q.room)
	return messages, waiting
}

// lostMessages lists the large messages of lane bulk that the peer has certainly
// not handled.
func (q *sendLog) lostMessages(handled *wire.Counts) map[uint64]bool {
	lost := make(map[uint64]bool)
	for _, list := range [][]*bulkMessage{q.bulk.ring, q.bulk.next} {
		for _, m := range list {
			lost[m.number] = !m.begun || handled != nil
		}
	}
	for c := q.lanes[wire.LaneBulk].head; c != nil && handled != nil; c = c.next {
		lost[c.message] = lost[c.message] || c.last() > handled[wire.LaneBulk]
	}
	return lost
}
