// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package issued

import (
	"fmt"
	"strings"

	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/verb"
	"github.com/arke-mesh/arke/security"
)

// maxVerdicts bounds the names whose verdict is remembered with a certificate; beyond it
// they are compared again.
const maxVerdicts = 1024

// holding is a certificate whose signature was verified.
type holding struct {
	security.Certificate
	encoded  []byte
	verdicts map[question]bool // guarded by Roll.mu
}

type question struct {
	verb verb.Verb
	name string
}

func hold(c security.Certificate, encoded []byte) *holding {
	return &holding{Certificate: c, encoded: append([]byte(nil), encoded...), verdicts: make(map[question]bool)}
}

// describe is open where no authority is known.
func describe(encoded []byte) (*holding, error) {
	c, err := security.DescribeCertificate(encoded)
	if err != nil {
		return nil, err
	}
	return hold(c, encoded), nil
}

// allows compares a name with the certificate's patterns, once. Roll.mu is held for
// writing.
func (h *holding) allows(v verb.Verb, name string) bool {
	q := question{v, name}
	verdict, known := h.verdicts[q]
	if !known {
		verdict = Allows(&h.Certificate, v, name)
		if len(h.verdicts) >= maxVerdicts {
			clear(h.verdicts)
		}
		h.verdicts[q] = verdict
	}
	return verdict
}

func forbidden(h *holding, v verb.Verb, name string) error {
	return fmt.Errorf("the certificate of %q does not let it %s %q", h.Name, v, name)
}

// Allows says whether a certificate lets its node do something with a name: with a
// cluster, a topic, or all that a pattern stands for.
func Allows(c *security.Certificate, v verb.Verb, name string) bool {
	for _, rule := range [verb.Count][]string{verb.Serve: c.Serve, verb.Call: c.Call, verb.Publish: c.Publish, verb.Subscribe: c.Subscribe}[v] {
		if match.Stands(rule, name) {
			return true
		}
	}
	return false
}

// CheckPatterns says which of a certificate's names and patterns would never stand for
// anything, nil if none.
func CheckPatterns(c *security.Certificate) error {
	for v, list := range [verb.Count][]string{verb.Serve: c.Serve, verb.Call: c.Call, verb.Publish: c.Publish, verb.Subscribe: c.Subscribe} {
		for _, p := range list {
			if verb.Verb(v) == verb.Serve && p == Cluster {
				continue // of the names that Arke keeps for itself the only one that is a right
			}
			if err := match.CheckPattern(p); err != nil {
				return fmt.Errorf("--%s: %s", verb.Verb(v), strings.TrimPrefix(err.Error(), "arke: "))
			}
		}
	}
	return nil
}
