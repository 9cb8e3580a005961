// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const logLevelHelp = "what is logged to standard error: debug, info, warn, or error"

// logger returns a logger that writes plain lines to standard error.
func (a App) logger(level string) (*zap.Logger, error) {
	l, err := zapcore.ParseLevel(level)
	if err != nil || l > zapcore.ErrorLevel {
		return nil, fmt.Errorf("--log-level %q is not debug, info, warn, or error", level)
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	enc.EncodeLevel = zapcore.CapitalLevelEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	enc.ConsoleSeparator = "  "
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(enc), zapcore.Lock(zapcore.AddSync(a.Stderr)), l)
	return zap.New(core), nil
}
