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
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
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
	app, err := arke.Attach(ctx)
	if err != nil {
		return err
	}
	defer app.Close()

	const jobs, workers = 200, 4
	var done sync.WaitGroup
	done.Add(jobs)
	for range workers {
		work := arke.Service{Push: func(context.Context, *arke.Request) {
			time.Sleep(time.Millisecond)
			done.Done()
		}}
		// One job at a time, and five that wait: then this worker is full.
		if _, err := app.Serve(ctx, "workers", work, arke.Concurrency(1), arke.QueueLength(5)); err != nil {
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
func push(ctx context.Context, app *arke.Conn, job []byte) error {
	for {
		err := app.Push(ctx, "workers", arke.Message{Body: job})
		if !errors.Is(err, arke.ErrOverloaded) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}
