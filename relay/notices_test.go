// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAClientThatHangsIsSaidOnce(t *testing.T) {
	// This test checks the lines about clients that leave beats unanswered: one when
	// it begins, none while it goes on, though the connection is closed for it, and
	// one that tells whether the client is back or has gone.
	const hangs = "a client hangs: callers ask other members than its own until it is heard"
	a, b := heard{origin: 1, name: "a", members: 2}, heard{origin: 2, name: "b"}
	silent := func(h heard) heard { h.silent = true; return h }
	away := func(h heard) heard { h.away = true; return h }
	var n notices
	for i, step := range []struct {
		clients []heard
		says    []string
	}{
		{[]heard{a, b}, nil},
		{[]heard{silent(a), b}, []string{"warn " + hangs}},
		{[]heard{silent(a), away(b)}, nil}, // who is away and did not hang is none
		{[]heard{away(a), b}, nil},
		{[]heard{a, silent(b)}, []string{"warn " + hangs, "a client that hung is heard again"}},
		{[]heard{a}, []string{"a client that hung has gone"}},
	} {
		var says []string
		for _, l := range n.look(time.Unix(int64(i), 0), nil, step.clients) {
			text := l.Text
			if l.Warn {
				text = "warn " + text
			}
			says = append(says, text)
		}
		require.Equal(t, step.says, says, "step %d", i)
	}
	var crowd []heard
	for i := range uint64(50) {
		crowd = append(crowd, silent(heard{origin: 100 + i, name: fmt.Sprint(i)}))
	}
	require.Len(t, n.look(time.Unix(100, 0), nil, crowd), mostHung+1)
}
