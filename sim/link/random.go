// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"math/bits"
	"math/rand/v2"
)

// random is a direction's source of random numbers: integers only.
type random struct{ pcg rand.PCG }

// newRandom derives one from a seed and names. Different names give
// independent ones.
func newRandom(seed uint64, names ...string) random {
	const basis, prime = 0xcbf29ce484222325, 0x100000001b3 // FNV-1a
	hash := uint64(basis)
	byteIn := func(b byte) { hash = (hash ^ uint64(b)) * prime }
	for _, name := range names {
		for i := range len(name) {
			byteIn(name[i])
		}
		byteIn(0)
	}
	var r random
	r.pcg.Seed(seed, hash)
	return r
}

// below returns a number in [0, n) without bias; n must be positive.
func (r *random) below(n uint64) uint64 {
	hi, lo := bits.Mul64(r.pcg.Uint64(), n)
	if lo < n {
		for reject := -n % n; lo < reject; {
			hi, lo = bits.Mul64(r.pcg.Uint64(), n)
		}
	}
	return hi
}
