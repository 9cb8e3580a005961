// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Survey: who has the best price? Three shops are members of the cluster
// "shops"; a survey asks all of them, and the answers come as they are given.
//
// To run:
//
//	arke relay --dev &
//	go run ./examples/survey
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

type offer struct {
	Shop  string
	Price int
}

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

	for shop, price := range map[string]int{"north": 12, "south": 9, "east": 0} {
		if err := open(ctx, app, shop, price); err != nil {
			return err
		}
	}

	var best *offer
	result, err := app.Survey(ctx, "shops", patterns.Message{Body: []byte("a lamp")}, func(r patterns.SurveyReply) error {
		if r.Err != nil {
			fmt.Println("not here:", r.Err.(*patterns.RemoteError).Message)
			return nil
		}
		var o offer
		if err := json.Unmarshal(r.Message.Body, &o); err != nil {
			return err
		}
		if best == nil || o.Price < best.Price {
			best = &o
		}
		return nil
	}, patterns.SurveyOptions{})
	if err != nil {
		return err
	}
	fmt.Printf("best of %d answers: %s asks %d\n", result.Replies, best.Shop, best.Price)
	fmt.Println("everybody answered:", result.Complete)
	for _, m := range result.Missing {
		fmt.Println("missing:", m.Member, m.Err)
	}
	return nil
}

// open opens a shop. What it has not got costs 0.
func open(ctx context.Context, app *client.Client, shop string, price int) error {
	sell := func(_ context.Context, _ *patterns.Request) (patterns.Message, error) {
		if price == 0 {
			return patterns.Message{}, errors.New("sold out")
		}
		body, err := json.Marshal(offer{shop, price})
		return patterns.Message{Body: body}, err
	}
	_, err := app.Serve(ctx, "shops", patterns.HandlerFunc(sell), patterns.Limits{})
	return err
}
