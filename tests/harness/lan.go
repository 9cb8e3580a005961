// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// LAN is a local network of machines: network namespaces on a switch, which is one,
// too. No other LAN and no test beside it notices what happens there.
type LAN struct {
	t        TB
	name     string
	subnet   int // third number of its addresses
	machines int
}

// lans numbers the networks of this process.
var lans atomic.Int64

// NewLAN makes a network without machines, or skips the test where that is not
// possible.
func NewLAN(t TB) *LAN {
	t.Helper()
	return newLAN(t, 0)
}

func newLAN(t TB, subnet int) *LAN {
	t.Helper()
	l := &LAN{t: t, subnet: subnet, name: fmt.Sprintf("arke-%d-%d", os.Getpid(), lans.Add(1))}
	newNamespace(t, l.name, "ip", "nsenter", "mount")
	if err := ip("-n", l.name, "link", "add", "switch", "type", "bridge"); err != nil {
		t.Skipf("bridges are not allowed here: %v", err)
	}
	setUp(l.t, l.name, "link set switch up")
	return l
}

func (l *LAN) address(number int) string { return fmt.Sprintf("10.88.%d.%d", l.subnet, number) }

// Machine is one of a LAN: to its relay it is a host with one address, and with
// files of its own where a test asks for that.
type Machine struct {
	lan    *LAN
	name   string
	number int
	addr   string
	mounts []string // lines of a shell that make its own files
}

// Machine puts one more machine on the network.
func (l *LAN) Machine() *Machine {
	l.t.Helper()
	l.machines++
	m := &Machine{lan: l, name: fmt.Sprintf("%s-%d", l.name, l.machines), number: l.machines, addr: l.address(l.machines)}
	must(l.t, ip("netns", "add", m.name))
	l.t.Cleanup(func() { removeNamespace(l.t, m.name) })
	port := fmt.Sprintf("port%d", l.machines)
	must(l.t, ip("link", "add", "eth0", "netns", m.name, "type", "veth", "peer", "name", port, "netns", l.name))
	setUp(l.t, l.name, "link set "+port+" master switch up")
	setUp(l.t, m.name, "link set lo up", "addr add "+m.addr+"/24 dev eth0", "link set eth0 up")
	return m
}

// At is the address of a port of the machine.
func (m *Machine) At(port int) string { return fmt.Sprintf("%s:%d", m.addr, port) }

// Moves gives the machine another address instead of the one it has.
func (m *Machine) Moves() {
	m.lan.t.Helper()
	now := m.lan.address(100 + m.number)
	setUp(m.lan.t, m.name, "addr del "+m.addr+"/24 dev eth0", "addr add "+now+"/24 dev eth0")
	m.addr = now
}

// SmallDisk makes the folder a disk of so many KiB, for what runs on the machine.
func (m *Machine) SmallDisk(folder string, kib int) {
	m.lan.t.Helper()
	must(m.lan.t, os.MkdirAll(folder, 0o700))
	m.mounts = append(m.mounts, fmt.Sprintf("mount -t tmpfs -o size=%dk,mode=700 tmpfs %s", kib, folder))
}

// Replaces has what runs on the machine find another file in a file's place.
func (m *Machine) Replaces(file, by string) {
	m.mounts = append(m.mounts, fmt.Sprintf("mount --bind %s %s", by, file))
}

// wrap returns the command line that runs argv there: `ip netns exec` gives it mounts
// of its own, which end with it.
func (m *Machine) wrap(argv []string) []string {
	script := strings.Join(append(append([]string{}, m.mounts...), `exec "$@"`), " && ")
	return append([]string{"ip", "netns", "exec", m.name, "sh", "-c", script, "sh"}, argv...)
}

// Listen listens on a port of the machine, in this process.
func (m *Machine) Listen(port int) net.Listener {
	m.lan.t.Helper()
	var l net.Listener
	must(m.lan.t, inNamespace(m.name, func() (err error) { l, err = net.Listen("tcp4", m.At(port)); return err }))
	return l
}

// Dial dials from the machine, in this process.
func (m *Machine) Dial(hostPort string) net.Conn {
	m.lan.t.Helper()
	var c net.Conn
	must(m.lan.t, inNamespace(m.name, func() (err error) { c, err = net.DialTimeout("tcp4", hostPort, 10*time.Second); return err }))
	return c
}
