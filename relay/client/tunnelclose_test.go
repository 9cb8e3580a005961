// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// This test ends a direction while messages wait for credit in it: the one under
// way goes on, whole, as with a node of one's own, those behind it were not sent,
// and then the other side sees the end.
func TestAnEndWaitsForTheMessageUnderWay(t *testing.T) {
	_, server, caller := twoClients(t, nil)
	read, came := make(chan struct{}), make(chan []byte, 3)
	serveTunnels(t, server, "chat", func(ctx context.Context, tn patterns.Tunnel) error {
		<-read
		for {
			m, err := tn.Receive(ctx)
			if err == io.EOF {
				close(came)
				return nil
			} else if err != nil {
				return err
			}
			came <- m
		}
	}, patterns.Limits{})
	tn := open(t, caller, "chat")
	large := bytes.Repeat([]byte("x"), 900<<10)
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- tn.Send(t.Context(), large) }()
	require.Never(t, func() bool { return len(first) > 0 }, 50*time.Millisecond, time.Millisecond)
	go func() { second <- tn.Send(t.Context(), []byte("behind")) }()
	require.Never(t, func() bool { return len(second) > 0 }, 50*time.Millisecond, time.Millisecond)
	require.NoError(t, tn.CloseSend())
	require.ErrorIs(t, <-second, patterns.ErrClosed)
	require.ErrorIs(t, tn.Send(t.Context(), nil), patterns.ErrClosed)
	close(read)
	require.NoError(t, <-first)
	require.True(t, bytes.Equal(large, <-came))
	require.Nil(t, <-came)
	_, err := tn.Receive(t.Context())
	require.ErrorIs(t, err, io.EOF)
	<-tn.Done()
	require.NoError(t, tn.Err())
}

// This test closes a tunnel while a message waits for credit: its sender does not
// wait any longer, and the other side does not take what came of it for a whole
// message, nor its end for one in good order.
func TestACloseWithinAMessageIsSeen(t *testing.T) {
	_, server, caller := twoClients(t, nil)
	read, ended := make(chan struct{}), make(chan error, 1)
	serveTunnels(t, server, "chat", func(ctx context.Context, tn patterns.Tunnel) error {
		<-read
		_, err := tn.Receive(ctx)
		ended <- err
		return nil
	}, patterns.Limits{})
	tn := open(t, caller, "chat")
	sent := make(chan error, 1)
	go func() { sent <- tn.Send(t.Context(), make([]byte, 900<<10)) }()
	require.Never(t, func() bool { return len(sent) > 0 }, 50*time.Millisecond, time.Millisecond)
	require.NoError(t, tn.Close())
	require.ErrorIs(t, <-sent, patterns.ErrClosed)
	close(read)
	require.ErrorIs(t, <-ended, io.ErrUnexpectedEOF)
}
