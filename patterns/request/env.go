// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// env is what the parts of one engine have in common.
type env struct {
	// Immutable after New.
	cfg    Config
	self   peer.ID
	log    *zap.Logger
	start  time.Time
	random overlay.RandStream // salts of seals; nil at a leaf
	drops  drop.Counts[dropReason]

	rooms  rooms
	closed atomic.Bool
}

// now is the engine's clock in ns. 0 is never a time.
func (e *env) now() int64 { return int64(e.cfg.Clock.Now().Sub(e.start)) }

// mustSeal says whether requests to a cluster are sealed.
func (e *env) mustSeal(keys *security.Cluster) bool {
	return e.cfg.Leaf == nil && (!keys.Derived() || e.cfg.Seal == SealAlways)
}

// keys returns those of a cluster; nil at a leaf, whose relay seals.
func (e *env) keys(name string) *security.Cluster {
	if e.cfg.Leaf != nil {
		return nil
	}
	return e.cfg.Keys(name)
}

// sweeper has tables looked through from time to time while they hold
// something.
type sweeper struct {
	*env
	tables []sweepFunc

	mu    sync.Mutex
	timer overlay.Timer // guarded by mu; nil while nothing is kept
}

// sweepFunc ends what nobody has used for so long, and says whether anything is
// left.
type sweepFunc func(now int64, idle time.Duration) (left bool)

// arm is called when something new is kept.
func (s *sweeper) arm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil && !s.closed.Load() {
		s.timer = s.cfg.Clock.AfterFunc("request.sweep", sweepTime, s.sweep)
	}
}

func (s *sweeper) sweep() {
	s.mu.Lock()
	s.timer = nil
	s.mu.Unlock()
	if s.closed.Load() {
		return
	}
	now, left := s.now(), false
	for _, sweep := range s.tables {
		left = sweep(now, idleTime) || left
	}
	if left {
		s.arm()
	}
}

// close stops the timer and lets go of what nobody uses.
func (s *sweeper) close() {
	s.mu.Lock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	for _, sweep := range s.tables {
		sweep(never, 0)
	}
}

// messageSize is what MessageBytes bounds: the body, and the headers as they
// are encoded if there are any.
func messageSize(hs []wire.Header, body []byte) int {
	if len(hs) == 0 {
		return len(body)
	}
	return wire.HeadersSize(hs) + len(body)
}

// tailSize is messageSize of an encoded tail.
func tailSize(tail []byte) int {
	if len(tail) >= noHeaders && tail[0] == 0 && tail[1] == 0 {
		return len(tail) - noHeaders
	}
	return len(tail)
}

// noHeaders is the length of headers that are none.
const noHeaders = 2

// messageOf takes a tail apart.
func messageOf(tail []byte) (patterns.Message, error) {
	headers, body, err := wire.SplitTail(tail)
	return patterns.Message{Headers: wire.ConvertHeaders[patterns.Header](headers), Body: body}, err
}
