// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"

	"github.com/arke-mesh/arke/internal/name"
)

var (
	// ErrNoMembers is returned by Watch.Wait when a majority of settled
	// anchors say that the cluster has no member.
	ErrNoMembers = errors.New("cluster: no members")

	// ErrUnreachable is returned by Watch.Wait when nobody who can know has
	// answered, and nothing is under way any more: members may exist. An error that says
	// more is one, too.
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

	// ErrName is returned for a name that no cluster may have, see CheckName.
	ErrName = errors.New("cluster: bad name")
)

// doubtError is ErrUnreachable where anchors have said that there is nobody, and this
// node has a reason not to believe them.
type doubtError struct{ reason error }

var errBehind = errors.New("this node stood still for a while, and does not know yet what has changed")

func (e *doubtError) Error() string { return e.reason.Error() }

func (e *doubtError) Unwrap() []error { return []error{ErrUnreachable, e.reason} }

// CheckAddress is CheckName for what a caller names: a cluster, and behind an @ the
// network that its members are to be from. It returns both; network is empty if the
// address says none.
func CheckAddress(s string) (cluster, network string, err error) {
	cluster, network, named := name.Split(s)
	if fault := name.NetworkFault(network); named && fault != "" {
		return "", "", fmt.Errorf("%w: %.64q: %s", ErrName, s, fault)
	}
	return cluster, network, CheckName(cluster)
}

// CheckName returns an error that wraps ErrName and says what is wrong with the
// name of a cluster, or nil. A name has 1 to MaxName bytes of UTF-8, no control
// characters, no blanks at its ends, and no @, which is reserved.
func CheckName(s string) error {
	s, _ = name.CutRef(s)
	if n := len(s); n < 1 || n > MaxName {
		return fmt.Errorf("%w: it has %d bytes, 1 to %d are possible", ErrName, n, MaxName)
	}
	if fault := name.Fault(s); fault != "" {
		return fmt.Errorf("%w: %.64q: %s", ErrName, s, fault)
	}
	return nil
}
