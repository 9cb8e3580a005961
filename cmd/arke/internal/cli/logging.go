// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logFlags say what a command that stays logs, and how.
type logFlags struct {
	level  string
	format string
}

// declare adds the flags.
func (flags *logFlags) declare(f *pflag.FlagSet) {
	f.StringVar(&flags.level, "log-level", "info", "the lowest level to log to standard error: debug, info, warn, or error")
	f.StringVar(&flags.format, "log-format", "console", "how to log: console (lines for people) or json (one object a line)")
}

// parse returns the level.
func (flags logFlags) parse() (zapcore.Level, error) {
	l, err := zapcore.ParseLevel(flags.level)
	switch {
	case err != nil || l > zapcore.ErrorLevel:
		return l, fmt.Errorf("--log-level %q is not debug, info, warn, or error", flags.level)
	case flags.format != "console" && flags.format != "json":
		return l, fmt.Errorf("--log-format %q is not console or json", flags.format)
	}
	return l, nil
}

// logger returns a logger that writes to log, one line an entry, and its level, which
// may be changed at any time.
func (flags logFlags) logger(log io.Writer) (*zap.Logger, zap.AtomicLevel, error) {
	level := zap.NewAtomicLevel()
	l, err := flags.parse()
	if err != nil {
		return nil, level, err
	}
	level.SetLevel(l)
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	var encoder zapcore.Encoder
	if flags.format == "json" {
		enc.TimeKey = "time"
		encoder = zapcore.NewJSONEncoder(enc)
	} else {
		enc.EncodeLevel = zapcore.CapitalLevelEncoder
		enc.ConsoleSeparator = "  "
		encoder = zapcore.NewConsoleEncoder(enc)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.AddSync(log), level)), level, nil
}
