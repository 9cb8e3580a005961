// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/node"
)

// both returns a program that is attached to a relay, and one that is a node.
func both(t *testing.T) map[string]*arke.Conn {
	t.Helper()
	const token = "open sesame, please"
	text, err := node.NewNetwork("test")
	require.NoError(t, err)
	r, _ := relayOf(t, text, token)
	attached, err := arke.Attach(t.Context(), arke.Address(r.Addr(), token))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, attached.Close()) })
	embedded, err := node.Join(t.Context(), node.NetworkText(text), node.Listen("127.0.0.1:0"), node.NoMDNS())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, embedded.Close()) })
	return map[string]*arke.Conn{"attached": attached, "embedded": embedded}
}

func TestAnOptionThatCantBeKeptIsRefusedAtOnce(t *testing.T) {
	// This test asks for limits that are just kept, and for one more: of those the
	// error says both numbers, and which flag of the relay allows more, if one does.
	for way, c := range both(t) {
		attached := way == "attached"
		serve := func(limits ...arke.ServeOption) error {
			m, err := c.Serve(t.Context(), "geo", arke.HandlerFunc(func(context.Context, *arke.Request) (arke.Message, error) {
				return arke.Message{}, nil
			}), limits...)
			if err == nil {
				require.NoError(t, m.Close(t.Context()))
			}
			return err
		}
		refused := func(err error, says ...string) {
			t.Helper()
			require.Error(t, err, way)
			for _, s := range says {
				require.ErrorContains(t, err, s, way)
			}
		}
		subscribe := func(bytes int) error {
			s, err := c.Subscribe(t.Context(), "news", arke.Buffer(1_000_000, bytes))
			if err == nil {
				require.NoError(t, s.Close(t.Context()))
			}
			return err
		}
		require.NoError(t, subscribe(0), way)
		require.NoError(t, subscribe(16<<20), way)
		if attached {
			err := subscribe(16<<20 + 1)
			require.ErrorIs(t, err, arke.ErrTooMany)
			refused(err, "16777217", "16777216", "--publication-bytes")
			refused(serve(arke.Concurrency(16_000), arke.QueueLength(385)), "16000 handlers", "queue of 385", "16384", "--max-deliveries")
			require.NoError(t, serve(arke.Concurrency(16_000), arke.QueueLength(384)))
		} else {
			require.NoError(t, subscribe(1<<30))
			require.NoError(t, serve(arke.Concurrency(32_768), arke.QueueLength(1_000_000), arke.Tunnels(24_576)))
		}
		require.NoError(t, serve(arke.Tunnels(16_384), arke.Capacity(65_536), arke.MaxMessage(16<<20)), way)
		refused(serve(arke.Concurrency(32_769)), "32769 handlers", "32768")
		refused(serve(arke.Tunnels(24_577)), "24577 tunnels", map[bool]string{true: "16384", false: "24576"}[attached])
		refused(serve(arke.Capacity(65_537)), "65537", "65536")
		refused(serve(arke.MaxMessage(16<<20+1)), "16777217", "16777216")
	}
}

func TestThousandClustersFitTheDefaults(t *testing.T) {
	// This test serves 1,000 clusters beside one relay with the defaults, once by ten
	// programs with 100 each and once by 1,000 programs with one each, and asks each.
	for _, programs := range []int{10, 1000} {
		t.Run(fmt.Sprint(programs), func(t *testing.T) {
			const token, clusters = "open sesame, please", 1000
			r := startRelay(t, token)
			conns := make([]*arke.Conn, programs)
			atOnce(t, programs, func(p int) {
				c, err := arke.Attach(t.Context(), arke.Address(r.Addr(), token))
				if !assert.NoError(t, err) {
					return
				}
				conns[p] = c
			})
			atOnce(t, clusters, func(n int) {
				name := fmt.Sprint("cluster-", n)
				_, err := conns[n%programs].Serve(t.Context(), name, arke.HandlerFunc(func(context.Context, *arke.Request) (arke.Message, error) {
					return arke.Message{Body: []byte(name)}, nil
				}))
				assert.NoError(t, err, name)
			})
			atOnce(t, clusters, func(n int) {
				name := fmt.Sprint("cluster-", n)
				m, err := conns[(n+1)%programs].Request(t.Context(), name, arke.Message{})
				assert.NoError(t, err, name)
				assert.Equal(t, name, string(m.Body))
			})
			atOnce(t, programs, func(p int) { assert.NoError(t, conns[p].Close()) })
		})
	}
}

// atOnce calls f with each number below n, some at once.
func atOnce(t *testing.T, n int, f func(int)) {
	t.Helper()
	var wg sync.WaitGroup
	var next atomic.Int64
	for range 32 {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
	require.False(t, t.Failed())
}
