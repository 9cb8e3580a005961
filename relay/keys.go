// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"
	"maps"
	"strings"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/wire"
)

// groupPrefix begins the names of the clusters that are groups of topics.
const groupPrefix = "topic:"

// brought is the keys that one client has brought. They are the node's for as long as
// the session lives, in memory only; the client has references to them, which it never
// sees. It is immutable.
type brought struct {
	ids   map[string]string // of the sets, by cluster
	refs  map[string]string // references to clusters, by name
	words map[string]string // ids of the keys of topics, by their first word
	gifts []func()          // give the keys back
}

// bring gives the node the keys that a client's Hello has.
func bring(n Node, sets []wire.LeafKeys) (*brought, error) {
	b := &brought{ids: map[string]string{}, refs: map[string]string{}, words: map[string]string{}}
	for i := range sets {
		if err := b.add(n, &sets[i]); err != nil {
			b.giveBack()
			return nil, err
		}
	}
	return b, nil
}

func (b *brought) add(n Node, set *wire.LeafKeys) error {
	if _, twice := b.ids[set.Cluster]; twice {
		return fmt.Errorf("relay: keys of cluster %q come twice", set.Cluster)
	}
	ref, release, err := n.Bring(set)
	if err != nil {
		return fmt.Errorf("keys of cluster %q: %w", set.Cluster, err)
	}
	b.ids[set.Cluster] = node.KeySetID(set)
	b.refs[set.Cluster] = ref
	b.gifts = append(b.gifts, release)
	if word, is := strings.CutPrefix(set.Cluster, groupPrefix); is {
		if _, id := name.CutRef(ref); id != "" { // else the node has the same
			b.words[word] = id
		}
	}
	return nil
}

// topic names the keys that the client has brought for a topic or pattern; "" = none.
func (b *brought) topic(s string) string {
	if len(b.words) == 0 {
		return ""
	}
	word, _, _ := strings.Cut(s, ".")
	return b.words[word]
}

// are says whether these are the keys.
func (b *brought) are(sets []wire.LeafKeys) bool {
	ids := map[string]string{}
	for i := range sets {
		ids[sets[i].Cluster] = node.KeySetID(&sets[i])
	}
	return maps.Equal(ids, b.ids)
}

// giveBack ends the loan.
func (b *brought) giveBack() {
	for _, release := range b.gifts {
		release()
	}
}

// cluster is how the node calls what the client calls so, perhaps with a network
// behind an @: under the keys that the client has brought for it, if it has.
// References are not for clients to make up.
func (b *brought) cluster(address string) (ref string, err error) {
	plain, network, named := name.Split(address)
	ref, brought := b.refs[plain]
	switch _, keys := name.CutRef(plain); {
	case keys != "":
		return "", fmt.Errorf("%w: %q: %s", cluster.ErrName, plain, name.Fault(plain))
	case !brought:
		return address, nil
	case named:
		return ref + "@" + network, nil
	}
	return ref, nil
}
