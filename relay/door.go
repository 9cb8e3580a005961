// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"
	"net/netip"

	"github.com/arke-mesh/arke/internal/crowd"
)

// source is who connects: a user, over the socket, or an address.
type source struct {
	user    int // -1 = the system does not tell, or nobody asked
	address netip.Addr
}

// String returns the source as logs have it.
func (s source) String() string {
	switch {
	case s.address.IsValid():
		return s.address.String()
	case s.user < 0:
		return "this process"
	}
	return fmt.Sprintf("user %d", s.user)
}

// room says where somebody waits: who comes over TCP takes no place from those who
// come over the socket.
type room uint8

const (
	socketRoom room = iota
	portRoom
	rooms
)

func (s source) room() room {
	if s.address.IsValid() {
		return portRoom
	}
	return socketRoom
}

// door decides, of the connections that have not said Hello, who may wait. Each room
// has places; when they are full, one at random goes of the source that has most of
// them. Pure core; doorkeeper.go drives it.
type door struct {
	places int // in each room
	random func(n int) int
	rooms  [rooms]*crowd.Crowd[source]
	in     map[uint64]room
}

func newDoor(places int, random func(n int) int) *door {
	d := &door{places: places, random: random, in: make(map[uint64]room)}
	for i := range d.rooms {
		d.rooms[i] = crowd.New[source]()
	}
	return d
}

// arrived takes a connection in, and returns the one that is sent away for it; 0 =
// there was room.
func (d *door) arrived(id uint64, s source) (away uint64) {
	r := d.rooms[s.room()]
	r.Add(id, s)
	d.in[id] = s.room()
	if r.Len() <= d.places {
		return 0
	}
	away = r.Victim(d.random)
	d.gone(away)
	return away
}

// gone takes a connection out; one that is out already says nothing.
func (d *door) gone(id uint64) {
	if r, ok := d.in[id]; ok {
		delete(d.in, id)
		d.rooms[r].Remove(id)
	}
}
