// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Certificates says who may serve what. Methods must not block.
type Certificates interface {
	// Certificate is what the records of this node's members carry; nil = none. Nobody
	// changes it.
	Certificate() []byte
	// Serves returns what people call the node p, "" = nothing, or why a member of its
	// must not serve a cluster. certificate is the one in the member's record.
	Serves(p peer.ID, certificate []byte, cluster string) (name string, err error)
}

// noCertificates lets everybody serve who has the cluster's key.
type noCertificates struct{}

func (noCertificates) Certificate() []byte                            { return nil }
func (noCertificates) Serves(peer.ID, []byte, string) (string, error) { return "", nil }

// reviewEvent: Config.Certificates may say something else now.
type reviewEvent struct{}

func (reviewEvent) apply(c *control, now time.Time) {
	c.registrar.redescribe(now)
	review(now, c.watcher)
}

// review takes out who may serve no longer, and asks the anchors for those who were
// refused and may serve now.
func review(now time.Time, k *watcher) {
	for _, s := range ordered(k.byID, compareIDs) {
		s.doubtAll()
		s.known.keep(func(d *verified) bool {
			if s.may(d) {
				return true
			}
			for _, c := range s.anchorViews {
				delete(c.set, d.leaseKey)
				delete(c.coming, d.leaseKey)
			}
			s.refused = true
			return false
		})
		if s.refused {
			s.refused = false
			for _, c := range s.anchorViews {
				if c.fresh && c.session != 0 {
					k.ask(now, s, c)
					k.plans.plan(s, c.next)
				}
			}
		}
		for _, w := range s.of {
			k.touch(w)
		}
	}
}

// may says whether the member's node may serve the cluster; the certificate comes with
// the record, so that no anchor can leave it out.
func (v *verifier) may(d *verified) bool {
	name, err := v.base.certificates.Serves(d.peer, d.certificate, v.name)
	if err != nil {
		v.base.drops.Inc(dropNotAllowed)
		v.refused = true
		return false
	}
	d.nodeName = name
	return true
}
