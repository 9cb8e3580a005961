// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Attached: a member and a caller of the cluster "clock", both attached to the
// relay beside them. A program on another machine does exactly the same, with
// the relay there.
//
// To run:
//
//	arke relay --dev &
//	go run ./examples/attached
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

func main() {
	socket := flag.String("socket", cmp.Or(os.Getenv("ARKE_SOCKET"), client.DefaultSocket(os.Getenv("XDG_RUNTIME_DIR"))), "the relay's socket")
	flag.Parse()
	if err := run(*socket); err != nil {
		log.Fatal(err)
	}
}

func run(socket string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()

	app, err := client.New(client.Config{Socket: socket})
	if err != nil {
		return err
	}
	if err := app.Start(ctx); err != nil {
		return err
	}
	defer app.Close()

	tell := func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		zone, err := time.LoadLocation(string(r.Body))
		if err != nil {
			return patterns.Message{}, err // the caller gets it as a *patterns.RemoteError
		}
		midnight := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
		return patterns.Message{Body: []byte(midnight.In(zone).Format(time.RFC3339))}, nil
	}
	if _, err := app.Serve(ctx, "clock", patterns.HandlerFunc(tell), patterns.Limits{Concurrency: 8}); err != nil {
		return err
	}

	var how patterns.RequestReport
	reply, err := app.Request(ctx, "clock", patterns.Message{Body: []byte("UTC")},
		patterns.Idempotent(), patterns.Report(&how))
	if err != nil {
		return err
	}
	fmt.Println(string(reply.Body))
	fmt.Println("members tried:", how.Attempts)
	return nil
}
