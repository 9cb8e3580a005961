// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import "errors"

var (
	// ErrLooseMode is returned by ReadNetworkFile and LoadNodeKey for a file
	// that others than its owner may read or write.
	ErrLooseMode = errors.New("security: key file is open to others, its mode must be 0600")

	// ErrBadFile is returned for a network file or node key file that does
	// not follow its format. The text names the line and what to do.
	ErrBadFile = errors.New("security: bad key file")

	// ErrBadName is returned for a network name that can't be used.
	ErrBadName = errors.New("security: bad network name")

	// ErrNotAdmitted is returned by CheckAdmission for a peer that does not
	// prove that it holds a key of this network.
	ErrNotAdmitted = errors.New("security: peer is not admitted to this network")

	// ErrBadProof is returned by VerifyProof.
	ErrBadProof = errors.New("security: bad proof of membership")

	// ErrUnauthorized is returned by Open and OpenRecord for bytes that were
	// not sealed with a valid key of the cluster, were changed since, or were
	// sealed for something else.
	ErrUnauthorized = errors.New("security: not sealed with this cluster's key, or changed, or meant for another")
)
