// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// message is the i-th of a tunnel's: both sides know what it must be.
func message(tunnel, i int) []byte {
	rng := rand.New(rand.NewPCG(uint64(tunnel), uint64(i)))
	size := rng.IntN(100)
	switch rng.IntN(6) {
	case 0:
		size = rng.IntN(200 << 10)
	case 1, 2:
		size = rng.IntN(4 << 10)
	}
	body := make([]byte, size)
	for at := 0; at < size; at += 7 {
		body[at] = byte(rng.Uint32())
	}
	return body
}

// This test has many tunnels at once, with messages of any size in both
// directions, of which some end in good order, some are reset, some lose a
// relay: what comes is always the beginning of what was sent, whole messages in
// their order, and all of it if the tunnel ended in good order.
func TestWhatComesIsTheBeginningOfWhatWasSent(t *testing.T) {
	p := newPlace(t)
	p.relay()
	far := newPlace(t)
	far.node = p.node
	doomed := far.relay()
	server, callers := p.client(), []patterns.Messenger{p.client(), far.client()}
	const messages = 24
	serveTunnels(t, server, "chat", func(ctx context.Context, tn patterns.Tunnel) error {
		var id, stop int
		fmt.Sscan(string(tn.Info().Open.Body), &id, &stop)
		_, err := exchange(ctx, tn, 2*id, 2*id+1, messages, stop)
		return err
	}, patterns.Limits{})

	var wg sync.WaitGroup
	results := make(chan error, 100)
	for id := range 24 {
		caller := callers[id%2]
		stop := messages + 1
		if id%3 == 0 {
			stop = id
		}
		wg.Go(func() {
			tn, err := caller.OpenTunnel(t.Context(), "chat", patterns.Message{Body: fmt.Appendf(nil, "%d %d", id, stop)})
			if err != nil {
				if id%2 == 0 { // else its relay is gone already
					results <- fmt.Errorf("tunnel %d: %w", id, err)
				}
				return
			}
			n, err := exchange(t.Context(), tn, 2*id+1, 2*id, messages, messages+1)
			switch {
			case errors.Is(err, errWrong):
				results <- fmt.Errorf("tunnel %d: %w", id, err)
			case id%2 == 0 && stop > messages && (err != nil || n != messages):
				results <- fmt.Errorf("tunnel %d got %d messages: %w", id, n, err)
			}
		})
	}
	time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
	require.NoError(t, doomed.Close())
	wg.Wait()
	close(results)
	for err := range results {
		require.NoError(t, err)
	}
}

// errWrong is returned for a message that was not sent, or not then.
var errWrong = errors.New("not what was sent")

// exchange sends the messages of one direction while it receives those of the
// other, and resets the tunnel after so many. It returns how many came.
func exchange(ctx context.Context, tn patterns.Tunnel, sends, receives, count, stop int) (n int, err error) {
	sent := make(chan error, 1)
	go func() {
		for i := range count {
			if err := tn.Send(ctx, message(sends, i)); err != nil {
				sent <- err
				return
			}
		}
		sent <- tn.CloseSend()
	}()
	for {
		m, err := tn.Receive(ctx)
		switch {
		case err == io.EOF:
			return n, <-sent
		case err != nil:
			<-sent
			return n, err
		case !bytes.Equal(m, message(receives, n)):
			tn.Reset(1, "wrong")
			<-sent
			return n, fmt.Errorf("%w: message %d of %d bytes", errWrong, n, len(m))
		}
		if n++; n >= stop {
			tn.Reset(2, "enough")
		}
	}
}
