// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arketest_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/arketest"
)

// who starts two members of cluster "who", geo-1 and geo-2, which say their names,
// and returns a caller that knows both.
func who(t *testing.T, n *arketest.Network) *arke.Conn {
	t.Helper()
	for _, name := range []string{"geo-1", "geo-2"} {
		_, err := n.Join(name).Serve(t.Context(), "who", arke.HandlerFunc(func(context.Context, *arke.Request) (arke.Message, error) {
			return arke.Message{Body: []byte(name)}, nil
		}))
		require.NoError(t, err)
	}
	caller := n.Join("caller")
	for {
		all, _ := caller.Members(t.Context(), "who")
		if len(all) == 2 {
			return caller
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// answers asks that often, every 10 ms, and counts who answered. Nothing fails.
func answers(t *testing.T, caller *arke.Conn, count int) map[string]int {
	t.Helper()
	got := map[string]int{}
	for range count {
		reply, err := caller.Request(t.Context(), "who", arke.Message{}, arke.Idempotent())
		require.NoError(t, err)
		got[string(reply.Body)]++
		time.Sleep(10 * time.Millisecond)
	}
	return got
}

func TestFaultsDoWhatTheirNamesSay(t *testing.T) {
	// This test asks two members while one of them falls silent, or is paused for a
	// while, or its connections break, or its link is slow, and checks who answers.
	for _, c := range []struct {
		name  string
		fault func(t *testing.T, n *arketest.Network, caller *arke.Conn)
	}{
		{"silence", func(t *testing.T, n *arketest.Network, caller *arke.Conn) {
			n.Silence("geo-1")
			answers(t, caller, 100) // it is noticed
			require.Equal(t, map[string]int{"geo-2": 50}, answers(t, caller, 50))
		}},
		{"pause", func(t *testing.T, n *arketest.Network, caller *arke.Conn) {
			n.Pause("geo-1")
			answers(t, caller, 200)
			require.Equal(t, map[string]int{"geo-2": 50}, answers(t, caller, 50))
			n.Resume("geo-1")
			time.Sleep(10 * time.Second)
			require.Len(t, answers(t, caller, 100), 2)
		}},
		{"break", func(t *testing.T, n *arketest.Network, caller *arke.Conn) {
			for range 10 {
				n.Break([]string{"caller"}, []string{"geo-1", "geo-2"})
				answers(t, caller, 10)
			}
			time.Sleep(30 * time.Second) // a member that failed is left alone for a while
			require.Len(t, answers(t, caller, 100), 2)
		}},
		{"slow link", func(t *testing.T, n *arketest.Network, caller *arke.Conn) {
			for _, name := range []string{"geo-1", "geo-2"} {
				n.SetLink("caller", name, arketest.Link{Latency: 100 * time.Millisecond})
			}
			begin := n.Elapsed()
			_, err := caller.Request(t.Context(), "who", arke.Message{})
			require.NoError(t, err)
			require.GreaterOrEqual(t, n.Elapsed()-begin, 200*time.Millisecond)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			arketest.Run(t, func(t *testing.T, n *arketest.Network) {
				caller := who(t, n)
				require.Len(t, answers(t, caller, 50), 2)
				c.fault(t, n, caller)
			})
		})
	}
}

func TestASeedDecidesARun(t *testing.T) {
	// This test measures, in virtual time, ten requests over links with jitter: the
	// same seed has the same time, another one has another. The nodes log.
	var log bytes.Buffer
	measure := func(seed uint64) (took time.Duration) {
		arketest.Run(t, func(t *testing.T, n *arketest.Network) {
			caller := who(t, n)
			begin := n.Elapsed()
			answers(t, caller, 10)
			took = n.Elapsed() - begin
		}, arketest.Seed(seed), arketest.LogTo(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
		return took
	}
	require.Equal(t, measure(7), measure(7))
	require.NotEqual(t, measure(7), measure(8))
	require.NotZero(t, log.Len())
}
