// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

const (
	muteClients  = 600    // connections to the relay's port that say nothing
	hungCalls    = 20_000 // that one client's handlers do not answer
	hungCallers  = 10
	clientRounds = 5
)

// clients measures what programs beside a relay do to each other: how long it takes to
// attach over the socket while connections over TCP say nothing, and a request to one
// client while another one's handlers hang. Each beside a control: the same
// connections to a dummy, and as many calls that are answered.
func clients(m *meter) {
	dummy, err := net.Listen("tcp", "127.0.0.1:0")
	m.must(err)
	defer dummy.Close()
	port := harness.FreePort(m)
	token := filepath.Join(harness.Folder(m), "token")
	m.must(os.WriteFile(token, []byte("sixteen letters."), 0o600))
	r := harness.NewNetwork(m).Relay("a", harness.Flags("--client-listen", port, "--token-file", token))
	for range clientRounds {
		for _, arm := range []struct{ name, addr string }{{"control", dummy.Addr().String()}, {"attacked", port}} {
			took, refused := attaches(m, arm.addr, r)
			m.times("attach over the socket, "+arm.name, took)
			if refused > 0 {
				m.say("", "%d could not", refused)
			}
		}
	}
	for range clientRounds {
		for _, hang := range []bool{false, true} {
			hung(m, r, hang)
		}
	}
}

// attaches attaches for a second, one after the other, while mute connections are held
// at addr.
func attaches(m *meter, addr string, r *harness.Relay) (took []time.Duration, refused int) {
	for range muteClients {
		c, err := net.Dial("tcp", addr)
		m.must(err)
		defer c.Close()
	}
	for begin := time.Now(); time.Since(begin) < time.Second; {
		start := time.Now()
		c, err := client.New(client.Config{Socket: r.Socket()})
		m.must(err)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if err := c.Start(ctx); err != nil {
			refused++
		} else {
			took = append(took, time.Since(start))
		}
		cancel()
		c.Close()
	}
	return took, refused
}

// hung asks one client while another one's handlers hang, or do not.
func hung(m *meter, r *harness.Relay, hang bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	name := fmt.Sprintf("hang%v%p", hang, &ctx)
	slow, honest := r.Client(), r.Client()
	defer slow.Close()
	defer honest.Close()
	_, err := slow.Serve(ctx, name, patterns.HandlerFunc(func(of context.Context, q *patterns.Request) (patterns.Message, error) {
		if hang {
			<-of.Done()
		}
		return patterns.Message{}, nil
	}), patterns.Limits{Concurrency: hungCalls})
	m.must(err)
	_, err = honest.Serve(ctx, name+"echo", echo, patterns.Limits{})
	m.must(err)
	r.Sees(1, name)
	r.Sees(1, name+"echo")
	before := r.RSS()
	var wg sync.WaitGroup
	for range hungCallers {
		app := r.Client()
		defer app.Close()
		for range hungCalls / hungCallers {
			wg.Go(func() { _, _ = app.Request(ctx, name, patterns.Message{Body: make([]byte, 4<<10)}) })
		}
	}
	wait(2 * time.Second)
	caller := r.Client()
	defer caller.Close()
	var took []time.Duration
	failed := 0
	for range 500 {
		start := time.Now()
		if _, err := caller.Request(ctx, name+"echo", patterns.Message{Body: []byte("hi")}); err != nil {
			failed++
		}
		took = append(took, time.Since(start))
	}
	arm := "control"
	if hang {
		arm = "hanging"
	}
	m.times("request to another client, "+arm, took)
	m.say("", "%d failed; the relay grew by %.1f MB", failed, float64(r.RSS()-before)/1e6)
	cancel()
	wg.Wait()
}
