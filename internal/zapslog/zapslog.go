// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package zapslog

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// New returns a logger that writes to l; nil stays nil, which means nowhere.
func New(l *slog.Logger) *zap.Logger {
	if l == nil {
		return nil
	}
	return zap.New(core{l.Handler()})
}

// core is a slog handler as zap knows one.
type core struct{ to slog.Handler }

// Enabled implements zapcore.Core.
func (c core) Enabled(l zapcore.Level) bool {
	return c.to.Enabled(context.Background(), levelOf(l))
}

// With implements zapcore.Core.
func (c core) With(fields []zapcore.Field) zapcore.Core {
	return core{c.to.WithAttrs(attrsOf(fields))}
}

// Check implements zapcore.Core.
func (c core) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(e.Level) {
		return to
	}
	return to.AddCore(e, c)
}

// Write implements zapcore.Core.
func (c core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	r := slog.NewRecord(e.Time, levelOf(e.Level), e.Message, e.Caller.PC)
	if e.LoggerName != "" {
		r.AddAttrs(slog.String("logger", e.LoggerName))
	}
	r.AddAttrs(attrsOf(fields)...)
	return c.to.Handle(context.Background(), r)
}

// Sync implements zapcore.Core. A slog handler keeps nothing back.
func (core) Sync() error { return nil }

func levelOf(l zapcore.Level) slog.Level {
	switch {
	case l < zapcore.InfoLevel:
		return slog.LevelDebug
	case l == zapcore.InfoLevel:
		return slog.LevelInfo
	case l == zapcore.WarnLevel:
		return slog.LevelWarn
	}
	return slog.LevelError
}

// attrsOf returns what the fields say, in their order.
func attrsOf(fields []zapcore.Field) []slog.Attr {
	attrs := make([]slog.Attr, 0, len(fields))
	for _, f := range fields {
		one := zapcore.NewMapObjectEncoder()
		f.AddTo(one)
		for _, key := range slices.Sorted(maps.Keys(one.Fields)) {
			attrs = append(attrs, slog.Any(key, one.Fields[key]))
		}
	}
	return attrs
}
