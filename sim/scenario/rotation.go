// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"slices"
)

// badRotation says why there are no keys for a rotate to be about, or "".
func badRotation(a Action, clusters []Cluster) string {
	if a.On == "" {
		return ""
	}
	if why := noCluster(clusters, a.On); why != "" {
		return why
	}
	i := slices.IndexFunc(clusters, func(cl Cluster) bool { return cl.Name == a.On })
	if len(clusters[i].Keys) == 0 {
		return a.On + " has no keys of its own: they follow the network's; give it keys, or leave on out"
	}
	return ""
}

// SpreadTakes is how long it is until the last node of an expanded rotate has read the last
// of its files, or all have heard of an expanded revoke.
func SpreadTakes(a Action) Duration {
	if a.Do == "revoke" {
		return cmp.Or(a.For, defaultRevocation)
	}
	return a.For + Duration(max(len(a.Nodes)-1, 0))*a.Every
}

// rotates says what a rotation, a ban or a revocation does, for people.
func rotates(a Action, who string) string {
	switch a.Do {
	case "ban":
		return "banned: " + who
	case "revoke":
		return "revoked: " + who + ", all are to know within " + SpreadTakes(a).String()
	}
	text := sentence("the network's key is rotated: ")
	if a.On != "" {
		text = sentence("the key of " + a.On + " is rotated: ")
	}
	text.also(true, "%s", who)
	text.also(a.Every > 0, ", one each %v", a.Every)
	text.also(a.For > 0, ", the old one ends after %v", a.For)
	text.also(a.For == 0, ", without overlap")
	return string(text)
}
