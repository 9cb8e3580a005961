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
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"github.com/arke-mesh/arke"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	app, err := arke.Attach(ctx)
	must(err)
	defer app.Close()

	// The service, which knows nothing of Arke, and a member that leads to it.
	service, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	serve(service, func(c net.Conn) { io.Copy(c, c) })
	member, err := app.Listen("echo")
	must(err)
	serve(member, func(c net.Conn) {
		if tcp, err := net.Dial("tcp", service.Addr().String()); err == nil {
			join(tcp, c)
		}
	})

	// A port that leads to some member.
	port, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	serve(port, func(tcp net.Conn) {
		if c, err := app.Dial(ctx, "echo"); err == nil {
			join(c, tcp)
		}
	})

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

// serve has f called for each connection.
func serve(l net.Listener, f func(net.Conn)) {
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); f(c) }()
		}
	}()
}

// join copies both ways; the end of one way is passed on as such.
func join(a, b net.Conn) {
	defer a.Close()
	var ways sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		ways.Go(func() {
			io.Copy(way[0], way[1])
			way[0].(interface{ CloseWrite() error }).CloseWrite()
		})
	}
	ways.Wait()
}
