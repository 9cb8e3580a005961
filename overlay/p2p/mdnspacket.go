// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"encoding/base32"
	"fmt"
	"net"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/miekg/dns"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Announcements follow DNS-SD (RFC 6763) over mDNS (RFC 6762), so switches and
// firewalls know what to do with them. The names of our TXT strings:
const (
	txtPeer = "peer="
	txtAddr = "addr="
)

const (
	mdnsTTL = 120 // seconds
	// maxSaid bounds what is said of addresses in one packet, in bytes: it
	// must fit a frame of the network, or Wi-Fi loses it. Each takes its text
	// and a record of about sizeOfAAAA.
	maxSaid    = 1100
	sizeOfAAAA = 30
	// flushBit says that a record replaces what was said before.
	flushBit = 1 << 15
)

// serviceName is under what nodes of a network look for each other. It tells
// others that two nodes belong together, not to what.
func serviceName(n *security.Network) string {
	label := base32.StdEncoding.EncodeToString(n.Label("mdns"))
	return "_" + strings.ToLower(label[:12]) + "._udp.local."
}

// announcement is what one node says on one interface.
type announcement struct {
	service  string // as serviceName gives it
	instance string // a label; random, it means nothing
	peer     peer.ID
	addrs    []ma.Multiaddr // IP and TCP port
}

// query asks who is there.
func query(service string) ([]byte, error) {
	m := new(dns.Msg)
	m.SetQuestion(service, dns.TypePTR)
	m.Id = 0 // RFC 6762 section 18.1
	m.RecursionDesired = false
	return m.Pack()
}

// pack encodes a, as an announcement or as the answer to a query. A ttl of 0
// takes it back.
func (a announcement) pack(ttl uint32) ([]byte, error) {
	name, host := a.instance+"."+a.service, a.instance+".local."
	m := new(dns.Msg)
	m.Response, m.Authoritative, m.Compress = true, true, true
	m.Answer = []dns.RR{&dns.PTR{Hdr: header(a.service, dns.TypePTR, 0, ttl), Ptr: name}}

	txt := []string{txtPeer + a.peer.String()}
	size := len(txt[0])
	var port uint16
	for _, addr := range a.addrs {
		ip, p, err := ipAndPort(addr)
		text := txtAddr + addr.String()
		if size += len(text) + sizeOfAAAA; err != nil || size > maxSaid {
			continue
		}
		txt, port = append(txt, text), p
		// Nobody of us reads these, but RFC 6763 wants them.
		if ip4 := ip.To4(); ip4 != nil {
			m.Extra = append(m.Extra, &dns.A{Hdr: header(host, dns.TypeA, flushBit, ttl), A: ip4})
		} else {
			m.Extra = append(m.Extra, &dns.AAAA{Hdr: header(host, dns.TypeAAAA, flushBit, ttl), AAAA: ip})
		}
	}
	m.Extra = append(
		m.Extra,
		&dns.SRV{Hdr: header(name, dns.TypeSRV, flushBit, ttl), Target: host, Port: port},
		&dns.TXT{Hdr: header(name, dns.TypeTXT, flushBit, ttl), Txt: txt},
	)
	return m.Pack()
}

func header(name string, kind, flags uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET | flags, Ttl: ttl}
}

func ipAndPort(addr ma.Multiaddr) (net.IP, uint16, error) {
	tcp, err := toTCPAddr(addr)
	if err != nil {
		return nil, 0, err
	}
	return tcp.IP, uint16(tcp.Port), nil
}

// heard is what a packet says to us.
type heard struct {
	asked bool // it asks for our service
	found []overlay.Candidate
}

// hear decodes a packet from the local network. Whatever is not about service
// gives nothing; what is, and can't be understood, an error.
func hear(packet []byte, service string) (heard, error) {
	var m dns.Msg
	if err := m.Unpack(packet); err != nil {
		return heard{}, fmt.Errorf("p2p: mdns: %w", err)
	}
	var h heard
	if !m.Response {
		for _, q := range m.Question {
			h.asked = h.asked || q.Qtype == dns.TypePTR && strings.EqualFold(q.Name, service)
		}
		return h, nil
	}
	for _, rr := range append(m.Answer, m.Extra...) {
		txt, ok := rr.(*dns.TXT)
		if !ok || txt.Hdr.Ttl == 0 || !strings.HasSuffix(strings.ToLower(txt.Hdr.Name), "."+service) {
			continue
		}
		c, err := candidateFrom(txt.Txt)
		if err != nil {
			return heard{}, err
		}
		h.found = append(h.found, c)
	}
	return h, nil
}

// candidateFrom decodes TXT strings. Unknown ones are left for later releases.
func candidateFrom(txt []string) (overlay.Candidate, error) {
	c := overlay.Candidate{Source: overlay.SourceLAN}
	for _, text := range txt {
		if id, ok := strings.CutPrefix(text, txtPeer); ok {
			p, err := peer.Decode(id)
			if err != nil {
				return c, fmt.Errorf("p2p: mdns: %w", err)
			}
			c.Peer = p
		}
		if addr, ok := strings.CutPrefix(text, txtAddr); ok && len(c.Addrs) < maxNamedAddrs {
			// No names: strangers must not choose what we look up.
			s, err := parseMultiaddr(addr)
			if err != nil {
				return c, err
			}
			if _, _, err := ipAndPort(s.addr); err == nil {
				c.Addrs = append(c.Addrs, s.addr.String())
			}
		}
	}
	if c.Peer == "" || len(c.Addrs) == 0 {
		return c, fmt.Errorf("p2p: mdns: %w: an announcement without peer or address", ErrBadAddress)
	}
	return c, nil
}
