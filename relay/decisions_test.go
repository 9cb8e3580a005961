// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// This test checks who is welcomed, and which of several faults is told: what
// the client can mend first.
func TestHelloIsJudged(t *testing.T) {
	fits := session.Hello{MinVersion: 1, MaxVersion: 1}
	token := session.Hello{MinVersion: 1, MaxVersion: 1, Token: "secret"}
	tests := []struct {
		name  string
		hello session.Hello
		at    standing
		want  session.Reason // 0 = welcome
	}{
		{"local", fits, standing{local: true, limit: 1}, 0},
		{"local, token not looked at", token, standing{local: true, limit: 1, token: "other"}, 0},
		{"newer client that still speaks ours", session.Hello{MinVersion: 1, MaxVersion: 9}, standing{local: true, limit: 1}, 0},
		{"newer client", session.Hello{MinVersion: 2, MaxVersion: 9}, standing{local: true, limit: 1}, session.ReasonVersion},
		{"no version", session.Hello{}, standing{local: true, limit: 1}, session.ReasonVersion},
		{"right token", token, standing{token: "secret", limit: 1}, 0},
		{"wrong token", token, standing{token: "secreT", limit: 1}, session.ReasonToken},
		{"prefix of the token", token, standing{token: "secrets", limit: 1}, session.ReasonToken},
		{"no token", fits, standing{token: "secret", limit: 1}, session.ReasonToken},
		{"no token on either side", fits, standing{limit: 1}, session.ReasonToken},
		{"draining", fits, standing{local: true, limit: 1, draining: true}, session.ReasonDraining},
		{"last place", fits, standing{local: true, clients: 7, limit: 8}, 0},
		{"full", fits, standing{local: true, clients: 8, limit: 8}, session.ReasonClients},
		{"wrong token at a full relay", token, standing{token: "x", clients: 8, limit: 8}, session.ReasonToken},
		{"old client with a wrong token", session.Hello{Token: "y"}, standing{token: "x", limit: 1}, session.ReasonVersion},
	}
	for _, tt := range tests {
		version, refusal := judge(&tt.hello, tt.at)
		if tt.want == 0 {
			require.Nil(t, refusal, tt.name)
			require.Equal(t, uint16(1), version, tt.name)
			continue
		}
		require.NotNil(t, refusal, tt.name)
		require.Equal(t, tt.want, refusal.Reason, tt.name)
		require.NotEmpty(t, refusal.Text, tt.name)
		require.NotContains(t, refusal.Text, "secret", tt.name)
	}
}

// This test checks each limit of a client: the last place is given, one more
// is not, and a place that was given back is there again.
func TestQuotaGivesWhatTheLimitsAllow(t *testing.T) {
	q := quota{limits: Limits{Registrations: 2, Requests: 3, RequestBytes: 100}}
	require.NoError(t, q.register())
	require.NoError(t, q.register())
	require.ErrorIs(t, q.register(), ErrTooManyRegistrations)
	q.registerDone()
	require.NoError(t, q.register())

	require.NoError(t, q.request(40))
	require.NoError(t, q.request(60))
	require.ErrorIs(t, q.request(1), ErrTooManyBytes)
	require.NoError(t, q.request(0))
	require.ErrorIs(t, q.request(0), ErrTooManyRequests)
	q.requestDone(60)
	require.NoError(t, q.request(60))
	q.requestDone(60)
	q.requestDone(40)
	q.requestDone(0)
	require.NoError(t, q.request(1000), "a call that is alone may have any size")
	q.requestDone(1000)
	require.Equal(t, quota{limits: q.limits, registrations: 2}, q)
}

// This test checks that every reason for a drop has a name of its own, since
// they are the keys of the status.
func TestEveryDropHasAName(t *testing.T) {
	seen := map[string]bool{"unknown": true}
	for d := range dropCount {
		require.False(t, seen[d.String()], d.String())
		seen[d.String()] = true
	}
}
