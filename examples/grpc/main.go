// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// gRPC: a gRPC service whose instances are found by name. The service is the
// health service that comes with gRPC, and neither it nor its client knows of
// Arke. This example is a module of its own, so that Arke does not depend on gRPC.
//
// To run, beside a relay (arke relay --dev), in this folder:
//
//	go run . serve &
//	go run . serve &
//	go run . check
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/arkegrpc"
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
	case len(os.Args) == 2 && os.Args[1] == "check":
		err = check(ctx, c)
	default:
		err = errors.New("usage: grpc serve | grpc check")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serve is an instance of the service, until it is told to stop. Then it finishes
// the calls that it has.
func serve(ctx context.Context, c *arke.Conn) error {
	l, err := c.Listen("health")
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	go s.Serve(l)
	<-ctx.Done()
	s.GracefulStop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return c.Shutdown(ctx)
}

// check makes ten calls, which the instances share.
func check(ctx context.Context, c *arke.Conn) error {
	cc, err := grpc.NewClient("arke:///health", arkegrpc.DialOptions(c)...)
	if err != nil {
		return err
	}
	defer cc.Close()
	client := healthpb.NewHealthClient(cc)
	for range 10 {
		reply, err := client.Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
		if err != nil {
			return err
		}
		fmt.Println(reply.Status)
	}
	return nil
}
