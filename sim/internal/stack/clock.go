// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
)

// million is what a drift is part of.
const million = 1_000_000

// skewed is the clock of a machine, which may be wrong and, while its node is
// paused, has no timer end.
type skewed struct {
	mu     sync.Mutex
	step   time.Duration // of the wall clock, for processes that start from now on
	drift  int64         // ppm; above -million
	since  time.Time     // when this drift began
	gone   time.Duration // what earlier drifts amounted to
	paused bool
	parked []*nodeTimer // that are due
}

func newSkewed() *skewed { return &skewed{since: time.Now()} }

// set skews the clock. What it has drifted stays: monotonic clocks do not jump.
func (s *skewed) set(step time.Duration, ppm int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = s.drifted()
	s.step, s.drift, s.since = step, max(int64(ppm), 1-million), time.Now()
}

// drifted needs mu.
func (s *skewed) drifted() time.Duration {
	past := int64(time.Since(s.since))
	return s.gone + time.Duration(past/million*s.drift+past%million*s.drift/million)
}

// real is how long the clock takes to run on by d. It needs mu.
func (s *skewed) real(d time.Duration) time.Duration {
	if s.drift == 0 {
		return d
	}
	whole := million + s.drift
	n := int64(d)
	return time.Duration(n/whole*million + n%whole*million/whole + 1)
}

// pause holds the timers that become due.
func (s *skewed) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = true
}

// resume has them fire.
func (s *skewed) resume() {
	s.mu.Lock()
	due := s.parked
	s.parked, s.paused = nil, false
	s.mu.Unlock()
	for _, t := range due {
		go t.fire()
	}
}

// boot is the clock of a process that starts now.
func (s *skewed) boot() *clock {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &clock{skewed: s, step: s.step}
}

// clock is what one process sees of its machine's clock.
type clock struct {
	*skewed
	step time.Duration
}

// Now implements overlay.Clock.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.step + c.drifted())
}

// instant is when the clock will show t, as the bubble's time; zero stays zero.
func (c *clock) instant(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	return now.Add(c.real(t.Sub(now.Add(c.step + c.drifted()))))
}

// AfterFunc implements overlay.Clock.
func (c *clock) AfterFunc(_ string, d time.Duration, f func()) overlay.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &nodeTimer{of: c.skewed, f: f}
	t.timer = time.AfterFunc(c.real(d), t.fire)
	return t
}

// nodeTimer is a timer that waits while its node is paused.
type nodeTimer struct {
	of    *skewed
	f     func()
	timer *time.Timer
	over  bool // guarded by of.mu; it has fired or was stopped
}

func (t *nodeTimer) fire() {
	t.of.mu.Lock()
	if t.over {
		t.of.mu.Unlock()
		return
	}
	if t.of.paused {
		t.of.parked = append(t.of.parked, t)
		t.of.mu.Unlock()
		return
	}
	t.over = true
	t.of.mu.Unlock()
	t.f()
}

// Stop implements overlay.Timer.
func (t *nodeTimer) Stop() bool {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.over {
		return false
	}
	t.over = true
	t.timer.Stop()
	t.of.parked = slices.DeleteFunc(t.of.parked, func(p *nodeTimer) bool { return p == t })
	return true
}

// source returns the random numbers that a seed and a path of names decide.
func source(seed uint64, names ...string) *rand.ChaCha8 {
	h := sha256.New()
	_ = binary.Write(h, binary.BigEndian, seed)
	for _, name := range names {
		_ = binary.Write(h, binary.BigEndian, uint64(len(name)))
		h.Write([]byte(name))
	}
	return rand.NewChaCha8([32]byte(h.Sum(nil)))
}

// random is the overlay.Rand of one life of a node.
type random struct {
	seed uint64
	life string

	mu      sync.Mutex
	streams map[string]*stream // guarded by mu
}

func newRandom(seed uint64, life string) *random {
	return &random{seed: seed, life: life, streams: make(map[string]*stream)}
}

// Stream implements overlay.Rand.
func (r *random) Stream(name string) overlay.RandStream {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.streams[name]
	if s == nil {
		src := source(r.seed, "node", r.life, name)
		s = &stream{src: src, numbers: rand.New(src)}
		r.streams[name] = s
	}
	return s
}

// stream is one of its streams.
type stream struct {
	mu      sync.Mutex
	src     *rand.ChaCha8
	numbers *rand.Rand
}

// Read implements io.Reader; it never fails.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.src.Read(p)
}

// Uint64 implements overlay.RandStream.
func (s *stream) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.src.Uint64()
}

// IntN implements overlay.RandStream.
func (s *stream) IntN(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.numbers.IntN(n)
}

// transport is a host for a node whose clock may be wrong: deadlines of streams
// are times of the node's clock, and libp2p, which in production has the same
// one, lives by the bubble's.
type transport struct {
	*p2p.Host
	clock *clock
}

var _ overlay.Transport = (*transport)(nil)

// Start implements overlay.Transport.
func (t *transport) Start(h overlay.TransportHandler) error {
	return t.Host.Start(&handler{TransportHandler: h, clock: t.clock})
}

// Open implements overlay.Transport.
func (t *transport) Open(ctx context.Context, p peer.ID, addrs []string) (overlay.Stream, error) {
	s, err := t.Host.Open(ctx, p, addrs)
	if err != nil {
		return nil, err
	}
	return &clocked{Stream: s, clock: t.clock}, nil
}

type handler struct {
	overlay.TransportHandler
	clock *clock
}

// HandleStream implements overlay.TransportHandler.
func (h *handler) HandleStream(s overlay.Stream) {
	h.TransportHandler.HandleStream(&clocked{Stream: s, clock: h.clock})
}

// clocked is a stream whose deadlines are times of a node's clock.
type clocked struct {
	overlay.Stream
	clock *clock
}

// SetReadDeadline implements overlay.Stream.
func (c *clocked) SetReadDeadline(t time.Time) error {
	return c.Stream.SetReadDeadline(c.clock.instant(t))
}

// SetWriteDeadline implements overlay.Stream.
func (c *clocked) SetWriteDeadline(t time.Time) error {
	return c.Stream.SetWriteDeadline(c.clock.instant(t))
}
