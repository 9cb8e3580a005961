// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"slices"
	"time"

	"github.com/arke-mesh/arke/security"
)

// findingKeys decides which finding keys a crossing uses when the configuration has
// others. For a while the old ones count beside them, so that members are passed on under
// the new ones before they are gone under the old ones. It has no clock.
type findingKeys struct {
	wanted *security.FindingFile // as the configuration has them
	inUse  []security.KeyVersion
	until  time.Time // old ones count beside them until then; zero = they do not
}

// besideTime is how long old finding keys count beside new ones: time to find the members
// by the new ones and to pass them on.
const besideTime = 10 * time.Second

// step takes in what the configuration has, and returns the keys to use from now on;
// nil = those that are in use.
func (k *findingKeys) step(now time.Time, wanted *security.FindingFile) []security.KeyVersion {
	switch {
	case wanted != k.wanted:
		same := security.KeySetID(wanted.Name, wanted.Keys) == security.KeySetID(k.wanted.Name, k.wanted.Keys)
		if k.wanted = wanted; same {
			return nil
		}
		k.inUse, k.until = beside(wanted.Keys, k.inUse), now.Add(besideTime)
	case !k.until.IsZero() && !now.Before(k.until):
		k.inUse, k.until = wanted.Keys, time.Time{}
	default:
		return nil
	}
	return k.inUse
}

// beside returns keys with those of old of which keys have no other version.
func beside(keys, old []security.KeyVersion) []security.KeyVersion {
	out := slices.Clone(keys)
	for _, o := range old {
		if !slices.ContainsFunc(keys, func(k security.KeyVersion) bool { return k.Version == o.Version }) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b security.KeyVersion) int { return cmp.Compare(a.Version, b.Version) })
	return out
}
