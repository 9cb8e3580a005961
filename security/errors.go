// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"errors"
	"fmt"
)

var (
	// ErrLooseMode is returned for a file with a secret that is open to others.
	ErrLooseMode = errors.New("security: key file is open to others, its mode must be 0600, 0400, or 0440 with a group of this process")

	// ErrForeignOwner is returned for a file with a secret, or a directory of
	// them, that belongs to somebody else than this user and root, who could
	// change it.
	ErrForeignOwner = errors.New("security: secrets must belong to this user or to root")

	// ErrLooseDirectory is returned for a directory of secrets that others may
	// write to.
	ErrLooseDirectory = errors.New("security: a directory of secrets must be writable for its owner only")

	// ErrUnguarded is returned for a file that decides something, and that others may
	// change.
	ErrUnguarded = errors.New("security: nobody but this user and root may change this file")

	// ErrBadFile is returned for a network file or node key file that does
	// not follow its format. The text names the line and what to do.
	ErrBadFile = errors.New("security: bad file")

	// ErrBadName is returned for a name that no network or cluster can have.
	ErrBadName = errors.New("security: bad name")

	// ErrNotAdmitted is returned by CheckAdmission for a peer that does not
	// prove that it holds a key of this network.
	ErrNotAdmitted = errors.New("security: peer is not admitted to this network")

	// ErrBanned is returned by CheckAdmission for a peer that is banned.
	ErrBanned = fmt.Errorf("%w: it is banned", ErrNotAdmitted)

	// ErrBadProof is returned by VerifyProof.
	ErrBadProof = errors.New("security: bad proof of membership")

	// ErrBadSignature is returned where a signature is checked against a peer id.
	ErrBadSignature = errors.New("security: not signed by the node it speaks for")

	// ErrBadCertificate is returned for a certificate or a list of revocations that
	// does not follow its format, or that the network's authority has not signed.
	ErrBadCertificate = errors.New("security: bad certificate")

	// ErrNoCertificate is returned where a certificate is required and none is shown.
	ErrNoCertificate = errors.New("security: no certificate, and this network requires one")

	// ErrExpired is returned for a certificate whose time is over, or has not come.
	ErrExpired = errors.New("security: certificate is not valid now")

	// ErrRevoked is returned for a certificate, or a node, that the authority has
	// taken back.
	ErrRevoked = errors.New("security: certificate was revoked")

	// ErrNotRenewable is returned by Issuer.Renew for a certificate that it can't give
	// more time.
	ErrNotRenewable = errors.New("security: the certificate can't be renewed")

	// ErrNotYet is returned by Issuer.Renew for a certificate that is good for longer than
	// the issuer may give now.
	ErrNotYet = errors.New("security: the certificate is good for longer than a renewal would be")

	// ErrUnauthorized is returned by Open and OpenRecord for bytes that were
	// not sealed with a valid key of the cluster, were changed since, or were
	// sealed for something else.
	ErrUnauthorized = errors.New("security: not sealed with this cluster's key, or changed, or meant for another")

	// ErrForgotten is returned by Agreed for what a holder of the cluster's key has
	// sealed for an ephemeral key that this node has erased, or never had: before it
	// was started again.
	ErrForgotten = errors.New("security: sealed for an ephemeral key that is gone")
)
