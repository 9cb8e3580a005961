// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

const (
	rotationsOfEach = 3
	warmSpan        = 5 * time.Second // that counts for nothing but losses
	steadySpan      = 10 * time.Second
	betweenHangups  = 500 * time.Millisecond
	// replacing is a little more than the time in which connections are replaced that
	// the old key has admitted.
	replacing     = 25 * time.Second
	rotationLimit = 20 * time.Second // of a request, and of one message through a tunnel and back
	tunnelBeat    = 100 * time.Millisecond
)

// The phases of the measurement.
const (
	warm     = iota
	steady   // before the first rotation
	changing // from then on
	phases
)

// rotations measures what requests and tunnels notice when the keys of the network and
// of a cluster are rotated under them: each time the file changes, and one relay after
// another is told to read it. Half of the work is for a cluster whose key is derived
// from the network's, half for one with a key of its own.
func rotations(m *meter) {
	network := harness.NewNetwork(m)
	vault := filepath.Join(harness.Folder(m), "vault.key")
	harness.Run(m, "keygen", "--cluster", "vault", "--out", vault).Ends(0)
	first := copyOf(m, network.Key())
	relays := network.Relays(4, harness.Flags("--cluster-key-file", vault))
	names := []string{"plain", "vault"}
	for _, r := range relays[1:3] {
		member := r.Client()
		for _, name := range names {
			_, err := member.Serve(context.Background(), name, patterns.Service{Request: echo, Tunnel: back}, patterns.Limits{})
			m.must(err)
		}
	}
	for _, name := range names {
		relays[0].Sees(2, name)
	}

	w := &rotationWork{names: names, app: relays[0].Client(), period: time.Second / time.Duration(m.perSecond), errors: map[string]int{}}
	stop := w.dig(m, m.tunnels)
	w.begin = time.Now()
	load := harness.StartLoad(m, m.perSecond, w.ask)
	wait(warmSpan)
	w.phase.Store(steady)
	wait(steadySpan)
	w.phase.Store(changing)
	rotate := func(args ...string) {
		harness.Run(m, append([]string{"key", "rotate"}, args...)...).Ends(0)
		for _, r := range relays {
			r.Hangup()
			wait(betweenHangups)
		}
	}
	for range rotationsOfEach {
		rotate("--key-file", network.Key())
		rotate("--key-file", vault, "--cluster", "vault")
		wait(replacing)
	}
	asked := load.Stop()
	stop()
	w.report(m, len(asked))
	broken := uint64(0)
	for _, r := range relays {
		m.must(r.Logs(fmt.Sprintf(`"seals": %d`, 1+rotationsOfEach)))
		broken += r.Dropped("p2p.key_retired")
	}
	m.say("connections that ended before they were replaced", "%d", broken)

	old := network.Relay("old", harness.Seed(relays...), harness.Flags("--key-file", first))
	wait(3 * time.Second)
	if old.KnowsAnybody() == nil {
		m.Errorf("a relay with the first file is let in")
	}
	m.say("a relay with the file of before", "is let in nowhere")
}

// copyOf copies a file, and returns the path of the copy.
func copyOf(m *meter, file string) string {
	content, err := os.ReadFile(file)
	m.must(err)
	path := filepath.Join(harness.Folder(m), "copy")
	m.must(os.WriteFile(path, content, 0o600))
	return path
}

// back sends each message of a tunnel back.
func back(ctx context.Context, t patterns.Tunnel) error {
	for {
		message, err := t.Receive(ctx)
		if err != nil {
			return nil
		}
		if err := t.Send(ctx, message); err != nil {
			return err
		}
	}
}

// rotationWork is what goes on while keys change, and what became of it.
type rotationWork struct {
	// Immutable.
	names  []string
	app    *client.Client
	begin  time.Time
	period time.Duration // between two requests

	phase atomic.Int32

	// Guarded by mu.
	mu       sync.Mutex
	lost     int
	resets   int
	requests [phases][]time.Duration
	chunks   [phases][]time.Duration // through tunnels and back
	errors   map[string]int
}

// ask sends one request. Its time counts from when it was due, so that nothing is gained
// by falling behind. One in two may not be repeated.
func (w *rotationWork) ask(n int) error {
	due := w.begin.Add(time.Duration(n) * w.period)
	var opts []patterns.RequestOption
	if n/2%2 == 0 {
		opts = append(opts, patterns.Idempotent())
	}
	err := harness.Echoed(w.app, rotationLimit, w.names[n%2], fmt.Sprint("request ", n), opts...)
	took, phase := time.Since(due), w.phase.Load()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.lost++
		w.errors[err.Error()]++
		return err
	}
	w.requests[phase] = append(w.requests[phase], took)
	return nil
}

// dig opens tunnels, and has each carry a message there and back ten times a second,
// until stop is called.
func (w *rotationWork) dig(m *meter, count int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range count {
		t, err := w.app.OpenTunnel(context.Background(), w.names[i%2], patterns.Message{}, patterns.WaitForMember())
		m.must(err)
		wg.Go(func() {
			defer t.Close()
			if err := w.carry(ctx, t, i); err != nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.resets++
				w.errors["tunnel: "+err.Error()]++
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

func (w *rotationWork) carry(ctx context.Context, t patterns.Tunnel, number int) error {
	tick := time.NewTicker(tunnelBeat)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		begin := time.Now()
		if err := harness.ThereAndBack(t, rotationLimit, fmt.Sprint(number, " ", n)); err != nil {
			return err
		}
		phase := w.phase.Load()
		w.mu.Lock()
		w.chunks[phase] = append(w.chunks[phase], time.Since(begin))
		w.mu.Unlock()
	}
	return nil
}

// report prints what became of everything, and fails if anything was lost.
func (w *rotationWork) report(m *meter, asked int) {
	took := time.Since(w.begin)
	m.say("requests", "%d, %.0f/s of %d/s", asked, float64(asked)/took.Seconds(), m.perSecond)
	m.times("request, before", w.requests[steady])
	m.times(fmt.Sprintf("request, through %d rotations of each kind", rotationsOfEach), w.requests[changing])
	m.times("tunnel, there and back, before", w.chunks[steady])
	m.times("tunnel, there and back, through the rotations", w.chunks[changing])
	m.say("requests lost, tunnels reset", "%d, %d of %d", w.lost, w.resets, m.tunnels)
	if w.lost+w.resets > 0 {
		m.Errorf("lost: %v", w.errors)
	}
}
