// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"fmt"
	"strings"

	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// GroupKeys are those under which a group of topics is: the node's own, which stay with
// it for life, or some that somebody has brought. Of those nothing is kept here.
type GroupKeys struct {
	Of     func(cluster string) *security.Cluster
	wide   string            // the cluster of the group
	Own    *security.Cluster // nil = somebody has brought them
	always bool              // everything is sealed
}

// Now returns the keys. Who has brought them may have taken them back: then there are none.
func (k *GroupKeys) Now() *security.Cluster {
	if k.Own != nil {
		return k.Own
	}
	return k.Of(k.wide)
}

// Gone says that there are none any more.
func (k *GroupKeys) Gone() bool { return k.Own == nil && k.Now().CommonKey() == security.KeyID{} }

// IsUnder says whether the group of that name, which was made of those keys, is theirs:
// what is no id of keys names none.
func IsUnder(group, keys string) bool {
	_, id := name.CutRef(group)
	return id == keys
}

// NoKeys refuses a topic, or pattern.
func NoKeys(topic string) error {
	return fmt.Errorf("%w: %.64q: nobody has brought these keys", patterns.ErrTopic, topic)
}

// Common says whether whoever is in the network has the keys.
func (k *GroupKeys) Common() bool { return k.Own != nil && k.Own.Derived() }

// Sealer names the key that seals now, if not everybody has it; else zeros.
func (k *GroupKeys) Sealer() (id security.KeyID) {
	if k.Common() {
		return id
	}
	return k.Now().CommonKey()
}

// Seals says whether what is published is sealed.
func (k *GroupKeys) Seals() bool { return k.always || !k.Common() }

// Label names the group to others: its first word, and the key that seals now, if not
// everybody has it. What it is called here says nothing to others, who may have the key
// in another set.
func (k *GroupKeys) Label(group string) string {
	if k.Common() {
		return group
	}
	word, _ := name.CutRef(group)
	return name.Ref(word, k.Sealer().String())
}

// KeysOf returns those of the group of that name.
func (b *Base) KeysOf(group string) GroupKeys {
	k := GroupKeys{Of: b.Cfg.Keys, wide: ClusterOf(group), always: b.Cfg.SealAlways}
	if _, brought := name.CutRef(group); brought == "" {
		k.Own = k.Of(k.wide)
	}
	return k
}

// CheckKeyedWord refuses first words whose topics can't have keys of their own. The error
// wraps patterns.ErrTopic.
func CheckKeyedWord(word string) error {
	err := match.CheckTopic(word)
	switch {
	case err != nil:
	case strings.Contains(word, "."):
		err = fmt.Errorf("%w: %.64q: keys are those of a first word", patterns.ErrTopic, word)
	case len(word) > maxKeyedWord:
		err = fmt.Errorf("%w: %.64q: a first word that has keys has at most %d bytes", patterns.ErrTopic, word, maxKeyedWord)
	}
	return err
}
