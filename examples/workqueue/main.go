// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Workqueue: jobs are pushed to whichever worker has time. A push returns when
// a worker's queue has the job, so a full house is noticed and nothing is lost
// on the way.
//
// To run:
//
//	arke relay --dev &
//	go run ./examples/workqueue
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"sync"
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

	const jobs, workers = 200, 4
	var done sync.WaitGroup
	done.Add(jobs)
	for range workers {
		work := patterns.Service{Push: func(context.Context, *patterns.Request) {
			time.Sleep(time.Millisecond)
			done.Done()
		}}
		// One job at a time, and five that wait: then this worker is full.
		limits := patterns.Limits{Concurrency: 1, QueueLength: 5}
		if _, err := app.Serve(ctx, "workers", work, limits); err != nil {
			return err
		}
	}
	for job := range jobs {
		if err := push(ctx, app, fmt.Appendf(nil, "job %d", job)); err != nil {
			return err
		}
	}
	done.Wait()
	fmt.Println("jobs done:", jobs)
	return nil
}

// push waits for room when every worker is full. The producer decides what to
// do then; this one is patient.
func push(ctx context.Context, app *client.Client, job []byte) error {
	for {
		err := app.Push(ctx, "workers", patterns.Message{Body: job})
		if !errors.Is(err, patterns.ErrOverloaded) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}
