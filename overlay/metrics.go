// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import "github.com/arke-mesh/arke/overlay/session"

// dropReason says why something was dropped: a session.Drop, or one of the
// overlay's own. The names are what status shows.
type dropReason uint8

const (
	dropHandshakeFailed = dropReason(session.Drops) + iota // an incoming stream that did not get past Hello
	dropHandshakeFull                                      // an incoming stream beyond the bound on handshakes
	dropStatement                                          // one that is not true, or beyond the bound on subjects
	dropCertificate                                        // one that a peer shows in place of its Hello's, and that does not let it in
	dropProofs                                             // a statement or certificate beyond what is checked for one peer
	dropSpare                                              // a word on whether the link is needed that is none
	dropExcluded                                           // a stream of a peer that is excluded
	dropCandidate                                          // a candidate forgotten in favour of a newer one
	dropReasons
)

// String returns the name as used in status and metrics.
func (r dropReason) String() string {
	switch r {
	case dropHandshakeFailed:
		return "handshake_failed"
	case dropHandshakeFull:
		return "handshake_full"
	case dropStatement:
		return "statement_refused"
	case dropCertificate:
		return "certificate_refused"
	case dropProofs:
		return "too_many_proofs"
	case dropSpare:
		return "spare_malformed"
	case dropExcluded:
		return "peer_excluded"
	case dropCandidate:
		return "candidate_forgotten"
	}
	return session.Drop(r).String()
}
