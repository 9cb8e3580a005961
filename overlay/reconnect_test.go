// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay/session"
)

// script drives a reconnect: a line an event, and what it decides.
type script struct {
	reconnect
	linkState
	now time.Time
}

func newScript(s linkState) *script {
	return &script{linkState: s, now: time.Unix(0, 0), reconnect: reconnect{jitter: func(int) int { return 0 }}}
}

// broke has the connection end that carried the session.
func (s *script) broke(err error) string {
	s.attached = false
	return s.text(s.reconnect.broke(s.linkState, err, s.now))
}

// dialled has a dial end so long after the event before.
func (s *script) dialled(after time.Duration, err error) string {
	s.want(s.linkState)
	s.now = s.now.Add(after)
	return s.text(s.reconnect.dialled(s.now, s.linkState, err))
}

func (s *script) text(d decision) string {
	var words []string
	say := func(on bool, format string, args ...any) {
		if on {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	say(d.end != nil, "end (%v)", d.end)
	say(d.failed != nil, "failed (%v)", d.failed)
	say(d.tell != nil, "tell (%v)", d.tell)
	say(d.stop, "stop")
	say(d.suspect, "suspect")
	say(d.dial, "dial")
	say(d.dialIn > 0, "dial in %v", d.dialIn)
	s.up = s.up && d.end == nil
	return strings.Join(words, ", ")
}

var (
	errReset    = errors.New("reset")
	errNoAnswer = errors.New("no answer")
	upAndRuns   = linkState{up: true, attached: true}
)

// This test checks that a dial begins only where it can change something.
func TestADialBeginsWhereItIsNeeded(t *testing.T) {
	for _, c := range []struct {
		state linkState
		want  bool
	}{
		{linkState{}, true},
		{linkState{up: true}, true}, // to save the session
		{upAndRuns, false},
		{linkState{joining: true}, false},
		{linkState{leaving: true}, false},
	} {
		var r reconnect
		require.Equal(t, c.want, r.want(c.state), "%+v", c.state)
		require.False(t, r.want(c.state), "one at a time")
		require.Equal(t, c.want && c.state.up, r.saves, "%+v", c.state)
	}
}

// This test checks what becomes of a session when its connection ends.
func TestHowAConnectionEndsDecidesAboutTheSession(t *testing.T) {
	for _, c := range []struct {
		name  string
		state linkState
		err   error
		want  string
	}{
		{"a broken one is an outage", upAndRuns, errReset, "suspect, dial"},
		{"a protocol error ends the session", upAndRuns, ErrProtocol, "end (" + ErrProtocol.Error() + "), tell (" + ErrProtocol.Error() + ")"},
		{"a frame that breaks connections, too", upAndRuns, session.ErrPoison, "end (" + session.ErrPoison.Error() + "), tell (" + session.ErrPoison.Error() + ")"},
		{"so does our own goodbye", upAndRuns, session.ErrLeft, "end (" + ErrSpare.Error() + "), tell (" + ErrSpare.Error() + ")"},
		{"and the end of the node", linkState{up: true, leaving: true}, io.EOF, "end (" + ErrClosed.Error() + "), tell (" + ErrClosed.Error() + ")"},
		{"one that was replaced is no news", linkState{up: true, joining: true}, errReset, ""},
	} {
		require.Equal(t, c.want, newScript(c.state).broke(c.err), c.name)
	}
}

// This test checks that a session is given up when its process is gone, and not
// because its peer can't be reached for a while.
func TestASessionIsSavedUntilItsProcessIsGone(t *testing.T) {
	s := newScript(upAndRuns)
	require.Equal(t, "suspect, dial", s.broke(errReset))
	require.Equal(t, "dial in 20ms", s.dialled(time.Millisecond, ErrRefused))
	require.Equal(t, "dial in 40ms", s.dialled(time.Millisecond, ErrRefused), "too soon after the first to count")
	require.Equal(t, "dial in 80ms", s.dialled(40*time.Millisecond, errNoAnswer), "somebody may be there")
	require.Equal(t, "dial in 160ms", s.dialled(80*time.Millisecond, ErrRefused))
	require.Equal(t, "end (link lost: the process is gone), tell (link lost: the process is gone), stop",
		strings.ReplaceAll(s.dialled(160*time.Millisecond, ErrRefused), ErrLost.Error(), "link lost"))

	s = newScript(upAndRuns)
	s.broke(errReset)
	require.Equal(t, "dial in 20ms", s.dialled(time.Millisecond, errHungUp), "it was taken by whom the kernel has not buried yet")
	require.Contains(t, s.dialled(20*time.Millisecond, ErrRefused), "the process is gone")

	s = newScript(upAndRuns)
	s.broke(errReset)
	for range 9 {
		require.Contains(t, s.dialled(time.Second, errHungUp), "dial in", "who takes connections lives")
	}

	s = newScript(upAndRuns)
	s.broke(errReset)
	for range 9 {
		require.Contains(t, s.dialled(time.Second, errNoAnswer), "dial in")
	}
	require.Contains(t, s.text(s.late(s.linkState)), "end ("+ErrSilent.Error())

	s = newScript(upAndRuns)
	s.broke(errReset)
	require.Contains(t, s.dialled(time.Millisecond, ErrDuplicate), "end ("+ErrDuplicate.Error(), "an answer, if not the one we want")
	require.Empty(t, s.text(s.late(s.linkState)), "it is over")
}

// This test checks who hears of a dial that failed.
func TestAFailedDialIsToldToWhoAskedForIt(t *testing.T) {
	s := newScript(linkState{})
	require.Equal(t, "failed (no answer), tell (no answer)", s.dialled(time.Second, errNoAnswer))
	require.Equal(t, "tell ("+ErrLost.Error()+")", s.dialled(time.Second, nil), "it came up, and is down again")

	s = newScript(linkState{up: true})
	s.want(s.linkState)
	s.up = false // the session ends while it is dialled
	require.Equal(t, "tell (no answer)", s.text(s.reconnect.dialled(s.now, s.linkState, errNoAnswer)), "nobody asked for another session")

	s = newScript(linkState{})
	s.want(s.linkState)
	s.up, s.attached = true, true // the peer's call came first
	require.Empty(t, s.text(s.reconnect.dialled(s.now, s.linkState, errNoAnswer)))

	s = newScript(linkState{leaving: true})
	require.Equal(t, "tell ("+ErrClosed.Error()+")", s.text(s.reconnect.dialled(s.now, s.linkState, errNoAnswer)))
}
