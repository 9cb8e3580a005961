// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/relay/internal/peercred"
	"github.com/arke-mesh/arke/relay/internal/proof"
	"github.com/arke-mesh/arke/relay/policy"
)

// access is what the relay knows when a client knocks.
type access struct {
	local    bool                  // over the unix socket: its permissions and credentials did
	user     *peercred.Credentials // nil = nobody can tell
	tokens   []Token
	exchange *proof.Exchange // what a proof must be about; nil = there was no challenge
}

// judge decides on a client by its Hello: the version that is spoken, or why
// it is refused (nil = it is not).
func judge(h *wire.LeafHello, a access) (version uint16, refused refusal) {
	version, ok := wire.PickVersion(h.MinVersion, h.MaxVersion)
	switch _, known := a.token(h.Proof); {
	case !ok:
		return 0, &wire.LeafGoodbye{Code: wire.EndVersion, Text: fmt.Sprintf(
			"this relay speaks versions %d to %d of the protocol, the client %d to %d: update the older one",
			wire.LeafVersionMin, wire.LeafVersionMax, h.MinVersion, h.MaxVersion)}
	case len(h.Proof) > 0 && !known:
		return 0, &wire.LeafGoodbye{Code: wire.EndToken, Text: "wrong token: use one that the relay was started with"}
	case !a.local && !known:
		return 0, &wire.LeafGoodbye{Code: wire.EndToken, Text: "no token: here a client must prove that it has one"}
	}
	return version, nil
}

// client is who has said h, for the policy.
func (a access) client(h *wire.LeafHello) policy.Client {
	t, _ := a.token(h.Proof)
	if a.user == nil {
		return policy.Client{Token: t.Name}
	}
	return policy.Client{Known: true, User: a.user.User, Groups: a.user.Groups, Token: t.Name}
}

// token returns the token that a proof is made with. It takes the same time
// whichever it is.
func (a access) token(shown []byte) (t Token, ok bool) {
	if a.exchange == nil || len(shown) == 0 {
		return Token{}, false
	}
	for _, one := range a.tokens {
		want := a.exchange.OfClient(one.Secret)
		if proof.Equal(shown, want[:]) {
			t, ok = one, true
		}
	}
	return t, ok
}
