// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import "sync/atomic"

// counter is what a Host counts. The names in counterNames appear in status
// and logs; do not change them.
type counter uint8

const (
	countStranger         counter = iota // accepted connections without a good greeting
	countStrangerSilent                  // accepted connections that did not finish theirs in time
	countStrangerEvicted                 // accepted connections that had no time to, because of others
	countReplay                          // greetings that had come before
	countRefused                         // handshakes in which we did not admit the peer
	countRefusedByOther                  // handshakes that the peer ended with an alert
	countSilent                          // dialled connections that were closed without a word
	countHandshake                       // handshakes that failed for another reason
	countHandshakeEvicted                // handshakes cut short because others waited
	countProbe                           // accepted connections that only asked for our id
	countConnLimit                       // connections refused by MaxConns
	countPeerConnLimit                   // connections refused by MaxConnsPerPeer
	countStreamLimit                     // streams refused by MaxStreamsPerPeer
	countStreamShare                     // streams refused by MaxStreams, beyond the peer's share
	countUnread                          // streams reset because too much of what came was not read
	countNoRoute                         // streams of peers that take no part in routing
	countUncertified                     // connections closed because nothing else may be done on them
	countApartEvicted                    // the same, because too many others came
	countApartStream                     // link streams of a peer without a certificate beyond its one
	countAskerLimit                      // streams to the router beyond the peer's few
	countQuestion                        // questions to the router too large, too slow, or not understood
	countStreamBacklog                   // incoming link streams that the handler was too slow for
	countStreamStale                     // incoming link streams whose connection was gone first
	countStale                           // connections closed because nothing came back on them any more
	countKeyRetired                      // connections closed because the key that admitted the peer is not accepted any more
	countMDNSElsewhere                   // addresses heard on the local network that are not on it
	countMDNSShare                       // nodes announced by one address beyond its share
	countMDNSInvalid                     // answers on the local network that could not be used
	countUnsifted                        // listeners whose strangers the kernel does not keep to itself
	counterCount
)

var counterNames = [counterCount]string{
	countStranger:         "stranger",
	countStrangerSilent:   "stranger_silent",
	countStrangerEvicted:  "stranger_evicted",
	countReplay:           "stranger_replay",
	countRefused:          "handshake_refused",
	countRefusedByOther:   "handshake_refused_by_peer",
	countSilent:           "closed_in_silence",
	countHandshake:        "handshake_failed",
	countHandshakeEvicted: "handshake_evicted",
	countProbe:            "probes",
	countConnLimit:        "conn_limit",
	countPeerConnLimit:    "peer_conn_limit",
	countStreamLimit:      "stream_limit",
	countStreamShare:      "stream_share",
	countUnread:           "unread_share",
	countNoRoute:          "router_refused",
	countUncertified:      "conn_uncertified",
	countApartEvicted:     "conn_uncertified_evicted",
	countApartStream:      "stream_uncertified",
	countAskerLimit:       "router_stream_limit",
	countQuestion:         "router_invalid",
	countStreamBacklog:    "stream_backlog",
	countStreamStale:      "stream_stale",
	countStale:            "conn_stale",
	countKeyRetired:       "key_retired",
	countMDNSElsewhere:    "mdns_elsewhere",
	countMDNSShare:        "mdns_share",
	countMDNSInvalid:      "mdns_invalid",
	countUnsifted:         "unsifted",
}

// counters belongs to one Host; nothing is registered globally.
type counters [counterCount]atomic.Uint64

func (c *counters) add(k counter) { c[k].Add(1) }

// CounterNames are the names of what a Host counts.
func CounterNames() []string { return counterNames[:] }
