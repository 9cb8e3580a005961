// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// standing is what the relay knows when a client knocks.
type standing struct {
	local    bool // over the unix socket: its permissions and credentials did
	token    string
	draining bool
	clients  int // attached without the one that knocks
	limit    int
}

// judge decides on a client by its Hello: the version that is spoken, or why
// it is refused (nil = it is not).
func judge(h *session.Hello, s standing) (version uint16, refusal *session.Refused) {
	version, ok := session.PickVersion(h.MinVersion, h.MaxVersion, session.MinVersion, session.MaxVersion)
	switch {
	case !ok:
		return 0, &session.Refused{Reason: session.ReasonVersion, Text: fmt.Sprintf(
			"this relay speaks versions %d to %d of the protocol, the client %d to %d: update the older one",
			session.MinVersion, session.MaxVersion, h.MinVersion, h.MaxVersion)}
	case !s.local && !sameToken(h.Token, s.token):
		return 0, &session.Refused{Reason: session.ReasonToken, Text: "wrong token: use the one that the relay was started with"}
	case s.draining:
		return 0, &session.Refused{Reason: session.ReasonDraining, Text: "the relay is shutting down"}
	case s.clients >= s.limit:
		return 0, &session.Refused{Reason: session.ReasonClients, Text: fmt.Sprintf("%v: at most %d", ErrTooManyClients, s.limit)}
	}
	return version, nil
}

// sameToken takes the same time whatever is wrong, the length included.
func sameToken(got, want string) bool {
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return want != "" && subtle.ConstantTimeCompare(g[:], w[:]) == 1
}
