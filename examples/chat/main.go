// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Chat: a room is a member of the cluster "chat", and every guest has a tunnel
// to it. What a guest says goes to all others, in order.
//
// To run:
//
//	arke relay --dev &
//	go run ./examples/chat
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"sync"
	"time"

	"github.com/arke-mesh/arke"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	app, err := arke.Attach(ctx)
	if err == nil {
		err = run(ctx, app)
		app.Close()
	}
	if err != nil {
		log.Fatal(err)
	}
}

// room passes on what is said.
type room struct{ guests sync.Map } // *arke.Tunnel → true

// serve has one guest's tunnel until he leaves.
func (r *room) serve(ctx context.Context, t *arke.Tunnel) error {
	name := string(t.Info().Open.Body)
	r.guests.Store(t, true)
	defer r.guests.Delete(t)
	if err := t.Send(ctx, []byte("welcome, "+name)); err != nil {
		return err
	}
	for {
		said, err := t.Receive(ctx)
		if errors.Is(err, io.EOF) {
			return nil // he closed his side: so does the room
		} else if err != nil {
			return err
		}
		r.guests.Range(func(guest, _ any) bool {
			if guest != t {
				_ = guest.(*arke.Tunnel).TrySend(fmt.Appendf(nil, "%s: %s", name, said)) // who does not read misses it
			}
			return true
		})
	}
}

func run(ctx context.Context, app *arke.Conn) error {
	if _, err := app.Serve(ctx, "chat", arke.Service{Tunnel: new(room).serve}); err != nil {
		return err
	}
	var guests []*arke.Tunnel
	for _, name := range []string{"Ann", "Ben"} {
		t, err := app.OpenTunnel(ctx, "chat", arke.Message{Body: []byte(name)})
		if err != nil {
			return err
		}
		defer t.Close()
		welcome, err := t.Receive(ctx)
		if err != nil {
			return err
		}
		fmt.Println(string(welcome))
		guests = append(guests, t)
	}
	if err := guests[0].Send(ctx, []byte("is anybody here?")); err != nil {
		return err
	}
	line, err := guests[1].Receive(ctx)
	fmt.Println(string(line))
	return err
}
