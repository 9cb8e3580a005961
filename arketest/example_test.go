// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arketest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/arketest"
)

// till is the code under test. It charges orders at cluster "bank".
type till struct {
	c     *arke.Conn
	again func(error) bool // after which errors it asks again
}

// pay charges one order. It asks three times at most.
func (p till) pay(order string) error {
	var err error
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		_, err = p.c.Request(ctx, "bank", arke.Message{Body: []byte(order)})
		cancel()
		if err == nil || !p.again(err) {
			return err
		}
	}
	return err
}

// afterAnyError is the bug: an order may have been charged although its reply was
// lost. Then the till charges it again.
func afterAnyError(error) bool { return true }

// ifItIsSafe is the repair.
func ifItIsSafe(err error) bool { return !arke.MaybeRan(err) }

// bank counts the charges of each order. Its members share it.
type bank struct {
	mu      sync.Mutex
	charged map[string]int // guarded by mu
}

// ServeRequest implements arke.Handler.
func (b *bank) ServeRequest(_ context.Context, r *arke.Request) (arke.Message, error) {
	time.Sleep(20 * time.Millisecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.charged[string(r.Body)]++
	return arke.Message{}, nil
}

// twice returns the orders that were charged more than once.
func (b *bank) twice() (orders []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for order, times := range b.charged {
		if times > 1 {
			orders = append(orders, order)
		}
	}
	return orders
}

// chargedTwice sells for five seconds. From the second to the fourth the link to one
// of two bank members is cut. It returns the orders that were charged twice.
func chargedTwice(t *testing.T, n *arketest.Network, again func(error) bool) []string {
	b := &bank{charged: map[string]int{}}
	for _, name := range []string{"bank-1", "bank-2"} {
		_, err := n.Join(name).Serve(context.Background(), "bank", b)
		require.NoError(t, err)
	}
	p := till{c: n.Join("shop"), again: again}
	n.Go("cut", func() {
		time.Sleep(2 * time.Second)
		n.Partition([]string{"shop"}, []string{"bank-1"})
		time.Sleep(2 * time.Second)
		n.Heal()
	})
	for i := 0; n.Elapsed() < 5*time.Second; i++ {
		_ = p.pay(fmt.Sprint("order ", i)) // the till tells its customer if it failed
	}
	return b.twice()
}

// A test that finds a bug in a program's retry logic. A till asks again after any
// error. The test cuts a link between the till and the bank. With most of ten seeds
// the cut comes between the charge of an order and its reply.
func Example() {
	// In a file of tests this is: func TestNoOrderIsChargedTwice(t *testing.T) { … }
	testNoOrderIsChargedTwice := func(t *testing.T) {
		arketest.Run(t, func(t *testing.T, n *arketest.Network) {
			require.Empty(t, chargedTwice(t, n, afterAnyError))
		}, arketest.Seeds(10))
	}
	_ = testNoOrderIsChargedTwice

	// It fails, and each seed that fails can be run again alone:
	//
	//	--- FAIL: TestNoOrderIsChargedTwice/seed=2 (0.01s)
	//	    Error: Should be empty, but was [order 62]
	//
	// With ifItIsSafe in the place of afterAnyError it passes.
}
