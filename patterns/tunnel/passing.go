// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"slices"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/security"
)

// passing is one direction of a passage: a pure core.
type passing struct {
	credit.Passing
	ended   ending
	held    []sealedCredit // that the side it comes from is not told of yet, by rising totals
	telling bool           // one of them is on its way
}

// sealedCredit is credit as its receiver has sealed it.
type sealedCredit struct {
	total uint64
	flags uint8
	seal  [security.StreamOverhead]byte
}

// maxSealedCredits bounds those that are held back: the newest says all that others do.
const maxSealedCredits = 16

// hold keeps credit until it may be told. A total that a larger one has overtaken says
// nothing more.
func (p *passing) hold(c sealedCredit) {
	switch n := len(p.held); {
	case n > 0 && c.total <= p.held[n-1].total:
	case n == maxSealedCredits:
		p.held[n-1] = c
	default:
		p.held = append(p.held, c)
	}
}

// tell takes the most credit that may be told now.
func (p *passing) tell() (c sealedCredit, ok bool) {
	for i := len(p.held) - 1; i >= 0 && !p.telling; i-- {
		if p.Tell(p.held[i].total) {
			c = p.held[i]
			p.held = slices.Delete(p.held, 0, i+1)
			p.telling = true
			return c, true
		}
	}
	return c, false
}
