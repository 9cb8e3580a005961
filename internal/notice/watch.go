// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/arke-mesh/arke/overlay"
)

// Every is the time between two looks.
const Every = 5 * time.Second

// Watch has somebody look every five seconds, and logs what that gives. The looks come
// one after the other, on the clock's goroutine.
type Watch struct {
	// Immutable after NewWatch.
	clock overlay.Clock
	log   *zap.Logger
	look  func(now time.Time) []Line

	// Guarded by mu.
	mu    sync.Mutex
	timer overlay.Timer // nil = not started
	over  bool

	looking sync.Mutex // held during a look; Stop waits for it
}

// NewWatch returns a watch that was not started.
func NewWatch(clock overlay.Clock, log *zap.Logger, look func(now time.Time) []Line) *Watch {
	return &Watch{clock: clock, log: log, look: look}
}

// Start begins to look, unless nobody would hear of it.
func (w *Watch) Start() {
	if !w.log.Core().Enabled(zapcore.FatalLevel) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.timer = w.clock.AfterFunc("notice/look", Every, w.step)
	}
}

// step is one look.
func (w *Watch) step() {
	w.looking.Lock()
	defer w.looking.Unlock()
	w.mu.Lock()
	over := w.over
	w.mu.Unlock()
	if over {
		return
	}
	for _, l := range w.look(w.clock.Now()) {
		if l.Warn {
			w.log.Warn(l.Text, l.Fields...)
		} else {
			w.log.Info(l.Text, l.Fields...)
		}
	}
	w.Start()
}

// Stop ends it, and waits for a look that is under way. It is idempotent; what looks
// must not call it.
func (w *Watch) Stop() {
	w.mu.Lock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.looking.Lock()
	defer w.looking.Unlock()
}
