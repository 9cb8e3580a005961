// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Topics: a publisher of temperatures, and three that listen: one to a room,
// one to a whole floor, and one to everything in the house.
//
// To run:
//
//	arke relay --dev &
//	go run ./examples/topics
package main

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// listener counts what it hears.
type listener struct {
	heard  atomic.Int64
	missed atomic.Uint64
	enough chan struct{} // closed when it has heard want messages
	want   int64
}

func (l *listener) hear(arke.Publication) {
	if l.heard.Add(1) == l.want {
		close(l.enough)
	}
}

// miss is called where messages are missing: nothing is lost silently.
func (l *listener) miss(g arke.Gap) { l.missed.Add(g.Missed) }

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	app, err := arke.Attach(ctx)
	if err != nil {
		return err
	}
	defer app.Close()

	rooms := []string{"house.ground.kitchen", "house.ground.hall", "house.first.bath"}
	const each = 100
	interests := []struct {
		pattern string
		rooms   int64
	}{{"house.ground.kitchen", 1}, {"house.ground.*", 2}, {"house.>", 3}}
	listeners := make([]*listener, len(interests))
	for i, in := range interests {
		listeners[i] = &listener{enough: make(chan struct{}), want: each * in.rooms}
		if _, err := app.SubscribeFunc(ctx, in.pattern, listeners[i].hear, arke.OnGap(listeners[i].miss)); err != nil {
			return err
		}
	}
	for i := range each {
		for _, room := range rooms {
			if err := app.Publish(ctx, room, arke.Message{Body: fmt.Appendf(nil, "%d °C", 18+i%5)}); err != nil {
				return err
			}
		}
	}
	for i, l := range listeners {
		select {
		case <-l.enough:
		case <-ctx.Done():
			return ctx.Err()
		}
		fmt.Printf("%s heard %d, missed %d\n", interests[i].pattern, l.heard.Load(), l.missed.Load())
	}
	return nil
}
