// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
)

// What waits is taken for a frame that breaks connections when more than maxPoison
// resumes in a row have brought nothing further, and that for poisonTime: a line that
// flaps may cut a few connections in a row before a frame is through, within a moment.
const (
	maxPoison  = 3
	poisonTime = time.Second
)

// Handler handles one message that has arrived on a lane, whole. It runs on the
// goroutine that reads the connection, in the order of the lane, and must not
// block for long: nothing else is read from the peer meanwhile. It says whether
// it keeps body; if it does not, the next message may come in it.
type Handler func(lane wire.Lane, k wire.Kind, body []byte) (kept bool)

// Config says what a session needs. Fields without a default are required.
type Config struct {
	Seam
	// Key is the N of this session's ExecKeys.
	Key uint64

	// Number is this side's name for the session, in Receipts; ID is the one that
	// both sides use, in Hello.
	Number, ID uint64
	// Epoch is where this side's link clock begins.
	Epoch time.Time

	// LaneBytes bounds each lane: what is queued and what is not acknowledged
	// yet, in encoded bytes.
	LaneBytes [wire.Lanes]int
	// MaxMessage bounds one message, sent or received, in bytes.
	MaxMessage int
	// Beat is the time without a byte after which a peer that somebody wants is
	// asked for one. 0 = never: then only the connection's end tells.
	Beat time.Duration
	// Memory is where messages are while they are here in part.
	Memory Memory

	// Leaf says that this is the session of a client and its relay, whose Beats,
	// Goodbyes and Notices are laid out by hand. Of a Notice the topic is the code
	// there.
	Leaf bool
	// Forget says that the session ends with its connection: nothing is kept once
	// it is written, and nothing acknowledged.
	Forget bool

	// Handler gets what arrives, of all kinds that are not the session's own.
	Handler Handler
	// Rescue is the lane whose messages Leftover returns; 0 = none.
	Rescue wire.Lane
	// Notice gets what the peer tells about itself. May be nil.
	Notice func(m *wire.Notice)
	// Wall gets what the peer's wall clock shows, in ms since 1970, each time that it
	// says so in a Beat. May be nil; not of a Leaf.
	Wall func(ms int64)
	// Changed is called after Silent has changed, and after a connection began to
	// carry the session, without a lock. May be nil.
	Changed func()
	// Dropped counts what was dropped. May be nil.
	Dropped func(why Drop, n int)
	// Sent counts frames, and their encoded bytes by lane, as they are written. May be
	// nil.
	Sent func(frames uint64, bytes [wire.Lanes]uint64)
}

// Seam is how a session reaches what it runs in.
type Seam struct {
	// Clock's timers are not waited for: what they do after End is nothing.
	Clock Clock
	Exec  Waker
	Rand  Jitter
	// Go runs f on a goroutine that its owner waits for; false means that it does
	// not because everything ends.
	Go func(f func()) bool
	// Done is closed when everything ends at once. May be nil.
	Done <-chan struct{}
	// Standby has others read on where a reader runs something for long. Nil means that
	// no reader runs anything: Last is false.
	Standby *Standby
	// Rounds are those of all sessions that send what this one receives. Nil means its
	// own.
	Rounds *Rounds
}

// Memory is what a session shares with others.
type Memory struct {
	// Pool is for what is sent.
	Pool *Pool
	// Budget bounds what has come of messages that are incomplete, beside
	// MaxMessage, of which they may take three times as much. Nil means that
	// nothing else does.
	Budget Budget
	// Bodies is for what has come in several fragments, and may be nil.
	Bodies *wire.Bodies
	// Room bounds what all lanes keep together, beside LaneBytes: a lane is full where
	// it has none. One message has room when nothing is kept. Nil means that nothing
	// else does.
	Room Room
}

// Room is what a session may keep of what is shared with others. A session calls it
// from one goroutine at a time; it does not block.
type Room interface {
	// Cover says whether so many bytes may be kept in all. It is true, and need not be
	// looked at, when they are fewer than before.
	Cover(bytes int) bool
}

func (c Config) withDefaults() Config {
	if c.Changed == nil {
		c.Changed = func() {}
	}
	if c.Dropped == nil {
		c.Dropped = func(Drop, int) {}
	}
	if c.Sent == nil {
		c.Sent = func(uint64, [wire.Lanes]uint64) {}
	}
	if c.Rounds == nil {
		c.Rounds = &Rounds{}
	}
	if c.Memory.Pool == nil {
		c.Memory.Pool = &Pool{}
	}
	if c.Memory.Budget == nil {
		c.Memory.Budget = unbounded{}
	}
	return c
}

