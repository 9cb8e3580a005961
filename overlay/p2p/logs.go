// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"sync"
	"time"

	golog "github.com/ipfs/go-log/v2"
	"github.com/libp2p/go-libp2p/gologshim"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// RouteLogs sends what libp2p and kad-dht log to l, named "libp2p": errors
// only, and warnings too while l logs at debug level, because most of them
// report what is normal in a network. A line that comes again is left out for a
// minute; the next one has "repeated", which is how often that was.
//
// It works for the whole process. Call it once, from main, before the first
// Host is started.
//
// Pitfall "logs": libp2p picks its log handler at the first line of each
// logger, and environment variables (GOLOG_…) choose levels and outputs of
// both libraries. They must not change what a program prints that embeds us,
// so everything they have set is replaced.
func RouteLogs(l *zap.Logger) {
	golog.SetupLogging(golog.Config{Level: golog.LevelWarn})
	golog.SetPrimaryCore(foreignCore{l.Core(), &fold{}})
	gologshim.SetDefaultHandler(golog.SlogHandler())
}

// foreignCore puts "libp2p" before the names of loggers, and leaves out what is
// normal and what comes again.
type foreignCore struct {
	zapcore.Core
	fold *fold
}

// With implements zapcore.Core.
func (c foreignCore) With(fields []zapcore.Field) zapcore.Core {
	return foreignCore{c.Core.With(fields), c.fold}
}

// Enabled implements zapcore.Core. It is asked once, when the level may be another
// than later: Check decides.
func (c foreignCore) Enabled(l zapcore.Level) bool { return l >= zapcore.WarnLevel }

// Check implements zapcore.Core.
func (c foreignCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	wanted := e.Level >= zapcore.ErrorLevel || e.Level == zapcore.WarnLevel && c.Core.Enabled(zapcore.DebugLevel)
	if wanted && c.Core.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core.
func (c foreignCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	repeated, told := c.fold.tell(foreignLine{e.Level, e.LoggerName, e.Message}, e.Time)
	if !told {
		return nil
	}
	if repeated > 0 {
		fields = append(fields[:len(fields):len(fields)], zap.Int("repeated", repeated))
	}
	e.LoggerName = "libp2p." + e.LoggerName
	return c.Core.Write(e, fields)
}

const (
	// foldTime is how long a line is not told again.
	foldTime = time.Minute
	// maxFolded bounds the lines that are remembered. Their texts are constants, but
	// for some that name an address.
	maxFolded = 256
)

// foreignLine is what makes lines the same: not their fields.
type foreignLine struct {
	level        zapcore.Level
	logger, text string
}

// fold decides which lines are told. The zero value is ready.
type fold struct {
	// Guarded by mu.
	mu   sync.Mutex
	seen map[foreignLine]foldedLine
}

type foldedLine struct {
	at      time.Time // when it was told last
	skipped int       // since
}

// tell says whether a line is told, and how often it was not before.
func (f *fold) tell(l foreignLine, now time.Time) (repeated int, told bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = make(map[foreignLine]foldedLine)
	}
	was, known := f.seen[l]
	if known && now.Sub(was.at) < foldTime {
		was.skipped++
		f.seen[l] = was
		return 0, false
	}
	if !known && len(f.seen) >= maxFolded {
		f.makeRoom(now)
	}
	f.seen[l] = foldedLine{at: now}
	return was.skipped, true
}

// makeRoom forgets the lines that would be told again, or any one if there are none.
// mu is held.
func (f *fold) makeRoom(now time.Time) {
	for l, was := range f.seen {
		if now.Sub(was.at) >= foldTime && was.skipped == 0 {
			delete(f.seen, l)
		}
	}
	for l := range f.seen {
		if len(f.seen) < maxFolded {
			return
		}
		delete(f.seen, l)
	}
}
