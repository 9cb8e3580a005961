// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox_test

import (
	"context"
	"fmt"

	"github.com/arke-mesh/arke/internal/inbox"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// A client of a relay queues what its relay sends it, without an Engine.
func Example() {
	workers := overlay.NewWorkers(4)
	set, err := inbox.NewSet(inbox.SetConfig{Exec: workers, Clock: overlay.NewRealClock()})
	if err != nil {
		panic(err)
	}
	box, err := set.New(inbox.Config{Subscriber: printer{}, Options: patterns.SubscribeOptions{QueueLength: 100}, Key: 1})
	if err != nil {
		panic(err)
	}
	box.Put(&patterns.Publication{Topic: "weather.berlin", Body: []byte("rain")})
	box.Gap(patterns.Gap{Reason: patterns.GapRelay}) // nobody knows how many
	_ = box.Close(context.Background())
	set.Close()
	_ = workers.Close()
	// Output:
	// weather.berlin rain
	// 0 missing: relay
}

type printer struct{}

func (printer) ServePublication(p patterns.Publication) { fmt.Println(p.Topic, string(p.Body)) }
func (printer) ServeGap(g patterns.Gap)                 { fmt.Printf("%d missing: %s\n", g.Missed, g.Reason) }
