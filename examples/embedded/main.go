// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Embedded: two programs' worth of Arke in one process. One node serves the
// cluster "greeter", the other one asks it, without knowing where it is.
//
// To run:
//
//	go run ./examples/embedded
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()

	// One key makes a network. Usually it is a file: `arke keygen`.
	network, err := security.GenerateNetworkFile("example", rand.Reader)
	if err != nil {
		return err
	}
	alice, err := start(ctx, network)
	if err != nil {
		return err
	}
	defer alice.Close()
	bob, err := start(ctx, network, alice.Status().Addrs...)
	if err != nil {
		return err
	}
	defer bob.Close()

	greet := func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		if len(r.Body) == 0 {
			return patterns.Message{}, errors.New("whom shall I greet?")
		}
		return patterns.Message{Body: append([]byte("hello, "), r.Body...)}, nil
	}
	if _, err := bob.Serve(ctx, "greeter", patterns.HandlerFunc(greet), patterns.Limits{}); err != nil {
		return err
	}

	reply, err := alice.Request(ctx, "greeter", patterns.Message{Body: []byte("world")})
	if err != nil {
		return err
	}
	fmt.Println(string(reply.Body))

	// What goes wrong has a type: this handler ran, and refused.
	var refused *patterns.RemoteError
	_, err = alice.Request(ctx, "greeter", patterns.Message{})
	if errors.As(err, &refused) {
		fmt.Println("refused:", refused.Message)
	}
	return nil
}

// start starts a node on loopback; seeds are where it finds the others.
func start(ctx context.Context, network security.NetworkFile, seeds ...string) (*node.Node, error) {
	n, err := node.New(node.Config{
		Network: network,
		Listen:  []string{"/ip4/127.0.0.1/tcp/0"},
		Seeds:   seeds,
		NoMDNS:  true,
	})
	if err != nil {
		return nil, err
	}
	return n, n.Start(ctx)
}
