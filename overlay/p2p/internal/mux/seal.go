// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"io"

	pool "github.com/libp2p/go-buffer-pool"
)

// seal writes heads and parts, of size bytes together, to TLS so that they become
// as few records as possible. Only what does not fill a record is copied.
func seal(w io.Writer, size int, heads []byte, parts [][]byte) error {
	buf := pool.Get(min(size, maxRecord))
	defer pool.Put(buf)
	room := min(size, maxRecord)
	n := copy(buf[:room], heads)
	flush := func() error {
		_, err := w.Write(buf[:n])
		n = 0
		return err
	}
	for _, p := range parts {
		for len(p) > 0 {
			if whole := len(p) / maxRecord * maxRecord; n == 0 && whole > 0 {
				if _, err := w.Write(p[:whole]); err != nil {
					return err
				}
				p = p[whole:]
				continue
			}
			m := copy(buf[n:room], p)
			p = p[m:]
			if n += m; n == room {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if n == 0 {
		return nil
	}
	return flush()
}

// split cuts the first n bytes off parts.
func split(parts [][]byte, n int) (first, rest [][]byte) {
	for i, p := range parts {
		if len(p) < n {
			n -= len(p)
			continue
		}
		first = append(append(first, parts[:i]...), p[:n])
		return first, append([][]byte{p[n:]}, parts[i+1:]...)
	}
	return parts, nil
}
