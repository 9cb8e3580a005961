// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/node"
)

// The examples share two nodes on the loopback interface.
var (
	pair    = sync.OnceValue(startPair)
	started bool // by pair
)

func startPair() [2]*arke.Conn {
	started = true
	network, err := node.NewNetwork("example")
	must(err)
	var nodes [2]*arke.Conn
	var seeds []string
	for i := range nodes {
		nodes[i] = startNode(network, seeds...)
		seeds = nodes[i].Addrs()
	}
	settle(nodes[0], nodes[1])
	return nodes
}

func startNode(network []byte, seeds ...string) *arke.Conn {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := node.Join(ctx, node.NetworkText(network), node.Listen("127.0.0.1:0"), node.NoMDNS(), node.Seeds(seeds...))
	must(err)
	return n
}

// settle waits until both sides see each other: a cluster that one serves is
// found by the other.
func settle(a, b *arke.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := a.Serve(ctx, "settle", arke.Service{Push: func(context.Context, *arke.Request) {}})
	must(err)
	must(b.Push(ctx, "settle", arke.Message{}, arke.WaitForMember()))
	must(r.Close(ctx))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if started {
		for _, c := range pair() {
			must(c.Close())
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
