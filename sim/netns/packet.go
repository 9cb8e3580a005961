// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"encoding/binary"
	"fmt"
)

// Sizes and places of what is read of an IPv4 packet and a TCP segment.
const (
	ipHeader    = 20
	tcpHeader   = 20
	protocolTCP = 6
)

// address is an IPv4 address.
type address [4]byte

func (a address) String() string { return fmt.Sprintf("%d.%d.%d.%d", a[0], a[1], a[2], a[3]) }

// destination tells where an IPv4 packet goes; false if it is none.
func destination(p []byte) (address, bool) {
	if len(p) < ipHeader || p[0]>>4 != 4 {
		return address{}, false
	}
	return address(p[16:20]), true
}

// spoil flips a bit of the last byte that a TCP segment carries and makes the
// checksum right again, so that the kernel lets it pass and whoever reads the
// stream meets it. It returns false, and changes nothing, if the packet is
// not a whole TCP segment that carries something.
func spoil(p []byte) bool {
	segment, ok := tcpSegment(p)
	if !ok {
		return false
	}
	data := int(segment[12]>>4) * 4
	if data < tcpHeader || data >= len(segment) {
		return false
	}
	segment[len(segment)-1] ^= 1
	binary.BigEndian.PutUint16(segment[16:], 0)
	binary.BigEndian.PutUint16(segment[16:], tcpChecksum(p, segment))
	return true
}

// tcpSegment returns the part of an IPv4 packet that TCP sees; false for
// other packets, for fragments and for what contradicts itself.
func tcpSegment(p []byte) ([]byte, bool) {
	if len(p) < ipHeader || p[0]>>4 != 4 || p[9] != protocolTCP {
		return nil, false
	}
	if fragment := binary.BigEndian.Uint16(p[6:]); fragment&0x3fff != 0 {
		return nil, false
	}
	header, total := int(p[0]&15)*4, int(binary.BigEndian.Uint16(p[2:]))
	if header < ipHeader || total > len(p) || total < header+tcpHeader {
		return nil, false
	}
	return p[header:total], true
}

// tcpChecksum is the Internet checksum over the segment and what it covers of
// the packet's header. The checksum within the segment counts like the rest.
func tcpChecksum(p, segment []byte) uint16 {
	sum := uint32(protocolTCP) + uint32(len(segment))
	add := func(b []byte) {
		for ; len(b) >= 2; b = b[2:] {
			sum += uint32(binary.BigEndian.Uint16(b))
		}
		if len(b) == 1 {
			sum += uint32(b[0]) << 8
		}
	}
	add(p[12:20]) // both addresses
	add(segment)
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
