// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
)

func TestTunnelsCrossAtThePaceOfTheReader(t *testing.T) {
	// This test opens tunnels to the other network: messages of all sizes come back in
	// order, the opening's headers and body arrive, ends and resets keep their meaning, a
	// reader that does not read stops the writer, a limit is refused by name, and with the
	// gateway they end; opened by the gateway, and passed on sealed.
	t.Run("resealed", func(t *testing.T) {
		eu, us := newCloud(t, "eu"), newCloud(t, "us")
		tunnelsCross(t, eu, us, eu.node(), us.node(), lent(eu, us, "geo"))
	})
	t.Run("sealed", func(t *testing.T) {
		eu, us := newCloud(t, "eu"), newCloud(t, "us")
		keys := vaultKeys(t, "geo")
		tunnelsCross(t, eu, us, eu.node(keys), us.node(keys), lentSealed(eu, us, keys))
	})
}

func tunnelsCross(t *testing.T, eu, us *cloud, member, caller *node.Node, crossing gateway.Crossing) {
	t.Helper()
	read := make(chan struct{})
	serve(t, member, "geo", patterns.Service{Tunnel: func(ctx context.Context, tu patterns.Tunnel) error {
		switch string(tu.Info().Open.Body) {
		case "refuse":
			return &patterns.RemoteError{Code: 123, Message: "not today"}
		case "slow":
			<-read
		}
		return tunnelEcho(ctx, tu)
	}})
	crossing.Limits.Tunnels = 3
	g := join(t, []gateway.Crossing{crossing}, eu, us)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	open := func(how string) patterns.Tunnel {
		tu, err := caller.OpenTunnel(ctx, "geo", patterns.Message{Body: []byte(how)}, patterns.WaitForMember())
		require.NoError(t, err)
		return tu
	}
	echo := open("echo")
	go func() {
		for i := range 300 {
			if echo.Send(ctx, bytes.Repeat([]byte{byte(i)}, i*i)) != nil {
				return
			}
		}
		_ = echo.CloseSend()
	}()
	for i := range 300 {
		m, err := echo.Receive(ctx)
		require.NoError(t, err)
		require.Equal(t, bytes.Repeat([]byte{byte(i)}, i*i), m)
	}
	_, err := echo.Receive(ctx)
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, echo.Close())

	_, err = open("refuse").Receive(ctx)
	var reset *patterns.TunnelError
	require.ErrorAs(t, err, &reset)
	require.Equal(t, patterns.TunnelError{Code: 123, Message: "not today"}, *reset)

	slow := open("slow")
	sent := 0
	for {
		try, stop := context.WithTimeout(ctx, 300*time.Millisecond)
		err := slow.Send(try, make([]byte, 32<<10))
		stop()
		if err != nil {
			break
		}
		sent++
		require.Less(t, sent, 1000, "nothing stops the writer")
	}
	close(read)
	require.NoError(t, slow.Reset(7, "enough"))
	require.Eventually(t, func() bool { return g.Status().Crossings[0].Tunnels == 0 }, patience, 5*time.Millisecond)

	last := open("echo")
	open("echo")
	open("echo")
	_, err = caller.OpenTunnel(ctx, "geo", patterns.Message{})
	require.ErrorIs(t, err, patterns.ErrOverloaded)
	require.NotZero(t, g.Status().Crossings[0].Refused["tunnels_limit"])
	require.NoError(t, g.Close())
	_, err = last.Receive(ctx)
	require.ErrorIs(t, err, patterns.ErrInterrupted, "a gateway that is gone is a node that is gone")
}
