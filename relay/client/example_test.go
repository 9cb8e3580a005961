// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/relay/internal/fake"
)

// A program that serves and asks, the same whether m is a client or an
// embedded node.
func Example() {
	ctx := context.Background()
	socket, stop := someRelay() // in real life: client.DefaultSocket(os.Getenv("XDG_RUNTIME_DIR"))
	defer stop()

	c, err := client.New(client.Config{Socket: socket})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		panic(err)
	}
	var m patterns.Messenger = c

	shout := patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		return patterns.Message{Body: append(r.Body, '!')}, nil
	})
	if _, err := m.Serve(ctx, "shout", shout, patterns.Limits{}); err != nil {
		panic(err)
	}
	reply, err := m.Request(ctx, "shout", patterns.Message{Body: []byte("hello")})
	fmt.Println(string(reply.Body), err)
	_, err = m.Request(ctx, "whisper", patterns.Message{})
	fmt.Println(err)
	// Output:
	// hello! <nil>
	// patterns: cluster has no members
}

// someRelay runs a relay without a network.
func someRelay() (socket string, stop func()) {
	dir, err := os.MkdirTemp("", "arke")
	if err != nil {
		panic(err)
	}
	socket = filepath.Join(dir, "relay.sock")
	r, err := relay.New(relay.Config{Node: &fake.Node{}, Socket: socket})
	if err == nil {
		err = r.Start(context.Background())
	}
	if err != nil {
		panic(err)
	}
	return socket, func() {
		r.Close()
		os.RemoveAll(dir)
	}
}
