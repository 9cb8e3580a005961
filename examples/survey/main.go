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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/arke-mesh/arke"
)

type offer struct {
	Shop  string
	Price int
}

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

	for shop, price := range map[string]int{"north": 12, "south": 9, "east": 0} {
		if err := open(ctx, app, shop, price); err != nil {
			return err
		}
	}

	var best *offer
	result, err := app.Survey(ctx, "shops", arke.Message{Body: []byte("a lamp")}, arke.Each(func(r arke.SurveyReply) error {
		var refusal *arke.RemoteError
		if errors.As(r.Err, &refusal) {
			fmt.Println("not here:", refusal.Message)
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
	}))
	if err != nil {
		return err
	}
	fmt.Printf("best of %d answers: %s asks %d\n", result.Count, best.Shop, best.Price)
	fmt.Println("everybody answered:", result.Complete)
	for _, m := range result.Missing {
		fmt.Println("missing:", m.Member, m.Err)
	}
	return nil
}

// open opens a shop. What it has not got costs 0.
func open(ctx context.Context, app *arke.Conn, shop string, price int) error {
	sell := func(_ context.Context, _ *arke.Request) (arke.Message, error) {
		if price == 0 {
			return arke.Message{}, errors.New("sold out")
		}
		body, err := json.Marshal(offer{shop, price})
		return arke.Message{Body: body}, err
	}
	_, err := app.Serve(ctx, "shops", arke.HandlerFunc(sell))
	return err
}