// measure returns how many bytes parts have together.
func (c *Config) measure(parts [][]byte) (int, error) {
	n := 0
	for _, p := range parts {
		n += len(p)
		if n > c.MaxMessage || n < 0 {
			return 0, ErrTooLarge
		}
	}
	return n, nil
}

// Session is what two sides have while neither forgets the other: four lanes each
// way on which nothing is lost, whatever connection carries them. All methods may
// be called concurrently, but Run by one goroutine at a time.
type Session struct {
	*outbox // Send, SendWait, SendLater, HasRoom, WaitRoom, Withdraw

	cfg   Config
	out   *outbox
	in    *inbox
	pulse *pulse
	dead  atomic.Bool

	// Guarded by mu.
	mu       sync.Mutex
	current  *attachment
	progress wire.Counts // what the peer had received at the last resume
	stuck    int         // resumes in a row that brought nothing further …
	since    time.Time   // … and when the first of them was
}

// New returns a session that no connection carries yet. What is sent waits.
func New(cfg Config) *Session {
	s := &Session{cfg: cfg.withDefaults()}
	c := &s.cfg
	s.out = &outbox{cfg: c, kick: make(chan struct{}, 1), log: newSendLog(c.LaneBytes, c.MaxMessage, c.Memory), writer: writer{pace: pace{limit: batchLimit}}}
	s.out.nudge = func() {
		select {
		case s.out.kick <- struct{}{}:
		default:
		}
	}
	s.outbox = s.out
	s.pulse = &pulse{cfg: c, out: s.out, live: liveness{interval: c.Beat, limit: silenceLimit, rand: c.Rand}}
	s.pulse.idle = func() { s.Break(fmt.Errorf("%w for %v", ErrSilent, silenceLimit), CodeSilent) }
	s.in = &inbox{cfg: c, out: s.out, pulse: s.pulse, parts: newReassembly(c.MaxMessage, c.Memory.Budget, c.Memory.Bodies)}
	return s
}

// Number and ID are those of Config.
func (s *Session) Number() uint64 { return s.cfg.Number }

// ID is the session's name in Hello.
func (s *Session) ID() uint64 { return s.cfg.ID }

// Run has c carry the session, and returns when it does not any more. g is what the
// Hellos have said.
// Nothing is handled after Run has returned. It has reset c, unless the session
// ended as agreed; closing c is the caller's.
//
// The error says why: ErrLost, ErrProtocol, ErrSilent or ErrReplaced (the session
// may go on, on another connection), ErrGoodbye or ErrLeft (the session is over),
// ErrDown (End was called), ErrPoison.
func (s *Session) Run(c *Carrier, g Greeting) error {
	a := &attachment{s: s, conn: c, over: make(chan struct{}), gone: make(chan struct{})}
	if err := s.attach(a, g.Received); err != nil {
		_ = c.Reset(CodeProtocol)
		return err
	}
	s.in.attach(g.Window)
	s.pulse.attach(g.Sample)
	s.cfg.Changed()
	// The writer begins by Wake: reader and writer must not start in the same
	// step of the simulator, or what goes into the first batch is chance.
	s.out.wake("session/start", func() {
		if !s.cfg.Go(a.feed) {
			close(a.gone)
		}
	})
	s.pulse.started(g.Sample)
	c.session.Store(s)
	err := c.drive(a.read)
	if cause := a.cause(); cause != nil {
		err = cause
	}
	s.finish(a, err)
	return err
}

// attach makes a the connection of the session.
func (s *Session) attach(a *attachment, theirs wire.Counts) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil { // another connection has come in between
		return ErrReplaced
	}
	pending, err := s.out.resume(theirs, a)
	if err != nil {
		return err
	}
	now := s.cfg.Clock.Now()
	if pending && s.stuck > 0 && theirs == s.progress {
		s.stuck++
	} else if s.stuck = 0; pending {
		s.stuck, s.since = 1, now
	}
	if s.progress = theirs; s.stuck > maxPoison && now.Sub(s.since) >= poisonTime {
		return ErrPoison
	}
	s.current = a
	return nil
}

// finish ends what is left of a when reading has ended.
func (s *Session) finish(a *attachment, err error) {
	a.end(err)
	select {
	case <-a.gone:
	case <-s.cfg.Done: // Wake may have been lost
	}
	if isEnd(err) {
		_ = a.conn.CloseWrite() // a second time, if this side has said goodbye
	}
	s.pulse.detach()
	s.mu.Lock()
	s.current = nil
	s.mu.Unlock()
	s.out.wake("session/over", func() { close(a.over) })
}

