// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Command probe is one process of package counts: a program that embeds a node,
// or is attached to a relay, or a relay. Orders come on standard input, a line
// each, and are answered by a line.
//
//	probe KEYFILE node [SEED]          answers with its address first
//	probe KEYFILE relay SOCKET [SEED]  likewise
//	probe KEYFILE client SOCKET
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/nowait"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/security"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("probe: it is started by the tests of package counts")
	}
	p := &probe{}
	switch kind, rest := args[1], args[2:]; kind {
	case "node":
		if err := p.embed(args[0], rest); err != nil {
			return err
		}
		p.app = p.node
		fmt.Println(p.node.Status().Addrs[0])
	case "relay":
		p.calls = nowait.NewCalls()
		if err := p.embed(args[0], rest[1:]); err != nil {
			return err
		}
		if err := p.relay(rest[0]); err != nil {
			return err
		}
		fmt.Println(p.node.Status().Addrs[0])
	case "client":
		c, err := client.New(client.Config{Socket: rest[0]})
		if err != nil {
			return err
		}
		if err := c.Start(context.Background()); err != nil {
			return err
		}
		p.app = c
		fmt.Println("attached")
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		answer, err := p.obey(in.Text())
		if err != nil {
			return err
		}
		fmt.Println(answer)
	}
	return nil
}

// probe is what the process runs.
type probe struct {
	node   *node.Node    // nil of a client
	calls  *nowait.Calls // of a relay
	app    patterns.Messenger
	tunnel patterns.Tunnel
	got    atomic.Int64 // messages, and those that were said to be missing
}

func (p *probe) embed(keyFile string, seeds []string) error {
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	network, err := security.ParseNetworkFile(text)
	if err != nil {
		return err
	}
	p.node, err = node.New(node.Config{Network: network, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Seeds: seeds, NoMDNS: true, Calls: p.calls})
	if err != nil {
		return err
	}
	return p.node.Start(context.Background())
}

func (p *probe) relay(socket string) error {
	r, err := relay.New(relay.Config{
		Node: p.node, Status: func() any { return p.node.Status() }, Peer: p.node.Self().String(), Socket: socket, Calls: p.calls,
	})
	if err != nil {
		return err
	}
	return r.Start(context.Background())
}

const (
	name  = "counts"
	bytes = 1 << 10 // of a message that is not said to be longer
)

// obey carries one order out: its first word, and numbers.
func (p *probe) obey(order string) (string, error) {
	var n, more int
	word, numbers, _ := strings.Cut(order, " ")
	_, _ = fmt.Sscan(numbers, &n, &more)
	ctx := context.Background()
	message := patterns.Message{Body: make([]byte, bytes)}
	switch word {
	case "count":
		counted, err := json.Marshal(p.count())
		return string(counted), err
	case "subscribe":
		_, err := p.app.Subscribe(ctx, name, p, patterns.SubscribeOptions{})
		return "done", err
	case "serve":
		_, err := p.app.Serve(ctx, name, patterns.Service{Request: echo, Tunnel: p.receive}, patterns.Limits{})
		return "done", err
	case "publish":
		message.Body = make([]byte, max(more, bytes))
		for range n {
			if err := p.app.Publish(ctx, name, message); err != nil {
				return "", err
			}
		}
		return "done", nil
	case "request":
		return "done", p.request(n, more, message)
	case "send":
		return "done", p.send(ctx, n, message)
	case "await":
		return "done", p.await(int64(n))
	}
	return "", fmt.Errorf("probe: ordered to %q", order)
}

func (p *probe) ServePublication(patterns.Publication) { p.got.Add(1) }
func (p *probe) ServeGap(g patterns.Gap)               { p.got.Add(int64(g.Missed)) }

func echo(_ context.Context, r *patterns.Request) (patterns.Message, error) {
	return patterns.Message{Body: r.Body}, nil
}

func (p *probe) receive(ctx context.Context, t patterns.Tunnel) error {
	for {
		if _, err := t.Receive(ctx); err != nil {
			return err
		}
		p.got.Add(1)
	}
}

// request sends n requests, so many at once.
func (p *probe) request(n, inFlight int, m patterns.Message) error {
	var left atomic.Int64
	left.Store(int64(n))
	errs := make([]error, inFlight)
	var wg sync.WaitGroup
	for i := range inFlight {
		wg.Go(func() {
			for left.Add(-1) >= 0 && errs[i] == nil {
				_, errs[i] = p.app.Request(context.Background(), name, m, patterns.WaitForMember())
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (p *probe) send(ctx context.Context, n int, m patterns.Message) (err error) {
	if p.tunnel == nil {
		if p.tunnel, err = p.app.OpenTunnel(ctx, name, patterns.Message{}, patterns.WaitForMember()); err != nil {
			return err
		}
	}
	for range n {
		if err := p.tunnel.Send(ctx, m.Body); err != nil {
			return err
		}
	}
	return nil
}

// await waits until n messages have come, or are known to be missing, since the
// process began.
func (p *probe) await(n int64) error {
	for deadline := time.Now().Add(20 * time.Second); p.got.Load() < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("probe: %d of %d messages came", p.got.Load(), n)
		}
	}
	return nil
}

// Counters is what a process has done so far.
type Counters struct {
	Allocations uint64 // objects on the heap
	Memory      uint64 // bytes of those
	Calls       uint64 // system calls that read or write
	Wakes       uint64 // times that a thread waited and was woken
	Runs        uint64 // times that a goroutine that had stopped was let run
	Frames      uint64 // sent to other nodes
	Bytes       uint64 // of those frames
}

func (p *probe) count() (c Counters) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	c.Allocations, c.Memory = memory.Mallocs, memory.TotalAlloc
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err == nil {
		c.Wakes = uint64(usage.Nvcsw)
	}
	c.Runs = runs()
	if text, err := os.ReadFile("/proc/self/io"); err == nil {
		for line := range strings.Lines(string(text)) {
			var n uint64
			if key, value, ok := strings.Cut(line, ":"); ok && (key == "syscr" || key == "syscw") {
				_, _ = fmt.Sscan(value, &n)
				c.Calls += n
			}
		}
	}
	if p.node != nil {
		s := p.node.Status()
		c.Frames = s.SentFrames
		for _, n := range s.SentBytes {
			c.Bytes += n
		}
	}
	return c
}

// runs is how often goroutines that had stopped were let run. The runtime counts every
// eighth time of each.
func runs() (n uint64) {
	samples := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(samples)
	for _, counted := range samples[0].Value.Float64Histogram().Counts {
		n += 8 * counted
	}
	return n
}
