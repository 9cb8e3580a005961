// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	golog "github.com/ipfs/go-log/v2"
	"github.com/libp2p/go-libp2p/gologshim"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/arke-mesh/arke/overlay/p2p"
)

// This test checks that both of libp2p's kinds of logs arrive in zap with
// their names and fields: errors always, warnings at debug level, nothing else.
func TestLogsOfLibp2pArriveInZap(t *testing.T) {
	for _, c := range []struct {
		level zapcore.Level
		want  []string
	}{
		{zapcore.InfoLevel, []string{"libp2p.test-a: bad", "libp2p.test-b: bad"}},
		{zapcore.DebugLevel, []string{"libp2p.test-a: odd", "libp2p.test-a: bad", "libp2p.test-b: odd", "libp2p.test-b: bad"}},
	} {
		core, logs := observer.New(c.level)
		p2p.RouteLogs(zap.New(core))
		a, b := golog.Logger("test-a"), gologshim.Logger("test-b")
		a.Infow("so", "k", 1)
		a.Warnw("odd", "k", 1)
		a.Errorw("bad", "k", 1)
		b.Info("so", "k", 1)
		b.Warn("odd", "k", 1)
		b.Error("bad", slog.Int("k", 1))
		var got []string
		for _, e := range logs.AllUntimed() {
			got = append(got, e.LoggerName+": "+e.Message)
			require.EqualValues(t, 1, e.ContextMap()["k"])
		}
		require.Equal(t, c.want, got)
	}
	p2p.RouteLogs(zap.NewNop())
}

// This test checks that a change of the level while the process runs holds for
// libp2p's logs, too, in both directions.
func TestTheLevelOfLibp2psLogsMayChange(t *testing.T) {
	level := zap.NewAtomicLevelAt(zapcore.InfoLevel)
	core, logs := observer.New(zapcore.DebugLevel)
	filtered, err := zapcore.NewIncreaseLevelCore(core, level)
	require.NoError(t, err)
	p2p.RouteLogs(zap.New(filtered))
	defer p2p.RouteLogs(zap.NewNop())
	l := golog.Logger("test-c")
	for i, at := range []zapcore.Level{zapcore.InfoLevel, zapcore.DebugLevel, zapcore.InfoLevel} {
		level.SetLevel(at)
		l.Warnf("warning %d", i)
	}
	require.Len(t, logs.AllUntimed(), 1)
	require.Equal(t, "warning 1", logs.AllUntimed()[0].Message)
}

// This test checks that a line which comes again and again is told once a minute, with
// how often it came, and others beside it; and that what is remembered is bounded.
func TestLinesOfLibp2pThatComeAgainAreFolded(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	folded := p2p.ForeignCore(core)
	now := time.Unix(1000, 0)
	write := func(text string, after time.Duration) {
		now = now.Add(after)
		require.NoError(t, folded.Write(zapcore.Entry{Level: zapcore.ErrorLevel, LoggerName: "swarm2", Message: text, Time: now}, nil))
	}
	write("bad", 0)
	for range 59 {
		write("bad", time.Second)
	}
	write("worse", 0)
	write("bad", time.Second)
	write("bad", 2*time.Minute)
	var got []string
	for _, e := range logs.AllUntimed() {
		got = append(got, fmt.Sprint(e.Message, " ", e.ContextMap()["repeated"]))
	}
	require.Equal(t, []string{"bad <nil>", "worse <nil>", "bad 59", "bad <nil>"}, got)
	for i := range 10_000 {
		write(fmt.Sprint("line ", i), 0)
	}
	require.LessOrEqual(t, p2p.Folded(folded), 256)
}

// This test checks that running hosts register nothing with Prometheus's
// default registerer, which belongs to the program.
func TestNothingIsRegisteredGlobally(t *testing.T) {
	a, b := two(t)
	pair(t, a, b)
	families, err := prometheus.DefaultGatherer.Gather()
	require.NoError(t, err)
	for _, f := range families {
		name := f.GetName()
		require.True(t, strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_"), name)
	}
}

// This test checks that every counter has a name of its own.
func TestCountersAreNamed(t *testing.T) {
	n := prepare(t, p2p.NewNetwork(t))
	require.NotContains(t, n.Counters(), "")
	require.Len(t, n.Counters(), 29)
}
