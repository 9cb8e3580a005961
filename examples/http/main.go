// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// HTTP: a web server whose instances are found by name. The handler and the
// client are those of net/http; nothing listens on a port.
//
// To run, beside a relay (arke relay --dev):
//
//	go run ./examples/http serve &
//	go run ./examples/http serve &
//	go run ./examples/http get /some/path
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/arkehttp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := arke.Attach(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	switch {
	case len(os.Args) == 2 && os.Args[1] == "serve":
		err = serve(ctx, c)
	case len(os.Args) == 3 && os.Args[1] == "get":
		err = get(ctx, c, os.Args[2])
	default:
		err = errors.New("usage: http serve | http get PATH")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serve is an instance of the server, until it is told to stop. Then it finishes
// the requests that it has.
func serve(ctx context.Context, c *arke.Conn) error {
	l, err := c.Listen("web")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "process %d says: %s %s\n", os.Getpid(), r.Method, r.URL.Path)
	})}
	go server.Serve(l)
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(server.Shutdown(ctx), c.Shutdown(ctx))
}

// get asks one instance: Arke picks it, by load.
func get(ctx context.Context, c *arke.Conn, path string) error {
	client := &http.Client{Transport: arkehttp.NewTransport(c, arke.WaitForMember()), Timeout: 10 * time.Second}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://web"+path, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}
