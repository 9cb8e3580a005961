// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Bounds of the file of remembered peers.
const (
	maxRemembered     = 64
	maxRememberedFile = 1 << 20 // bytes
)

// rememberedPeers is the file's content. The peer met last comes first.
type rememberedPeers struct {
	Peers []rememberedPeer `json:"peers"`
}

type rememberedPeer struct {
	Peer  string   `json:"peer"`
	Addrs []string `json:"addrs"`
}

// readRemembered returns the peers in the file; none if it does not exist.
func readRemembered(path string) ([]Candidate, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRememberedFile))
	if err != nil {
		return nil, err
	}
	return decodeRemembered(data)
}

// decodeRemembered skips entries that make no sense: the file is only a hint.
func decodeRemembered(data []byte) ([]Candidate, error) {
	var file rememberedPeers
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("overlay: remembered peers: %w", err)
	}
	var list []Candidate
	for _, p := range file.Peers[:min(len(file.Peers), maxRemembered)] {
		id, err := peer.Decode(p.Peer)
		if err != nil || len(p.Addrs) == 0 {
			continue
		}
		list = append(list, Candidate{Peer: id, Addrs: mergeAddrs(p.Addrs, nil), Source: SourceRemembered})
	}
	return list, nil
}

func encodeRemembered(list []Candidate) ([]byte, error) {
	file := rememberedPeers{Peers: []rememberedPeer{}}
	for _, c := range list {
		file.Peers = append(file.Peers, rememberedPeer{Peer: c.Peer.String(), Addrs: c.Addrs})
	}
	return json.MarshalIndent(file, "", "  ")
}

// writeRemembered replaces the file as a whole: a crash leaves the old one or
// the new one.
func writeRemembered(path string, list []Candidate) error {
	data, err := encodeRemembered(list)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if syncErr := f.Sync(); err == nil {
		err = syncErr
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
