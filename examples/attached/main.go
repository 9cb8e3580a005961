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
	"context"
	"fmt"
	"log"
	"time"

	"github.com/arke-mesh/arke"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := arke.Attach(ctx)
	if err != nil {
		return err
	}
	defer c.Close()

	tell := func(_ context.Context, r *arke.Request) (arke.Message, error) {
		zone, err := time.LoadLocation(string(r.Body))
		if err != nil {
			return arke.Message{}, err // the caller gets it as an *arke.RemoteError
		}
		midnight := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
		return arke.Message{Body: []byte(midnight.In(zone).Format(time.RFC3339))}, nil
	}
	if _, err := c.Serve(ctx, "clock", arke.HandlerFunc(tell), arke.Concurrency(8)); err != nil {
		return err
	}

	var how arke.Report
	reply, err := c.Request(ctx, "clock", arke.Message{Body: []byte("UTC")}, arke.Idempotent(), arke.ReportTo(&how))
	if err != nil {
		return err
	}
	fmt.Println(string(reply.Body))
	fmt.Println("members tried:", how.Attempts)
	return nil
}
