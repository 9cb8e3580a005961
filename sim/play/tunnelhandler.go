// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/arke-mesh/arke/patterns"
)

// tunnel has one tunnel: it sends back what comes, until the caller has sent
// everything. A slow handler takes its time for each message.
func (j *job) tunnel(ctx context.Context, t patterns.Tunnel) (err error) {
	v := j.serving(t)
	id := v.tunnel
	defer func() { j.p.record.left(v, j.p.level.Now(), err == nil) }()
	if err := j.refuses(id); err != nil {
		return err
	}
	for {
		body, err := t.Receive(ctx)
		if errors.Is(err, io.EOF) {
			j.p.record.end(id, forth)
			j.p.record.closed(id, back)
			return nil
		}
		if err != nil {
			return err
		}
		j.p.record.received(id, forth, body, j.p.level.Now())
		if d := j.takes(id); d > 0 {
			time.Sleep(d)
		}
		j.p.record.tries(id, back)
		if err := t.Send(ctx, body); err != nil {
			return err
		}
		j.p.record.sentOne(id, back)
	}
}

// serving records that a handler has a tunnel.
func (j *job) serving(t patterns.Tunnel) serving {
	info := t.Info()
	return j.p.record.serving(idOf(info.Open.Body), j.post.now(), j.p.level.Now(), info.Peer)
}
