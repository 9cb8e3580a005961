// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strconv"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// MemberID is the random id of one registration.
type MemberID uint64

// String returns 16 hexadecimal digits.
func (m MemberID) String() string { return fmt.Sprintf("%016x", uint64(m)) }

// ParseMemberID reads what String wrote.
func ParseMemberID(s string) (MemberID, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || len(s) != 16 {
		return 0, fmt.Errorf("cluster: member id %q must have 16 hexadecimal digits", s)
	}
	return MemberID(n), nil
}

// Member is one live member of a watched cluster. The exported fields never
// change, and nobody changes the slice; the same *Member persists across views
// as long as the member's record does not change. All methods may be called
// concurrently.
type Member struct {
	ID          MemberID
	Peer        peer.ID // its node
	Incarnation uint64  // of its node; grows with each start of the node
	Zone        string
	Network     string               // that it is from; Config.Home if it is one of this network
	Imported    bool                 // a gateway lends it from another network
	Priority    int                  // of an imported one: the lowest first
	Networks    []security.NetworkID // that an imported one has come through, its own first; nobody changes it
	Capacity    int                  // relative weight, at least 1
	MaxMessage  int                  // bytes of body and headers it accepts; 0 = not said
	Addrs       []string
	Key         security.KeyID        // of the cluster's keys, the newest under which it was found: it opens what is sealed with that
	Ephemeral   security.EphemeralKey // its node's, as it last said; zeros = none
	Payload     []byte                // of its Registration; nobody changes it
	Name        string                // of its node, as its certificate has it; "" = it has none
	Certificate []byte                // nobody changes it; nil = none
	// Via is the way to a member whose own record a gateway passes on; nil = its node
	// is in this network, or what is sent to it is opened by the gateway that lends it.
	Via *Way

	ways   []Way                         // all of them, of one with Via; in the order of their peers
	passed map[security.ClusterID]Passed // its leases, where they are found without being opened
	load   *load                         // shared by all descriptions of the same member
}

// Begin counts one request as under way. Each Begin is followed by exactly one
// Clusters.Done.
func (m *Member) Begin() { m.load.inflight.Add(1) }

// Inflight is the number of requests under way from this node.
func (m *Member) Inflight() int { return int(m.load.inflight.Load()) }

// Hop is the peer that what is for the member is sent to: its own node, or a gateway.
func (m *Member) Hop() peer.ID {
	if m.Via != nil {
		return m.Via.Peer
	}
	return m.Peer
}

// Target is the registration at Hop that what is for the member is addressed to.
func (m *Member) Target() (MemberID, uint64) {
	if m.Via != nil {
		return m.Via.Member, m.Via.Incarnation
	}
	return m.ID, m.Incarnation
}

// Passed returns the member's leases, by the ids of the cluster, where only finding
// keys of the cluster are known: they can be passed on to another network. Else it
// returns nil. Nobody changes the result.
func (m *Member) Passed() map[security.ClusterID]Passed { return m.passed }

// State is how this node sees the member now: live, suspect (an anchor or our
// own link misses its node), ejected (slow or failing, out of rotation for a
// while), unreachable (our own link to it is lost) or gone (it is in no view any more).
func (m *Member) State() string { return m.load.state().String() }

// View is what a caller knows of a cluster at one moment. It is immutable;
// what its members carry beside their exported fields is not.
type View struct {
	// Members has every member, sorted by id (then by peer).
	Members []*Member
	// Known says that Members can be believed: it is not empty, or a majority
	// of settled anchors said that there is nobody.
	Known bool
	// Empty says that the cluster is known to have no member.
	Empty bool
	// Told says that a majority of the anchors have told what they hold, also
	// those that have only just become anchors.
	Told bool
	// Complete says that a majority of the anchors that can know everybody
	// have told, so that nobody is missing who registered a round trip ago.
	Complete bool

	pool     *pool
	tiers    []tier            // whom Pick chooses from, the preferred ones first
	networks map[string][]tier // by their networks; nil = there is one
}
