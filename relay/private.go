// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"net"
	"sync"
)

// ListenPrivate opens a unix socket that only this user and root may connect to,
// under the rules of the relay's own: its directory must be safe, a live one is not
// taken over, and closing it removes it.
func ListenPrivate(path string) (net.Listener, error) {
	l, unlock, err := listenUnix(path, Config{}.sharing())
	if err != nil {
		return nil, err
	}
	return &private{Listener: l, unlock: sync.OnceFunc(unlock)}, nil
}

// private gives its path free when it is closed.
type private struct {
	net.Listener
	unlock func()
}

// Close implements net.Listener.
func (p *private) Close() error {
	err := p.Listener.Close()
	p.unlock()
	return err
}
