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
	if r < dropReasons && dropNames[r] != "" {
		return dropNames[r]
	}
	return session.Drop(r).String()
}

var dropNames = [dropReasons]string{
	dropHandshakeFailed: "handshake_failed",
	dropHandshakeFull:   "handshake_full",
	dropStatement:       "statement_refused",
	dropCertificate:     "certificate_refused",
	dropProofs:          "too_many_proofs",
	dropSpare:           "spare_malformed",
	dropExcluded:        "peer_excluded",
	dropCandidate:       "candidate_forgotten",
}