// Break ends the connection, if there is one, because of cause; Run returns it.
func (s *Session) Break(cause error, code uint32) {
	s.mu.Lock()
	a := s.current
	s.mu.Unlock()
	if a != nil {
		a.fail(cause, code)
	}
}

// Detach ends the connection, if there is one, waits until its Run handles nothing
// any more, and returns how many frames were received: what a Hello says. Only
// then another connection may carry the session.
func (s *Session) Detach() wire.Counts {
	s.mu.Lock()
	a := s.current
	s.mu.Unlock()
	if a != nil {
		a.fail(ErrReplaced, CodeReplaced)
		select {
		case <-a.over:
		case <-s.cfg.Done:
		}
	}
	return s.Received()
}

// Received is how many frames were received: what a Hello says once no connection
// carries the session.
func (s *Session) Received() wire.Counts { return counts(&s.in.received) }

// Leave ends the session on purpose: once everything was sent, the peer is told
// what was handled and that nothing else will be; Run returns ErrLeft when the
// peer has ended, too. Without a connection nothing happens.
func (s *Session) Leave(code uint32, reason string) {
	b := s.out
	b.mu.Lock()
	if b.farewell == nil {
		b.farewell = &farewell{code: code, reason: reason}
	}
	kicked := b.kicked()
	b.mu.Unlock()
	if kicked {
		b.stir()
	}
}

// End ends the session at once, with its connection. What was not sent is counted
// as lost. It does not wait: nothing is handled any more once Run, if it runs, has
// returned.
func (s *Session) End() {
	if s.dead.Swap(true) {
		return
	}
	s.out.end(s.in.lost())
	s.Break(ErrDown, CodeBroken)
}

// Hold has the message that Handler is being called with acknowledged by Release, and
// not when Handler returns: so a sender's full window is the receiver's push-back.
// Only Handler may call it, once, before it returns.
func (s *Session) Hold() { s.in.hold() }

// Release acknowledges the n oldest messages of a lane that are held.
func (s *Session) Release(lane wire.Lane, n int) { s.in.release(lane, n) }

// Want tells that wanted may say something else now: whether anybody is interested
// in the peer's life. Heartbeats run while somebody is. wanted must not block.
func (s *Session) Want(wanted func() bool) { s.pulse.want(wanted) }

// Silent says that the peer leaves heartbeats unanswered.
func (s *Session) Silent() bool { return s.pulse.suspect.Load() }

// Attached says whether a connection carries the session.
func (s *Session) Attached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current != nil
}

// Heard is when the last byte came from the peer.
func (s *Session) Heard() time.Time { return s.cfg.Epoch.Add(time.Duration(s.pulse.heard.Load())) }

// Behind says that this process has stood still, or its machine slept, and that the peer
// has not answered since: what it sent meanwhile may not have been read.
func (s *Session) Behind() bool { return s.pulse.behind() }

// RTT is the smoothed round trip to the peer, 0 if it was not measured yet.
func (s *Session) RTT() time.Duration { return time.Duration(s.pulse.rtt.Load()) }

// Patience is how long a peer may be silent before it is suspect: three times
// Config.Beat, or more where the round trip is long.
func (s *Session) Patience() time.Duration { return s.pulse.patience() }

// Offset is how far the peer's link clock is ahead of ours, by the best estimate
// there is.
func (s *Session) Offset() time.Duration { return time.Duration(s.pulse.offset.Load()) }

// Ask asks the peer on the present connection for a sign of life, and has answered
// called when it has answered this very question. clock is this side's link clock,
// other than in any question before.
func (s *Session) Ask(clock uint64, answered func()) { s.pulse.ask(clock, answered) }

// TellWall tells the peer what this side's wall clock shows, and asks what the peer's
// does: Config.Wall gets the answer. It is lost if the connection breaks. Not for a
// Leaf.
func (s *Session) TellWall() { s.pulse.tellWall() }

// Notify tells the peer something that it logs. It is lost if the connection
// breaks.
func (s *Session) Notify(m *wire.Notice) error {
	frame, err := s.cfg.notice(m)
	if err == nil {
		s.out.put(frame)
	}
	return err
}

// Load is how many bytes of a lane wait to be sent, and to be acknowledged.
func (s *Session) Load(lane wire.Lane) (queued, kept int) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	return s.out.log.queued(lane), s.out.log.kept(lane)
}
