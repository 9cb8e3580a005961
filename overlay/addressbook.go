// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"
)

// maxBook is how many peers' addresses are kept.
const maxBook = 1024

// addressBook knows where peers could be reached: for those that are lost, and
// for the next start. Pure core.
type addressBook struct {
	entries map[peer.ID]*address
	met     uint64 // counts meetings, to order them
}

type address struct {
	peer  peer.ID
	addrs []string
	met   uint64
}

func newAddressBook() *addressBook {
	return &addressBook{entries: make(map[peer.ID]*address)}
}

// meet notes that p was reached, or says it can be, at addrs, best first. It
// reports whether anything is new.
func (b *addressBook) meet(p peer.ID, addrs []string) bool {
	addrs = slices.DeleteFunc(slices.Clone(addrs), func(a string) bool {
		return !strings.HasPrefix(a, "/") // a name may mean another peer tomorrow
	})
	e := b.entries[p]
	if len(addrs) == 0 && (e == nil || len(e.addrs) == 0) {
		return false
	}
	if e == nil {
		b.makeRoom()
		e = &address{peer: p}
		b.entries[p] = e
	}
	b.met++
	e.met = b.met
	merged := mergeAddrs(addrs, e.addrs)
	changed := !slices.Equal(merged, e.addrs)
	e.addrs = merged
	return changed
}

// makeRoom forgets the peer that was met longest ago, if the book is full.
func (b *addressBook) makeRoom() {
	if len(b.entries) < maxBook {
		return
	}
	var oldest *address
	for _, e := range b.entries { // the order does not matter: met is unique
		if oldest == nil || e.met < oldest.met {
			oldest = e
		}
	}
	delete(b.entries, oldest.peer)
}

// of returns where p could be reached.
func (b *addressBook) of(p peer.ID) []string {
	if e := b.entries[p]; e != nil {
		return e.addrs
	}
	return nil
}

// latest lists at most n peers, the one met last first.
func (b *addressBook) latest(n int) []Candidate {
	entries := make([]*address, 0, len(b.entries))
	for _, e := range b.entries {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(x, y *address) int {
		if x.met > y.met {
			return -1
		}
		return 1
	})
	var list []Candidate
	for _, e := range entries[:min(n, len(entries))] {
		list = append(list, Candidate{Peer: e.peer, Addrs: slices.Clone(e.addrs), Source: SourceRemembered})
	}
	return list
}
