// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"log/slog"
	"strings"
	"testing"

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

// This test checks that running hosts register nothing with Prometheus's
// default registerer, which belongs to the program.
func TestNothingIsRegisteredGlobally(t *testing.T) {
	network := newNetwork(t)
	a, b := start(t, network), start(t, network)
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
	n := prepare(t, newNetwork(t))
	require.NotContains(t, n.Counters(), "")
	require.Len(t, n.Counters(), 24)
}
