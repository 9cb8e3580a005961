// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package admin_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/admin"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a node and its relay.
type watched struct {
	ready    error
	draining bool
}

func (w *watched) Ready() error { return w.ready }

type fakeNode struct{ *watched }

func (fakeNode) Status() node.Status { return node.Status{Name: "a"} }
func (fakeNode) Ledgers() []*request.Ledger {
	return []*request.Ledger{request.Filled("geo", map[patterns.Outcome]int{patterns.OutcomeReply: 2})}
}

type fakeRelay struct{ *watched }

func (r fakeRelay) Status() relay.Status {
	return relay.Status{Draining: r.draining, Sessions: 3, Clients: []relay.ClientStatus{{Requests: 2, Away: true}, {Requests: 1}}}
}
func (fakeRelay) Describe() []byte { return []byte(`{"peer":"p"}`) }

// start serves what w is, with that address and token.
func start(t *testing.T, w *watched, address, token string) *admin.Server {
	t.Helper()
	s, err := admin.Start(admin.Config{Address: address, Token: token, Node: fakeNode{w}, Relay: fakeRelay{w}, Level: zap.NewAtomicLevel()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// ask returns status and body.
func ask(t *testing.T, s *admin.Server, method, path string, change func(*http.Request)) (int, string) {
	t.Helper()
	network, address := "tcp", s.Addr()
	if socket, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", socket
	}
	var d net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, network, address) }}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, nil)
	require.NoError(t, err)
	if change != nil {
		change(r)
	}
	resp, err := transport.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

func TestEachPageAnswers(t *testing.T) {
	// This test checks what each page says of a relay that is ready, one that is
	// not, and one that drains.
	w := &watched{}
	s := start(t, w, "127.0.0.1:0", "")
	for path, says := range map[string]string{
		"/healthz":      "ok",
		"/readyz":       "ok",
		"/status.json":  `{"peer":"p"}`,
		"/log-level":    `{"level":"info"}`,
		"/debug/pprof/": "goroutine",
		"/metrics":      `arke_requests_total{cluster="geo",kind="service",outcome="reply"} 2`,
	} {
		status, body := ask(t, s, http.MethodGet, path, nil)
		require.Equal(t, http.StatusOK, status, path)
		require.Contains(t, body, says, path)
	}
	_, body := ask(t, s, http.MethodGet, "/metrics", nil)
	for _, line := range []string{
		"arke_relay_clients 2", "arke_relay_clients_away 1", "arke_relay_client_requests 3", "arke_relay_sessions_total 3",
		`arke_dropped_total{layer="relay",reason="request.too_many"} 0`, "arke_ready 1", "process_resident_memory_bytes ", "go_goroutines ",
	} {
		require.Contains(t, body, "\n"+line)
	}
	w.ready = errors.New("no seed could be joined yet")
	status, body := ask(t, s, http.MethodGet, "/readyz", nil)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "no seed could be joined yet\n", body)
	w.ready, w.draining = nil, true
	status, body = ask(t, s, http.MethodGet, "/readyz", nil)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "the relay is draining\n", body)
	status, _ = ask(t, s, http.MethodGet, "/healthz", nil)
	require.Equal(t, http.StatusOK, status, "what drains is healthy")
}

func TestTheLogLevelChangesAtRunTime(t *testing.T) {
	// This test checks that PUT changes the level, and that nothing else is written.
	s := start(t, &watched{}, "127.0.0.1:0", "")
	status, body := ask(t, s, http.MethodPut, "/log-level", func(r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader(`{"level":"debug"}`))
	})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "debug")
	_, body = ask(t, s, http.MethodGet, "/log-level", nil)
	require.Contains(t, body, "debug")
	status, _ = ask(t, s, http.MethodPut, "/metrics", nil)
	require.Equal(t, http.StatusMethodNotAllowed, status)
}

