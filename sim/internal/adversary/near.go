// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"fmt"
	"io"
	"time"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// nearBits is how many leading bits an id that was chosen shares with its target:
// more than those of any other node, in networks of less than some hundred.
const nearBits = 10

// Near returns the first node key of a series whose peer id is among the closest
// to a cluster's id for the running epoch: one of about 1,024 is. Who holds the
// keys of the cluster can do that for any epoch to come.
func Near(c *security.Cluster, now time.Time, series io.Reader) (security.NodeKey, error) {
	epochs := c.Epochs(now)
	if len(epochs) == 0 {
		return security.NodeKey{}, fmt.Errorf("adversary: cluster %s has no keys", c.Name())
	}
	id := epochs[0].ID()
	target := overlay.PlaceOf(id[:])
	for {
		key, err := security.GenerateNodeKey(series)
		if err != nil {
			return security.NodeKey{}, err
		}
		if overlay.PlaceOf([]byte(key.PeerID())).Shared(target) >= nearBits {
			return key, nil
		}
	}
}
