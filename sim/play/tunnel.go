// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// journey is a tunnel from the caller's side.
type journey struct {
	p       *player
	life    *life
	spec    scenario.Work
	record  history.Tunnel
	tunnel  patterns.Tunnel
	ctx     context.Context //nolint:containedctx // bounds all of the tunnel, on two goroutines
	sent    chan struct{}   // closed when everything is sent, or can't be
	sendErr error           // set before sent is closed
}

// travel opens a tunnel, sends what the work says, receives what comes back,
// and waits for the end.
func (p *player) travel(l *life, t history.Tunnel, w scenario.Work) {
	wait := orWait(w)
	t.Sent, t.Size, t.Messages = p.level.Now(), orSize(w), w.Messages
	if t.Messages == 0 {
		t.Messages = defaultMessages
	}
	t.Deadline, t.Opened, t.Ended, t.Own = t.Sent+wait, -1, -1, p.crew.custom(t.Cluster)
	p.record.opening(t)
	ctx, cancel := l.Within(wait)
	defer cancel()
	j := &journey{p: p, life: l, spec: w, record: t, ctx: ctx, sent: make(chan struct{})}
	at := time.Duration(-1)
	tunnel, err := l.OpenTunnel(ctx, t.Cluster, patterns.Message{Body: body(t.ID, 8)})
	if err == nil {
		j.tunnel = tunnel
		p.record.opened(t.ID, tunnel.Info().Member, p.level.Now())
		p.at(p.level.Now(), fmt.Sprintf("%s %x", t.Work, t.ID), func() { j.send(0) })
		if err = j.receive(); err != nil { // then sending is over, too
			_ = tunnel.Reset(patterns.CodeUnknown, "the caller gives up")
			at = p.level.Now()
		}
		<-j.sent
		err = j.finish(err)
	}
	if at < 0 {
		at = p.level.Now()
	}
	outcome, detail := ending(err)
	p.record.arrived(t.ID, outcome, detail, at)
	p.level.Note(t.Caller, fmt.Sprintf("%x %s", t.ID, outcome))
}

// send sends from message n on, at the pace of the work.
func (j *journey) send(n int) {
	id := j.record.ID
	for ; n < j.record.Messages; n++ {
		j.p.record.tries(id, forth)
		if err := j.tunnel.Send(j.ctx, content(id, n, j.record.Size)); err != nil {
			j.sendErr = err
			close(j.sent)
			return
		}
		j.p.record.sentOne(id, forth)
		if every := j.spec.Every.D(); every > 0 && n+1 < j.record.Messages {
			j.p.at(j.p.level.Now()+every, fmt.Sprintf("%s %x", j.record.Work, id), func() { j.send(n + 1) })
			return
		}
	}
	if j.sendErr = j.tunnel.CloseSend(); j.sendErr == nil {
		j.p.record.closed(id, forth)
	}
	close(j.sent)
}

// receive takes what comes back until it ends.
func (j *journey) receive() error {
	for {
		body, err := j.tunnel.Receive(j.ctx)
		switch {
		case errors.Is(err, io.EOF):
			j.p.record.end(j.record.ID, back)
			return nil
		case err != nil:
			return err
		}
		j.p.record.received(j.record.ID, back, body, j.p.level.Now())
	}
}

// finish waits for the end of both directions and says how it was.
func (j *journey) finish(err error) error {
	if err == nil {
		err = j.sendErr
	}
	if err != nil {
		_ = j.tunnel.Reset(patterns.CodeUnknown, "the caller gives up")
	}
	_ = j.tunnel.Close()
	if err != nil {
		return err
	}
	select {
	case <-j.tunnel.Done():
		return j.tunnel.Err()
	case <-j.ctx.Done():
		return &patterns.DeadlineError{Cause: context.Cause(j.ctx), MaybeRan: true}
	}
}

// ending names how a tunnel ended.
func ending(err error) (outcome, detail string) {
	var reset *patterns.TunnelError
	switch {
	case err == nil:
		return "done", ""
	case errors.As(err, &reset):
		return "reset", reset.Message
	}
	outcome, _, detail = outcomeOf(err)
	return outcome, detail
}

// content is message n of a tunnel: no two are alike.
func content(id uint64, n, size int) []byte {
	b := make([]byte, size)
	x := mixed(id<<20 ^ uint64(n+1))
	for i := range b {
		if i%8 == 0 {
			x = mixed(x + 0x9e3779b97f4a7c15)
		}
		b[i] = byte(x >> (8 * (i % 8)))
	}
	return b
}

// orWait is the deadline of a work.
func orWait(w scenario.Work) time.Duration {
	if w.Deadline <= 0 {
		return defaultWait
	}
	return w.Deadline.D()
}

// orSize is the size of a work's bodies.
func orSize(w scenario.Work) int {
	if w.Size == 0 {
		return defaultBody
	}
	return int(w.Size)
}
