// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/cmd/arke/internal/zones"
	"github.com/arke-mesh/arke/patterns"
)

// requestTime bounds one request; a longer one is lost.
const requestTime = 10 * time.Second

// caller asks the questions of the list and checks the replies.
type caller struct {
	messenger patterns.Messenger
	names     []string
	oracle    *zones.Oracle
	tally     *tally
	next      atomic.Int64
}

// ask asks from so many goroutines until enough says so or ctx ends, and
// waits for the last reply.
func (c *caller) ask(ctx context.Context, goroutines int, enough func(asked int) bool) {
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for ctx.Err() == nil {
				n := int(c.next.Add(1)) - 1
				if enough(n) {
					return
				}
				c.one(ctx, n)
			}
		})
	}
	wg.Wait()
}

// one asks question n. A request that our own end cut off does not count.
func (c *caller) one(ctx context.Context, n int) {
	question := zones.Nth(n, c.names, c.oracle)
	body, err := json.Marshal(question)
	if err != nil {
		panic("BUG: a question has no JSON: " + err.Error())
	}
	limited, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var how patterns.RequestReport
	begin := time.Now()
	reply, err := c.messenger.Request(limited, cluster, patterns.Message{Body: body}, patterns.Idempotent(), patterns.Report(&how))
	end := time.Now()
	if err != nil && ctx.Err() != nil {
		return
	}
	a := answer{attempts: how.Attempts, begin: begin, end: end, err: err}
	if err == nil {
		a.member = reply.Headers.Get(zones.HeaderMember)
		a.wrong = c.check(question, reply.Body)
	}
	c.tally.add(a)
}

// check compares a reply with the caller's own computation.
func (c *caller) check(q zones.Question, body []byte) error {
	want, err := c.oracle.Answer(q)
	if err != nil {
		return err
	}
	text, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if !bytes.Equal(text, body) {
		return fmt.Errorf("to %+v the reply was %q instead of %q", q, body, text)
	}
	return nil
}
