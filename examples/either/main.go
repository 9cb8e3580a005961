// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Either: the same program, embedded or attached. Everything after "open" is
// written against patterns.Messenger and can't tell the difference.
//
// To run:
//
//	go run ./examples/either              a node of its own
//	arke relay --dev &
//	go run ./examples/either -attach      beside a relay
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/security"
)

func main() {
	attach := flag.Bool("attach", false, "attach to a relay")
	socket := flag.String("socket", cmp.Or(os.Getenv("ARKE_SOCKET"), client.DefaultSocket(os.Getenv("XDG_RUNTIME_DIR"))), "the relay's socket")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	m, err := open(ctx, *attach, *socket)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	if err := use(ctx, m); err != nil {
		log.Fatal(err)
	}
}

// open is all that differs. An embedded node costs one process less and a
// third of the time of a request; a relay is shared by programs in any
// language, keeps the keys out of them, and outlives their restarts.
func open(ctx context.Context, attach bool, socket string) (patterns.Messenger, error) {
	if attach {
		c, err := client.New(client.Config{Socket: socket})
		if err != nil {
			return nil, err
		}
		return c, c.Start(ctx)
	}
	network, err := security.GenerateNetworkFile("example", rand.Reader)
	if err != nil {
		return nil, err
	}
	n, err := node.New(node.Config{Network: network, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, NoMDNS: true})
	if err != nil {
		return nil, err
	}
	return n, n.Start(ctx)
}

func use(ctx context.Context, m patterns.Messenger) error {
	double := func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		return patterns.Message{Body: append(r.Body, r.Body...)}, nil
	}
	if _, err := m.Serve(ctx, "double", patterns.HandlerFunc(double), patterns.Limits{}); err != nil {
		return err
	}
	reply, err := m.Request(ctx, "double", patterns.Message{Body: []byte("tick ")})
	if err != nil {
		return err
	}
	fmt.Println(string(reply.Body))
	return m.Shutdown(ctx)
}
