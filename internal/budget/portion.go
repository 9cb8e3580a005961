// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package budget

// Portion is what one holder may hold of something: units of its own, which nobody
// can take from it, and beyond them what it leases from a Budget, several at a time.
// So who holds little asks nobody, and most units cost a comparison. Not for
// concurrent use; a holder may have several.
type Portion[K comparable] struct {
	share     Share[K]
	own, step int // units; step is how many are leased at once if there are as many
	leased    int
}

// Portion returns an empty one of k.
func (b *Budget[K]) Portion(k K, own, step int) Portion[K] {
	return Portion[K]{share: b.Of(k), own: own, step: step}
}

// Cover says whether so many units may be held in all, and leases what is missing.
// It is called before more are held, and after there are fewer: then it returns what
// is not needed any more, all of it when half of the own units are enough. With
// fewer than before it is true.
func (p *Portion[K]) Cover(units int) bool {
	need := max(0, units-p.own)
	if missing := need - p.leased; missing > 0 {
		n := max(missing, p.step)
		if !p.share.Take(n) {
			if n = missing; missing >= p.step || !p.share.Take(n) {
				return false
			}
		}
		p.leased += n
		return true
	}
	if p.leased == 0 {
		return true
	}
	spare := p.leased - need
	switch {
	case units <= p.own/2:
	case spare > 2*p.step:
		spare -= p.step
	default:
		return true
	}
	if spare > 0 {
		p.share.Give(spare)
		p.leased -= spare
	}
	return true
}
