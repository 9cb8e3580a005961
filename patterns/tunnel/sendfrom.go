// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"io"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// SendFrom implements patterns.Tunnel. What one call of r.Read returns leaves
// at once, so it needs no more memory than one chunk.
func (t *Tunnel) SendFrom(ctx context.Context, r io.Reader) (int64, error) {
	if err := t.enter(ctx, &t.senders, "tunnel.send"); err != nil {
		return 0, err
	}
	n, err := int64(0), error(nil)
	if t.ends.maySend() {
		n, err = t.sendFrom(ctx, r)
	} else {
		err = t.sendError()
	}
	t.leaveSending()
	return n, err
}

func (t *Tunnel) sendFrom(ctx context.Context, r io.Reader) (int64, error) {
	var sum int64
	buf := make([]byte, maxChunk)
	for begun := false; ; {
		t.unlock(true)
		n, err := r.Read(buf)
		t.take("tunnel.send")
		t.mu.Lock()
		last := err == io.EOF
		if n > 0 || last {
			if err := t.send(ctx, buf[:n], last, begun); err != nil {
				return sum, err
			}
			sum, begun = sum+int64(n), true
		}
		if last {
			return sum, nil
		}
		if err != nil {
			t.reset(wire.CauseProgram, patterns.CodeUnknown, "the sender could not read on: "+err.Error())
			return sum, err
		}
	}
}
