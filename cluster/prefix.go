// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// How much of an address its prefix is, in bits. Who chooses ids chooses as many as
// it likes; to be at home in another prefix it needs another network.
const (
	prefixBits4 = 16
	prefixBits6 = 32
)

// prefixOf is the prefix of the IP address that a multiaddr begins with; the zero
// Prefix if there is none, or if the connection goes through a relay, whose address
// it would be. What is not of the public Internet counts as one network.
func prefixOf(addr string) netip.Prefix {
	words := strings.Split(addr, "/")
	if slices.Contains(words, "p2p-circuit") {
		return netip.Prefix{}
	}
	for i, w := range words[:len(words)-1] {
		if w != "ip4" && w != "ip6" {
			continue
		}
		ip, err := netip.ParseAddr(words[i+1])
		if err != nil || ip.IsUnspecified() {
			return netip.Prefix{}
		}
		return prefixOfIP(ip.Unmap().WithZone(""))
	}
	return netip.Prefix{}
}

func prefixOfIP(ip netip.Addr) netip.Prefix {
	bits := prefixBits6
	switch {
	case !public(ip):
		return notPublic()
	case ip.Is4():
		bits = prefixBits4
	}
	p, _ := ip.Prefix(bits)
	return p
}

// notPublic stands for all addresses of which each site has its own.
func notPublic() netip.Prefix { return netip.PrefixFrom(netip.IPv4Unspecified(), 0) }

func public(ip netip.Addr) bool {
	shared := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10) // RFC 6598: behind a provider's NAT
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !shared.Contains(ip)
}

// ownPrefix is the prefix of a node that says it is reached at these addresses: of
// a public one, if there is any.
func ownPrefix(addrs []string) (own netip.Prefix) {
	for _, a := range addrs {
		switch p := prefixOf(a); {
		case p == notPublic():
			own = p
		case p.IsValid():
			return p
		}
	}
	return own
}

// prefixes are where peers are at home: as their connections show it, for a peer's
// word is worth nothing here.
type prefixes struct {
	addrs  func() []string // of this node, by its own word
	own    netip.Prefix
	linked map[netip.Prefix]int // how many of those whose links are up
}

// add counts one more, or with -1 one less.
func (s *prefixes) add(p netip.Prefix, n int) {
	if !p.IsValid() {
		return
	}
	if s.linked[p] += n; s.linked[p] == 0 {
		delete(s.linked, p)
	}
}

// several says whether this node and its peers are of more than one network.
func (s *prefixes) several() bool {
	return len(s.linked) > 1 || len(s.linked) == 1 && s.own.IsValid() && s.linked[s.own] == 0
}

// beyond says whether there is anybody at home elsewhere than in these.
func (s *prefixes) beyond(these []netip.Prefix) bool {
	if s.own.IsValid() && !slices.Contains(these, s.own) {
		return true
	}
	for p := range maps.Keys(s.linked) {
		if !slices.Contains(these, p) {
			return true
		}
	}
	return false
}

// networks are those of the closest anchors, if all are known, and there are others.
func (g *anchorSet) networks(r *peerTable) (all [anchorCount]netip.Prefix, known bool) {
	if !r.homes.several() || len(g.anchors) < anchorCount {
		return all, false
	}
	for i, p := range g.anchors[:anchorCount] {
		if all[i] = r.prefix(p); !all[i].IsValid() {
			return all, false
		}
	}
	return all, true
}

// other is the closest usable peer that is at home elsewhere than the closest
// anchors, "" if there is none; nearby are those known of who are not as close as the
// anchors. closer are those who may come before it, and have to be linked or heard
// first. They stay wanted while that fails: who is forgotten is dialled again at once.
func (g *anchorSet) other(r *peerTable, nearby []peer.ID) (found peer.ID, closer []peer.ID) {
	networks, known := g.networks(r)
	if !known {
		return "", nil
	}
	from := networks[:]
	nearby = append(nearby, r.self)
	if r.homes.beyond(from) {
		for p := range r.linked.near(placeOfID(g.cid)) {
			if r.apart(p, from) && !r.silent(p) {
				nearby = append(nearby, p)
				break
			}
		}
	}
	for _, p := range byDistance(g.cid, nearby) {
		linked, apart := r.linkUp(p), r.apart(p, from)
		switch {
		case g.isAnchor(p), !apart && (linked || r.prefix(p).IsValid()):
		case linked && apart && !r.silent(p):
			return p, closer
		case len(closer) < nearestCount:
			closer = append(closer, p)
		}
	}
	return "", closer
}

// alikeIn says that the closest anchors are all at home in one network, and somebody
// elsewhere is an anchor as well: then they are no majority by themselves.
func (g *anchorSet) alikeIn(r *peerTable) bool {
	from, known := g.networks(r)
	return len(g.anchors) > anchorCount && known && from[0] == from[1] && from[1] == from[2]
}

// mayMove says whether the anchor at home elsewhere may be another one now that p
// came or went.
func (g *anchorSet) mayMove(r *peerTable, p placed) bool {
	if g.isOther(p.peer) {
		return true
	}
	from, known := g.networks(r)
	if !known || !r.apart(p.peer, from[:]) {
		return false
	}
	return len(g.anchors) == anchorCount ||
		p.at.Head()^g.place <= placeOfPeer(g.anchors[anchorCount]).Head()^g.place
}

// lacks says that somebody is at home elsewhere than the closest anchors, and none
// of those is known to be near.
func (g *anchorSet) lacks(r *peerTable) bool {
	from, known := g.networks(r)
	return known && len(g.anchors) == anchorCount && r.homes.beyond(from[:])
}

// decides says whether so many of the anchors are enough to hold against a member
// that is listed, or that there is one. other says whether the one at home elsewhere is among them.
func (g *anchorSet) decides(votes int, other bool) bool {
	return votes >= majority(len(g.anchors)) && (other || !g.alike)
}

// isOther says whether p is the anchor at home elsewhere.
func (g *anchorSet) isOther(p peer.ID) bool {
	return len(g.anchors) > anchorCount && g.anchors[anchorCount] == p
}

// wonder has this node see where the anchors of g are at home, after it has said that
// it is far from it: if all who are closer are of one network, it is an anchor
// for being elsewhere. Whoever was refused asks again soon. Strangers can make it look
// at one id in farAfter.
func (f *finder) wonder(now time.Time, g *anchorSet) {
	if _, known := g.networks(f.peers); known || !f.peers.homes.several() || f.doubted == g {
		return
	}
	if f.doubted != nil {
		if now.Before(f.doubt.Add(farAfter)) {
			return
		}
		f.connect(now, f.doubted, false)
		f.leave(f.doubted)
	}
	f.doubted, f.doubt = f.use(now, g.cid), now
	f.connect(now, g, true)
}
