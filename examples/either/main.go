// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Either: the same program, embedded or attached. Everything after "open" uses
// an *arke.Conn and can't tell the difference.
//
// To run:
//
//	go run ./examples/either              a node of its own
//	arke relay --dev &
//	go run ./examples/either -attach      beside a relay
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/node"
)

func main() {
	attach := flag.Bool("attach", false, "attach to a relay")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := open(ctx, *attach)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := use(ctx, c); err != nil {
		log.Fatal(err)
	}
}

// open is all that differs. An embedded node costs one process less and a
// third of the time of a request; a relay is shared by programs in any
// language, keeps the keys out of them, and outlives their restarts.
func open(ctx context.Context, attach bool) (*arke.Conn, error) {
	if attach {
		return arke.Attach(ctx)
	}
	network, err := node.NewNetwork("example")
	if err != nil {
		return nil, err
	}
	return node.Join(ctx, node.NetworkText(network), node.Listen("127.0.0.1:0"), node.NoMDNS())
}

func use(ctx context.Context, c *arke.Conn) error {
	double := func(_ context.Context, r *arke.Request) (arke.Message, error) {
		return arke.Message{Body: append(r.Body, r.Body...)}, nil
	}
	if _, err := c.Serve(ctx, "double", arke.HandlerFunc(double)); err != nil {
		return err
	}
	reply, err := c.Request(ctx, "double", arke.Message{Body: []byte("tick ")})
	if err != nil {
		return err
	}
	fmt.Println(string(reply.Body))
	return c.Shutdown(ctx)
}
