// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "errors"

var (
	// ErrNoMembers is returned by Watch.Wait when a majority of settled
	// anchors say that the cluster has no member.
	ErrNoMembers = errors.New("cluster: no members")

	// ErrUnreachable is returned by Watch.Wait when nobody who can know has
	// answered for 2 s: members may exist.
	ErrUnreachable = errors.New("cluster: anchors could not be reached")

	// ErrClosed is returned by every blocking call once Close has begun.
	ErrClosed = errors.New("cluster: closed")

	// ErrDuplicate is returned by Register for a member id that is already
	// registered here.
	ErrDuplicate = errors.New("cluster: member id already registered")

	// ErrRefused is returned by Register when all anchors refuse the lease; the
	// text says why.
	ErrRefused = errors.New("cluster: refused by the anchors")

	// ErrUnregistered is returned by Register when Unregister withdrew the
	// member before it was acknowledged.
	ErrUnregistered = errors.New("cluster: unregistered meanwhile")

	// ErrNoKeys is returned by Register for a cluster that has no key.
	ErrNoKeys = errors.New("cluster: cluster has no key")

	// ErrPayload is returned for a payload of more than MaxPayload bytes.
	ErrPayload = errors.New("cluster: payload must have at most 8,192 bytes")

	// ErrName is returned for a cluster name that is empty or longer than
	// MaxName bytes.
	ErrName = errors.New("cluster: name must have 1 to 255 bytes")
)
