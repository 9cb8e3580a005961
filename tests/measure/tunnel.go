// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/tests/harness"
)

// tunnelSpan is how long each stream runs.
const tunnelSpan = 2 * time.Second

// tunnels measures the bytes per second that one tunnel carries, beside one
// bare libp2p stream in the same run.
func tunnels(m *meter) {
	near, far := m.nodes("pipe")
	relays := harness.NewNetwork(m).Relays(2)
	farApp := relays[1].Client()
	m.drains(far)
	m.drains(farApp)
	relays[0].Sees(1, "drain")
	nearApp := relays[0].Client()
	for range 2 { // so that none profits from the order
		for _, bytes := range []int{1 << 10, 64 << 10} {
			m.rate("bare libp2p stream", bytes, m.bareStream(bytes))
			m.rate("tunnel, embedded nodes", bytes, m.throughTunnel(near, bytes))
			m.rate("tunnel, through two relays", bytes, m.throughTunnel(nearApp, bytes))
		}
	}
}

// rate prints what so many messages a second are.
func (m *meter) rate(what string, bytes int, perSecond float64) {
	m.say(fmt.Sprintf("%s, %d B", what, bytes), "%8.0f messages/s  %7.1f MB/s", perSecond, perSecond*float64(bytes)/1e6)
}

// drains serves a cluster whose tunnels are read to their end and then told
// how many bytes came.
func (m *meter) drains(member patterns.Messenger) {
	drain := func(ctx context.Context, t patterns.Tunnel) error {
		var sum int64
		for {
			message, err := t.Receive(ctx)
			if errors.Is(err, io.EOF) {
				return t.Send(ctx, fmt.Append(nil, sum))
			} else if err != nil {
				return err
			}
			sum += int64(len(message))
		}
	}
	_, err := member.Serve(context.Background(), "drain", patterns.Service{Tunnel: drain}, patterns.Limits{})
	m.must(err)
}

// throughTunnel returns the messages per second that arrive.
func (m *meter) throughTunnel(caller patterns.Messenger, bytes int) float64 {
	ctx := context.Background()
	t, err := caller.OpenTunnel(ctx, "drain", patterns.Message{}, patterns.WaitForMember())
	m.must(err)
	message := make([]byte, bytes)
	begin, sent := time.Now(), 0
	for ; time.Since(begin) < tunnelSpan; sent++ {
		m.must(t.Send(ctx, message))
	}
	m.must(t.CloseSend())
	sum, err := t.Receive(ctx)
	m.must(err)
	took := time.Since(begin)
	if want := fmt.Sprint(sent * bytes); string(sum) != want {
		m.Fatalf("sent %s bytes, %s came", want, sum)
	}
	m.must(t.Close())
	return float64(sent) / took.Seconds()
}

// bareStream does the same over one stream of plain libp2p.
func (m *meter) bareStream(bytes int) float64 {
	near, far := m.plainSwarm(), m.plainSwarm()
	far.SetStreamHandler(func(s network.Stream) {
		defer s.Close()
		n, _ := io.CopyBuffer(struct{ io.Writer }{io.Discard}, s, make([]byte, 64<<10))
		fmt.Fprint(s, n)
	})
	near.Peerstore().AddAddrs(far.LocalPeer(), far.ListenAddresses(), time.Hour)
	stream, err := near.NewStream(context.Background(), far.LocalPeer())
	m.must(err)
	message := make([]byte, bytes)
	begin, sent := time.Now(), 0
	for ; time.Since(begin) < tunnelSpan; sent++ {
		_, err := stream.Write(message)
		m.must(err)
	}
	m.must(stream.CloseWrite())
	_, err = io.ReadAll(stream)
	m.must(err)
	return float64(sent) / time.Since(begin).Seconds()
}
