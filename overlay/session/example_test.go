// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// realClock and atOnce are the seam of a program that runs in real time.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(_ string, d time.Duration, f func()) session.Timer {
	return time.AfterFunc(d, f)
}

type atOnce struct{}

func (atOnce) Wake(_ session.ExecKey, f func()) { f() }

func (atOnce) IntN(n int) int { return n / 2 }

// Two ends, and a connection that breaks under them: what was sent meanwhile, and
// what was lost with the connection, arrives once, in order.
func Example() {
	var wg sync.WaitGroup
	arrived := make(chan string, 100)
	end := func(handler session.Handler) *session.Session {
		return session.New(session.Config{
			Seam: session.Seam{
				Clock: realClock{}, Exec: atOnce{}, Rand: atOnce{},
				Go: func(f func()) bool { wg.Go(f); return true },
			},
			ID: 7, Epoch: time.Now(),
			LaneBytes: [wire.Lanes]int{1 << 20, 4 << 20, 4 << 20, 8 << 20}, MaxMessage: 16 << 20,
			Handler: handler,
		})
	}
	alice := end(func(wire.Lane, wire.Kind, []byte) bool { return false })
	bob := end(func(_ wire.Lane, _ wire.Kind, body []byte) bool {
		arrived <- string(body)
		return false
	})
	connect := func() {
		a, b := net.Pipe()
		// What Hellos are for: each side tells how many frames it has received.
		ours, theirs := alice.Detach(), bob.Detach()
		wg.Go(func() {
			_ = alice.Run(session.NewCarrier(session.NetConn(a), nil, nil), session.Greeting{Received: theirs})
		})
		wg.Go(func() {
			_ = bob.Run(session.NewCarrier(session.NetConn(b), nil, nil), session.Greeting{Received: ours})
		})
	}
	connect()
	for i := range 3 {
		_, _ = alice.Send(wire.LanePub, wire.KindPublish, fmt.Appendf(nil, "message %d", i))
		fmt.Println(<-arrived)
		alice.Break(session.ErrLost, session.CodeBroken)
		_, _ = alice.Send(wire.LanePub, wire.KindPublish, fmt.Appendf(nil, "sent while nothing carries it %d", i))
		connect()
		fmt.Println(<-arrived)
	}
	alice.End()
	bob.End()
	wg.Wait()
	// Output:
	// message 0
	// sent while nothing carries it 0
	// message 1
	// sent while nothing carries it 1
	// message 2
	// sent while nothing carries it 2
}
