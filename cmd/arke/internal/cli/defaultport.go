// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// defaultPort is where a relay listens unless told otherwise, so that peers
// find it again after a restart and seeds are easy to write down.
const defaultPort = 7400

// morePorts is how many ports after the default one are looked at.
const morePorts = 100

// defaultListen returns the addresses to listen on where none were given, and
// their port: the default one of each family that the machine has, or the next
// that is free. If none is, they are none, which means any port.
func defaultListen() (addrs []string, port int) {
	for port := defaultPort; port < defaultPort+morePorts; port++ {
		if addrs, free := listenable(port); free {
			return addrs, port
		}
	}
	return nil, 0
}

// listenable returns the addresses of that port, and whether nobody has them.
func listenable(port int) (addrs []string, free bool) {
	for _, family := range []struct{ network, any string }{{"tcp4", "/ip4/0.0.0.0"}, {"tcp6", "/ip6/::"}} {
		l, err := net.Listen(family.network, ":"+strconv.Itoa(port))
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, false
		}
		if err == nil {
			l.Close()
			addrs = append(addrs, fmt.Sprintf("%s/tcp/%d", family.any, port))
		}
	}
	return addrs, true
}
