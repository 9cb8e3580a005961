// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/replacefile"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Files of the data directory.
const (
	lockFile        = "lock"
	keyFile         = "node.key"
	incarnationFile = "incarnation"
	peersFile       = "peers.json"
	revocationsFile = "revocations"
	certificateFile = "certificate"
	bansFile        = "bans"
)

// state is the data directory, locked. The zero state is none: nothing is
// kept.
type state struct {
	dir  string
	lock *os.File
}

// CheckDataDir refuses what can't be a data directory: something else than a directory,
// and one that others may change. One that is not there yet is made at the start. Errors
// are security.ErrForeignOwner, security.ErrLooseDirectory, and those of package os.
func CheckDataDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case dir == "" || errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !info.IsDir():
		return fmt.Errorf("node: data directory: %s is a file: name a directory", dir)
	case err == nil:
		err = security.CheckDirectory(dir)
	}
	if err != nil {
		return fmt.Errorf("node: data directory: %w", err)
	}
	return nil
}

// openState creates and locks the directory; "" gives the zero state.
func openState(dir string) (state, error) {
	if dir == "" {
		return state{}, nil
	}
	if err := CheckDataDir(dir); err != nil {
		return state{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return state{}, fmt.Errorf("node: data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return state{}, fmt.Errorf("node: data directory: %w", err)
	}
	if err := lock(f); err != nil {
		f.Close()
		return state{}, fmt.Errorf("%w (%s)", err, dir)
	}
	return state{dir: dir, lock: f}, nil
}

// close releases the lock; the system does so too when the process dies.
func (s state) close() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

// peers is where the overlay remembers peers; "" = nowhere.
func (s state) peers() string {
	if s.dir == "" {
		return ""
	}
	return filepath.Join(s.dir, peersFile)
}

// revocations returns the list that was kept; nil = none.
func (s state) revocations() ([]byte, error) {
	return kept(s, revocationsFile, security.ReadRevocationsFile)
}

// keepRevocations keeps a list for the next start.
func (s state) keepRevocations(signed []byte) error {
	return security.WriteRevocationsFile(filepath.Join(s.dir, revocationsFile), signed)
}

// certificate returns the one that was kept; nil = none.
func (s state) certificate() ([]byte, error) {
	return kept(s, certificateFile, security.ReadCertificateFile)
}

// keepCertificate keeps one that an issuer has renewed for the next start.
func (s state) keepCertificate(encoded []byte) error {
	return security.WriteCertificateFile(filepath.Join(s.dir, certificateFile), encoded)
}

// kept reads a file of the directory; nothing if there is none.
func kept[T any](s state, file string, read func(path string) (T, error)) (none T, err error) {
	if s.dir == "" {
		return none, nil
	}
	v, err := read(filepath.Join(s.dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	return v, err
}

// PeerID is the id of the node that has this data directory, whose key is made if there
// is none. A node may be running with it.
func PeerID(dir string) (peer.ID, error) {
	// A node that runs has the directory locked, and its key no longer changes.
	if k, err := security.LoadNodeKey(filepath.Join(dir, keyFile)); err == nil {
		return k.PeerID(), nil
	}
	s, err := openState(dir)
	if err != nil {
		return "", err
	}
	k, err := s.key(overlay.NewRealRand().Stream("node.key"))
	if err := errors.Join(err, s.close()); err != nil {
		return "", err
	}
	return k.PeerID(), nil
}

// key returns the node's key, which is made at the first start.
func (s state) key(random io.Reader) (security.NodeKey, error) {
	if s.dir == "" {
		return security.GenerateNodeKey(random)
	}
	path := filepath.Join(s.dir, keyFile)
	k, err := security.LoadNodeKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if k, err = security.GenerateNodeKey(random); err != nil {
		return k, err
	}
	return k, security.WriteNodeKey(path, k)
}

// incarnation counts this start. The number is on the disk before it is used: even
// after a loss of power it does not come twice. If the last one can't be read, now takes
// its place, in microseconds: no node has started as often. damaged says so.
func (s state) incarnation(now time.Time) (n uint64, damaged, err error) {
	path := filepath.Join(s.dir, incarnationFile)
	last, damaged, err := readIncarnation(path)
	if err != nil {
		return 0, nil, err
	}
	if damaged != nil {
		last = uint64(now.UnixMicro())
	}
	if err := replacefile.Write(path, []byte(strconv.FormatUint(last+1, 10)+"\n"), 0o600); err != nil {
		return 0, nil, fmt.Errorf("node: incarnation: %w", err)
	}
	return last + 1, damaged, nil
}

func readIncarnation(path string) (n uint64, damaged, err error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil, nil
	case err != nil:
		return 0, nil, fmt.Errorf("node: incarnation: %w", err)
	}
	n, damaged = strconv.ParseUint(strings.TrimSpace(string(data)), 10, 63)
	return n, damaged, nil
}
