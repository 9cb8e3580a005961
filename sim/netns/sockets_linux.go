// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// socketTable lists the TCP sockets of this thread's network namespace.
const socketTable = "/proc/thread-self/net/tcp"

// socketOf returns what the links in /proc say of the socket that is bound to
// local and connected to remote, "socket:[123]"; "" if there is none.
func socketOf(local, remote net.Addr) string {
	f, err := os.Open(socketTable)
	if err != nil {
		return ""
	}
	defer f.Close()
	l, okL := local.(*net.TCPAddr)
	r, okR := remote.(*net.TCPAddr)
	if !okL || !okR {
		return ""
	}
	return findSocket(f, l, r)
}

// findSocket looks for the pair of addresses in a socket table.
func findSocket(table io.Reader, local, remote *net.TCPAddr) string {
	wantLocal, wantRemote := tableAddress(local), tableAddress(remote)
	for lines := bufio.NewScanner(table); lines.Scan(); {
		// sl local remote state queues timer retransmissions uid timeout inode …
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[1] != wantLocal || f[2] != wantRemote {
			continue
		}
		if _, err := strconv.ParseUint(f[9], 10, 64); err == nil && f[9] != "0" {
			return "socket:[" + f[9] + "]"
		}
	}
	return ""
}

// tableAddress writes an IPv4 address as the socket table does: the bytes as a
// number of this machine, then the port, in hexadecimal digits.
func tableAddress(a *net.TCPAddr) string {
	ip := a.IP.To4()
	if ip == nil {
		return ""
	}
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip), a.Port)
}

// holds says whether the process has the socket open.
func holds(pid int, socket string) bool {
	if socket == "" {
		return false
	}
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	files, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, f := range files {
		if to, err := os.Readlink(filepath.Join(dir, f.Name())); err == nil && to == socket {
			return true
		}
	}
	return false
}
