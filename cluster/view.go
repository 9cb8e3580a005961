// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

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

	pool *pool
	rota rota // whom Pick chooses from
}
