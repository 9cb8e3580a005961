// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// Two nodes: one serves a cluster, the other one calls it by name.
func Example() {
	ctx := context.Background()
	network, err := security.GenerateNetworkFile("example", rand.Reader) // as `arke keygen` does
	if err != nil {
		log.Fatal(err)
	}

	alice := startNode(ctx, network)
	defer alice.Close()
	shout := patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		return patterns.Message{Body: append(r.Body, '!')}, nil
	})
	if _, err := alice.Serve(ctx, "shout", shout, patterns.Limits{}); err != nil {
		log.Fatal(err)
	}

	bob := startNode(ctx, network, alice.Addrs()...)
	defer bob.Close()
	reply, err := bob.Request(ctx, "shout", patterns.Message{Body: []byte("hello")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(reply.Body))
	// Output: hello!
}

// Errors say whether anybody is there, whether somebody refused, and whether a
// handler may have run.
func ExampleNode_Request() {
	ctx := context.Background()
	network, err := security.GenerateNetworkFile("example", rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	n := startNode(ctx, network)
	defer n.Close()
	lookUp := patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		return patterns.Message{}, &patterns.RemoteError{Code: 404, Message: "no such place"}
	})
	if _, err := n.Serve(ctx, "geo", lookUp, patterns.Limits{}); err != nil {
		log.Fatal(err)
	}

	for _, cluster := range []string{"geo", "weather"} {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := n.Request(ctx, cluster, patterns.Message{Body: []byte("Atlantis")}, patterns.Idempotent())
		cancel()
		var remote *patterns.RemoteError
		switch {
		case err == nil:
			fmt.Println(cluster, "answered")
		case errors.As(err, &remote):
			fmt.Println(cluster, "refused:", remote.Message)
		case errors.Is(err, patterns.ErrNoMembers):
			fmt.Println(cluster, "is served by nobody")
		default:
			fmt.Println(cluster, "failed:", err)
		}
	}
	// Output:
	// geo refused: no such place
	// weather is served by nobody
}

// A node that is shut down finishes what it accepted; callers go elsewhere.
func ExampleNode_Shutdown() {
	ctx := context.Background()
	network, err := security.GenerateNetworkFile("example", rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	n := startNode(ctx, network)
	started := make(chan struct{})
	slow := patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
		close(started)
		time.Sleep(100 * time.Millisecond)
		return patterns.Message{Body: []byte("done")}, nil
	})
	if _, err := n.Serve(ctx, "work", slow, patterns.Limits{}); err != nil {
		log.Fatal(err)
	}
	replied := make(chan string)
	go func() {
		reply, err := n.Request(ctx, "work", patterns.Message{})
		replied <- fmt.Sprint(string(reply.Body), " ", err)
	}()
	<-started
	go n.Shutdown(ctx)
	fmt.Println(<-replied)
	fmt.Println(n.Close())
	// Output:
	// done <nil>
	// <nil>
}

// startNode starts a node on the loopback interface. Real ones need neither
// Listen nor, on a local network, Seeds: they find each other by mDNS.
func startNode(ctx context.Context, network security.NetworkFile, seeds ...string) *node.Node {
	n, err := node.New(node.Config{
		Network: network,
		Listen:  []string{"/ip4/127.0.0.1/tcp/0"},
		Seeds:   seeds,
		NoMDNS:  true,
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := n.Start(ctx); err != nil {
		log.Fatal(err)
	}
	return n
}