func TestWhoMayAskIsLookedAt(t *testing.T) {
	// This test checks the token, and that no web page reaches the address through
	// a browser, by a name of its own that leads to loopback.
	const token = "sixteen bytes or more"
	guarded := start(t, &watched{}, "127.0.0.1:0", token)
	for header, want := range map[string]int{
		"": http.StatusUnauthorized, "Bearer wrong": http.StatusUnauthorized, token: http.StatusUnauthorized, "Bearer " + token: http.StatusOK,
	} {
		status, _ := ask(t, guarded, http.MethodGet, "/healthz", func(r *http.Request) { r.Header.Set("Authorization", header) })
		require.Equal(t, want, status, header)
	}
	open := start(t, &watched{}, "127.0.0.1:0", "")
	for host, want := range map[string]int{
		"localhost:1": http.StatusOK, "127.0.0.1": http.StatusOK, "[::1]:7": http.StatusOK, "evil.example": http.StatusForbidden, "127.0.0.1.evil.example:80": http.StatusForbidden,
	} {
		status, _ := ask(t, open, http.MethodGet, "/healthz", func(r *http.Request) { r.Host = host })
		require.Equal(t, want, status, host)
	}
}

func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	// This test checks what a browser says of the page that asks.
	s := start(t, &watched{}, "127.0.0.1:0", "")
	for site, want := range map[string]int{
		"": http.StatusOK, "none": http.StatusOK, "same-origin": http.StatusOK, "same-site": http.StatusForbidden, "cross-site": http.StatusForbidden,
	} {
		status, _ := ask(t, s, http.MethodGet, "/debug/pprof/cmdline", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", site) })
		require.Equal(t, want, status, site)
	}
}

func TestAHealthCheckIsAnsweredWhateverOthersHold(t *testing.T) {
	// This test checks that connections without a request, half a request, and more
	// profiles than there are places leave a place for the next.
	s := start(t, &watched{}, "127.0.0.1:0", "")
	for name, says := range map[string]string{
		"silent":   "",
		"half":     "GET /healthz HTTP/1.1\r\nHost: loc",
		"profiles": "GET /debug/pprof/trace?seconds=60 HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		for range 80 {
			c, err := net.Dial("tcp", s.Addr())
			require.NoError(t, err)
			defer c.Close()
			_, err = c.Write([]byte(says))
			require.NoError(t, err)
		}
		status, _ := ask(t, s, http.MethodGet, "/healthz", nil)
		require.Equal(t, http.StatusOK, status, name)
	}
}

func TestProfilesHaveABound(t *testing.T) {
	// This test checks that nobody keeps the relay busy with one request for an hour.
	s := start(t, &watched{}, "127.0.0.1:0", "")
	for _, page := range []string{"profile?seconds=3600", "trace?seconds=61", "heap?seconds=1e9", "profile?seconds=NaN"} {
		status, body := ask(t, s, http.MethodGet, "/debug/pprof/"+page, nil)
		require.Equal(t, http.StatusBadRequest, status, page)
		require.Contains(t, body, "at most 60", page)
	}
}

func TestAnAddressOffLoopbackNeedsAToken(t *testing.T) {
	// This test checks what is refused before anything listens.
	for address, want := range map[string]error{
		"0.0.0.0:0": admin.ErrNoToken, ":0": admin.ErrNoToken, "192.0.2.1:80": admin.ErrNoToken, "host.example:80": admin.ErrNoToken,
	} {
		_, err := admin.Start(admin.Config{Address: address, Node: fakeNode{&watched{}}, Relay: fakeRelay{&watched{}}})
		require.ErrorIs(t, err, want, address)
	}
	require.ErrorIs(t, admin.Config{Address: "127.0.0.1:1", Token: "short"}.Check(), admin.ErrWeakToken)
	require.NoError(t, admin.Config{Address: "0.0.0.0:1", Token: "sixteen bytes or more"}.Check())
	require.Error(t, admin.Config{Address: "nowhere"}.Check())
}

func TestASocketIsForItsOwnerOnly(t *testing.T) {
	// This test checks the mode of the socket, that it answers, and that it is gone
	// afterwards.
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	path := filepath.Join(dir, "admin.sock")
	s, err := admin.Start(admin.Config{Address: "unix:" + path, Node: fakeNode{&watched{}}, Relay: fakeRelay{&watched{}}})
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	status, _ := ask(t, s, http.MethodGet, "/healthz", nil)
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, s.Close())
	require.NoFileExists(t, path)
}
