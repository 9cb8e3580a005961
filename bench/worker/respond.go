// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"encoding/binary"
	"time"

	"github.com/arke-mesh/arke/bench/system"
)

// respond is the role: it answers until the input ends.
func respond(t *talk, sys system.System, job Job) error {
	seat, err := sys.Join(job.Setup)
	if err != nil {
		return err
	}
	defer seat.Close()
	answer := func(body []byte) []byte {
		if job.Delay > 0 {
			time.Sleep(job.Delay)
		}
		if len(body) >= MarkBytes {
			binary.BigEndian.PutUint16(body, uint16(job.Setup.Index))
		}
		return body
	}
	if err := seat.Respond(answer, job.Handlers); err != nil {
		return err
	}
	if err := t.say(Word{Is: "ready", Addr: seat.Addr()}); err != nil {
		return err
	}
	return t.rest()
}
