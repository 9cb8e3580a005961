// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Tcpforward: a TCP service becomes a member of a cluster, and a local port
// leads to it through tunnels: "arke expose" and "arke forward" in a few lines.
//
// To run:
//
//	arke relay --dev &
//	go run ./examples/tcpforward
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/conn"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

func main() {
	socket := flag.String("socket", cmp.Or(os.Getenv("ARKE_SOCKET"), client.DefaultSocket(os.Getenv("XDG_RUNTIME_DIR"))), "the relay's socket")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	app, err := client.New(client.Config{Socket: *socket})
	must(err)
	must(app.Start(ctx))
	defer app.Close()

	service := listen(func(c net.Conn) { io.Copy(c, c) })
	defer service.Close()
	expose := func(_ context.Context, t patterns.Tunnel) error {
		tcp, err := net.Dial("tcp", service.Addr().String())
		if err != nil {
			return err // resets the tunnel with this text
		}
		defer tcp.Close()
		join(tcp, conn.New(t))
		return nil
	}
	_, err = app.Serve(ctx, "echo", patterns.Service{Tunnel: expose}, patterns.Limits{})
	must(err)
	port := listen(func(tcp net.Conn) {
		if t, err := app.OpenTunnel(ctx, "echo", patterns.Message{}); err == nil {
			join(conn.New(t), tcp)
		}
	})
	defer port.Close()

	tcp, err := net.Dial("tcp", port.Addr().String())
	must(err)
	fmt.Fprintln(tcp, "is anybody there?")
	must(tcp.(*net.TCPConn).CloseWrite()) // and still hear the answer
	_, err = io.Copy(os.Stdout, tcp)
	must(err)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// listen serves connections on a free port of this machine.
func listen(serve func(net.Conn)) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); serve(c) }()
		}
	}()
	return l
}

// join copies both ways; the end of one way is passed on as such.
func join(a, b net.Conn) {
	var ways sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		ways.Go(func() {
			io.Copy(way[0], way[1])
			way[0].(interface{ CloseWrite() error }).CloseWrite()
		})
	}
	ways.Wait()
}
