// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/internal/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for one thing before it says that it hangs.
// No promise is about it: on a busy machine everything may take long.
const patience = time.Minute

// start runs a relay over a node without a network until the test ends. change
// may set what the test is about.
func start(t testing.TB, change func(*relay.Config)) (*relay.Relay, *fake.Node, relay.Config) {
	t.Helper()
	n := &fake.Node{}
	cfg := relay.Config{Node: n, Socket: filepath.Join(t.TempDir(), "arke", "relay.sock"), Peer: "peer"}
	if change != nil {
		change(&cfg)
	}
	r, err := relay.New(cfg)
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context()))
	t.Cleanup(func() {
		require.NoError(t, r.Close())
		require.NoError(t, n.Close())
	})
	return r, n, cfg
}

// binding is a client that does only what it is told, frame by frame.
type binding struct {
	t       testing.TB
	conn    net.Conn
	reader  *session.Reader
	welcome *session.Welcome
}

func dial(t testing.TB, network, address string) *binding {
	t.Helper()
	conn, err := net.Dial(network, address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &binding{t: t, conn: conn, reader: session.NewReader(conn, session.MaxFrame)}
}

// attach says Hello at the socket and expects a Welcome.
func attach(t testing.TB, socket string) *binding {
	t.Helper()
	b := dial(t, "unix", socket)
	b.send(hello())
	b.welcome = expect[*session.Welcome](b)
	return b
}

func hello() *session.Hello { return &session.Hello{MinVersion: 1, MaxVersion: 1, Client: "test"} }

func (b *binding) send(frames ...session.Frame) {
	b.t.Helper()
	var buf []byte
	for _, f := range frames {
		var err error
		buf, err = session.Append(buf, f)
		require.NoError(b.t, err)
	}
	require.NoError(b.t, b.conn.SetWriteDeadline(time.Now().Add(patience)))
	_, err := b.conn.Write(buf)
	require.NoError(b.t, err)
}

func (b *binding) next() session.Frame {
	b.t.Helper()
	require.NoError(b.t, b.conn.SetReadDeadline(time.Now().Add(patience)))
	k, body, err := b.reader.Next()
	require.NoError(b.t, err)
	f, err := session.Decode(k, body)
	require.NoError(b.t, err)
	return f
}

// expect returns the next frame, which must be an F. A DeliverCancel, which may
// come at any time, is skipped unless it is expected.
func expect[F session.Frame](b *binding) F {
	b.t.Helper()
	f := b.next()
	want, ok := f.(F)
	for !ok && f.Kind() == session.KindDeliverCancel {
		f = b.next()
		want, ok = f.(F)
	}
	require.True(b.t, ok, "got %T %+v", f, f)
	return want
}

// expectEnd expects the connection to end without another frame.
func (b *binding) expectEnd() {
	b.t.Helper()
	require.NoError(b.t, b.conn.SetReadDeadline(time.Now().Add(patience)))
	_, _, err := b.reader.Next()
	require.Error(b.t, err)
	require.NotErrorIs(b.t, err, os.ErrDeadlineExceeded)
}

// register makes the binding a member of the cluster.
func (b *binding) register(id uint64, cluster string) {
	b.t.Helper()
	b.send(&session.Register{ID: id, Cluster: cluster, Patterns: 15})
	require.Equal(b.t, id, expect[*session.Registered](b).ID)
}

func echo(_ context.Context, r *patterns.Request) (patterns.Message, error) {
	return patterns.Message{Headers: r.Headers, Body: r.Body}, nil
}

// serveEcho makes the node itself a member of the cluster.
func serveEcho(t testing.TB, n *fake.Node, cluster string) {
	t.Helper()
	_, err := n.Serve(t.Context(), cluster, patterns.HandlerFunc(echo), patterns.Limits{})
	require.NoError(t, err)
}

// eventually waits until what is true.
func eventually(t testing.TB, what func() bool, text string) {
	t.Helper()
	require.Eventually(t, what, patience, time.Millisecond, text)
}
