// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
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
	if os.Getuid() != 0 {
		t.Skipf("making network namespaces takes root")
	}
	for _, tool := range []string{"ip", "nsenter", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("making machines takes the command %s (packages iproute2, util-linux, mount)", tool)
		}
	}
	l := &LAN{t: t, subnet: subnet, name: fmt.Sprintf("arke-%d-%d", os.Getpid(), lans.Add(1))}
	if err := ip("netns", "add", l.name); err != nil {
		t.Skipf("network namespaces are not allowed here: %v", err)
	}
	t.Cleanup(func() { l.remove(l.name) })
	if err := ip("-n", l.name, "link", "add", "switch", "type", "bridge"); err != nil {
		t.Skipf("bridges are not allowed here: %v", err)
	}
	l.must(l.name, "link set switch up")
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
	if err := ip("netns", "add", m.name); err != nil {
		l.t.Fatalf("%v", err)
	}
	l.t.Cleanup(func() { l.remove(m.name) })
	port := fmt.Sprintf("port%d", l.machines)
	if err := ip("link", "add", "eth0", "netns", m.name, "type", "veth", "peer", "name", port, "netns", l.name); err != nil {
		l.t.Fatalf("%v", err)
	}
	l.must(l.name, "link set "+port+" master switch up")
	l.must(m.name, "link set lo up", "addr add "+m.addr+"/24 dev eth0", "link set eth0 up")
	return m
}

// Addr is the machine's address.
func (m *Machine) Addr() string { return m.addr }

// At is the address of a port of the machine.
func (m *Machine) At(port int) string { return fmt.Sprintf("%s:%d", m.addr, port) }

// Moves gives the machine another address instead of the one it has.
func (m *Machine) Moves() {
	m.lan.t.Helper()
	now := m.lan.address(100 + m.number)
	m.lan.must(m.name, "addr del "+m.addr+"/24 dev eth0", "addr add "+now+"/24 dev eth0")
	m.addr = now
}

// SmallDisk makes the folder a disk of so many KiB, for what runs on the machine.
func (m *Machine) SmallDisk(folder string, kib int) {
	m.lan.t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		m.lan.t.Fatalf("%v", err)
	}
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

// must runs `ip` with each of these lines in a namespace.
func (l *LAN) must(namespace string, lines ...string) {
	l.t.Helper()
	for _, line := range lines {
		if err := ip(append([]string{"-n", namespace}, strings.Fields(line)...)...); err != nil {
			l.t.Fatalf("%v", err)
		}
	}
}

func (l *LAN) remove(namespace string) {
	if err := ip("netns", "delete", namespace); err != nil {
		l.t.Logf("%v", err)
	}
}

// Listen listens on a port of the machine, in this process.
func (m *Machine) Listen(port int) net.Listener {
	m.lan.t.Helper()
	var l net.Listener
	if err := inNamespace(m.name, func() (err error) { l, err = net.Listen("tcp4", m.At(port)); return err }); err != nil {
		m.lan.t.Fatalf("%v", err)
	}
	return l
}

// Dial dials from the machine, in this process.
func (m *Machine) Dial(hostPort string) net.Conn {
	m.lan.t.Helper()
	var c net.Conn
	if err := inNamespace(m.name, func() (err error) { c, err = net.DialTimeout("tcp4", hostPort, 10*time.Second); return err }); err != nil {
		m.lan.t.Fatalf("%v", err)
	}
	return c
}
