// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arkehttp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/arkehttp"
	inner "github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/security"
)

// programs starts a network of two machines on loopback, each with a program: nodes, or
// attached to relays.
func programs(t *testing.T, attached bool) (server, caller *arke.Conn) {
	t.Helper()
	text, err := node.NewNetwork("test")
	require.NoError(t, err)
	network, err := security.ParseNetworkFile(text)
	require.NoError(t, err)
	var all [2]*arke.Conn
	var seeds []string
	for i := range all {
		if !attached {
			all[i], err = node.Join(t.Context(), node.NetworkText(text), node.Listen("127.0.0.1:0"), node.NoMDNS(), node.Seeds(seeds...))
			require.NoError(t, err)
			seeds = all[i].Addrs()
		} else {
			n, err := inner.New(inner.Config{Network: network, Listen: []string{"127.0.0.1:0"}, NoMDNS: true, Seeds: seeds})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, n.Close()) })
			require.NoError(t, n.Start(t.Context()))
			socket := filepath.Join(t.TempDir(), "s")
			r, err := relay.New(relay.Config{Node: n, Socket: socket})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, r.Close()) })
			require.NoError(t, r.Start(t.Context()))
			all[i], err = arke.Attach(t.Context(), arke.Socket(socket))
			require.NoError(t, err)
			seeds = n.Addrs()
		}
		c := all[i]
		t.Cleanup(func() { require.NoError(t, c.Close()) })
	}
	return all[0], all[1]
}

// closeAtOnce serves HTTP as http.Server does, but closes as soon as it has answered.
func closeAtOnce(l net.Listener, code int) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_ = (&http.Response{StatusCode: code, ProtoMajor: 1, ProtoMinor: 1, Request: r}).Write(c)
			}
		}()
	}
}

func TestAnAnswerThatDoesNotWaitForTheBodyArrives(t *testing.T) {
	// This test posts 4 MB to servers that answer without reading them, of net/http and
	// of another kind, which closes at once: each answer arrives, as over a plain
	// connection.
	for _, attached := range []bool{false, true} {
		for _, abrupt := range []bool{false, true} {
			t.Run(fmt.Sprintf("attached=%t/abrupt=%t", attached, abrupt), func(t *testing.T) {
				server, caller := programs(t, attached)
				l, err := server.Listen("web")
				require.NoError(t, err)
				const code = http.StatusRequestEntityTooLarge
				if abrupt {
					go closeAtOnce(l, code)
				} else {
					s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })}
					go s.Serve(l)
					t.Cleanup(func() { _ = s.Close() })
				}
				settled(t, caller, 1)
				transport := arkehttp.NewTransport(caller)
				for i := range 40 {
					r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://web/", bytes.NewReader(make([]byte, 4<<20)))
					require.NoError(t, err)
					resp, err := transport.RoundTrip(r)
					require.NoError(t, err, i)
					_, err = io.ReadAll(resp.Body)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					require.Equal(t, code, resp.StatusCode)
				}
				<-time.After(time.Second) // net/http's grace for the last one
			})
		}
	}
}
