// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Embedded: two nodes in one process. One serves the cluster "greeter", the
// other asks it by name.
//
// To run:
//
//	go run ./examples/embedded
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/node"
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
	network, err := node.NewNetwork("example")
	if err != nil {
		return err
	}
	alice, err := join(ctx, network)
	if err != nil {
		return err
	}
	defer alice.Close()
	bob, err := join(ctx, network, alice.Addrs()...)
	if err != nil {
		return err
	}
	defer bob.Close()

	greet := func(_ context.Context, r *arke.Request) (arke.Message, error) {
		if len(r.Body) == 0 {
			return arke.Message{}, errors.New("whom shall I greet?")
		}
		return arke.Message{Body: append([]byte("hello, "), r.Body...)}, nil
	}
	if _, err := bob.Serve(ctx, "greeter", arke.HandlerFunc(greet)); err != nil {
		return err
	}

	reply, err := alice.Request(ctx, "greeter", arke.Message{Body: []byte("world")})
	if err != nil {
		return err
	}
	fmt.Println(string(reply.Body))

	// What goes wrong has a type: this handler ran, and refused.
	var refused *arke.RemoteError
	_, err = alice.Request(ctx, "greeter", arke.Message{})
	if errors.As(err, &refused) {
		fmt.Println("refused:", refused.Message)
	}
	return nil
}

// join makes a node on loopback. Seeds are where it finds the others.
func join(ctx context.Context, network []byte, seeds ...string) (*arke.Conn, error) {
	return node.Join(ctx, node.NetworkText(network), node.Listen("127.0.0.1:0"), node.NoMDNS(), node.Seeds(seeds...))
}
