// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"

	"github.com/arke-mesh/arke/internal/wire"
)

// access is what the relay knows when a client knocks.
type access struct {
	local bool // over the unix socket: its permissions and credentials did
	token string
}

// judge decides on a client by its Hello: the version that is spoken, or why
// it is refused (nil = it is not).
func judge(h *wire.LeafHello, a access) (version uint16, refusal *wire.LeafGoodbye) {
	version, ok := wire.PickVersion(h.MinVersion, h.MaxVersion)
	switch {
	case !ok:
		return 0, &wire.LeafGoodbye{Code: wire.EndVersion, Text: fmt.Sprintf(
			"this relay speaks versions %d to %d of the protocol, the client %d to %d: update the older one",
			wire.LeafVersionMin, wire.LeafVersionMax, h.MinVersion, h.MaxVersion)}
	case !a.local && !sameToken(h.Token, a.token):
		return 0, &wire.LeafGoodbye{Code: wire.EndToken, Text: "wrong token: use the one that the relay was started with"}
	}
	return version, nil
}

// sameToken takes the same time whatever is wrong, the length included.
func sameToken(got, want string) bool {
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return want != "" && subtle.ConstantTimeCompare(g[:], w[:]) == 1
}
