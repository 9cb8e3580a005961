// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/bench/system"
)

// A message is marked with its publisher and its number in the first 8 bytes:
// 16 bits and 48 bits, of which the first says that it is a probe.
const (
	probe     = 1 << 47
	numbers   = 1<<48 - 1
	MarkBytes = 8
)

func mark(body []byte, publisher int, number uint64) {
	binary.BigEndian.PutUint64(body, uint64(publisher)<<48|number)
	body[len(body)-1] = byte(number)
}

func marked(body []byte) (publisher int, number uint64, whole bool) {
	head := binary.BigEndian.Uint64(body)
	number = head & numbers
	return int(head >> 48), number, body[len(body)-1] == byte(number)
}

// body returns a message of that size that does not compress.
func body(size int) []byte {
	b := make([]byte, size)
	state := uint32(2463534242)
	for i := range b {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		b[i] = byte(state)
	}
	return b
}

// publish is the role.
func publish(t *talk, sys system.System, job Job) error {
	seat, err := sys.Join(job.Setup)
	if err != nil {
		return err
	}
	defer seat.Close()
	window, err := newWindow(job.Setup.Window)
	if err != nil {
		return err
	}
	defer window.close()
	publishers := make([]*publisher, job.Streams+job.Idle)
	for i := range publishers {
		p, err := seat.Publisher()
		if err != nil {
			return err
		}
		publishers[i] = &publisher{Publisher: p, index: job.First + i, body: body(job.Setup.Bytes), window: window}
	}
	if err := t.say(Word{Is: "ready", Addr: seat.Addr(), Credit: window.addr()}); err != nil {
		return err
	}
	stop, probed := make(chan struct{}), make(chan error, 1)
	go func() {
		err := probeAll(publishers, stop)
		if err != nil { // nobody would hear of it otherwise: the driver waits for subscribers
			_ = t.say(Word{Is: "failed", Error: err.Error()})
		}
		probed <- err
	}()
	order, err := t.hear("go")
	close(stop)
	if err := errors.Join(err, <-probed); err != nil {
		return err
	}
	result, err := publishAll(publishers[:job.Streams], window, order.Span)
	if err != nil {
		return err
	}
	return t.done(result)
}

type publisher struct {
	system.Publisher
	index  int
	body   []byte
	window *window
	sent   atomic.Uint64
}

// probeAll publishes a probe of each publisher now and then, so that
// subscribers see when everything is connected.
func probeAll(publishers []*publisher, stop chan struct{}) error {
	for {
		for _, p := range publishers {
			mark(p.body, p.index, probe)
			if err := p.Publish(p.body); err != nil {
				return err
			}
		}
		for _, p := range publishers {
			if err := p.Flush(); err != nil {
				return err
			}
		}
		select {
		case <-stop:
			return nil
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func publishAll(publishers []*publisher, w *window, span Span) (Result, error) {
	sum := func() (n uint64) {
		for _, p := range publishers {
			n += p.sent.Load()
		}
		return n
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	errs := make([]error, len(publishers))
	sleepUntil(span.Start)
	for i, p := range publishers {
		wg.Go(func() { errs[i] = p.run(&stop) })
	}
	sleepUntil(span.From)
	before := sum()
	sleepUntil(span.To)
	result := Result{Count: sum() - before}
	stop.Store(true)
	w.close()
	wg.Wait()
	for _, p := range publishers {
		result.Sent = append(result.Sent, p.sent.Load())
	}
	result.Stalls = w.stalls()
	return result, errors.Join(errs...)
}

func (p *publisher) run(stop *atomic.Bool) error {
	for n := uint64(0); !stop.Load() && p.window.take(p.index, n); n++ {
		mark(p.body, p.index, n)
		if err := p.Publish(p.body); err != nil {
			return err
		}
		p.sent.Store(n + 1)
	}
	return p.Flush()
}
