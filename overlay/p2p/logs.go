// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	golog "github.com/ipfs/go-log/v2"
	"github.com/libp2p/go-libp2p/gologshim"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// RouteLogs sends what libp2p and kad-dht log to l, named "libp2p": errors
// only, and warnings too where l logs at debug level, because most of them
// report what is normal in a network.
//
// It works for the whole process. Call it once, from main, before the first
// Host is started.
//
// Pitfall "logs": libp2p picks its log handler at the first line of each
// logger, and environment variables (GOLOG_…) choose levels and outputs of
// both libraries. They must not change what a program prints that embeds us,
// so everything they have set is replaced.
func RouteLogs(l *zap.Logger) {
	level := golog.LevelError
	if l.Core().Enabled(zapcore.DebugLevel) {
		level = golog.LevelWarn
	}
	golog.SetupLogging(golog.Config{Level: level})
	golog.SetPrimaryCore(namedCore{l.Core()})
	gologshim.SetDefaultHandler(golog.SlogHandler())
}

// namedCore puts "libp2p" before the names of loggers.
type namedCore struct{ zapcore.Core }

// With implements zapcore.Core.
func (c namedCore) With(fields []zapcore.Field) zapcore.Core {
	return namedCore{c.Core.With(fields)}
}

// Check implements zapcore.Core.
func (c namedCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core.
func (c namedCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	e.LoggerName = "libp2p." + e.LoggerName
	return c.Core.Write(e, fields)
}
