// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/replacefile"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// bansHead is the first line of the file with what a node remembers of bans. The others
// are "file PEER", for each that its network file lists, and "said PEER NUMBER PROOF".
const bansHead = "arke bans 1"

var errBansFile = errors.New("node: it is no file of bans")

// rememberedBans is what a node knows of bans at its next start: the peers that its network
// file listed, so that only what is new in it is said, and what anybody has said, so that
// its own numbers go on from there and what was lifted stays so.
type rememberedBans struct {
	listed []peer.ID
	said   []overlay.Statement
}

func (r *rememberedBans) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, bansHead)
	for _, p := range r.listed {
		fmt.Fprintln(&b, "file", p)
	}
	for _, s := range r.said {
		fmt.Fprintf(&b, "said %s %d %x\n", peer.ID(s.Subject), s.Number, s.Proof)
	}
	return b.Bytes()
}

func parseBans(data []byte) (r rememberedBans, err error) {
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if lines[0] != bansHead {
		return r, errBansFile
	}
	for _, line := range lines[1:] {
		words := strings.Split(line, " ")
		if len(words) < 2 {
			return r, errBansFile
		}
		p, err := peer.Decode(words[1])
		switch {
		case err != nil:
			return r, fmt.Errorf("%w: %w", errBansFile, err)
		case words[0] == "file" && len(words) == 2:
			r.listed = append(r.listed, p)
		case words[0] == "said" && len(words) == 4:
			number, err := strconv.ParseUint(words[2], 10, 64)
			proof, wrong := hex.DecodeString(words[3])
			if err = errors.Join(err, wrong); err != nil || number == 0 {
				return r, fmt.Errorf("%w: %q", errBansFile, line)
			}
			r.said = append(r.said, overlay.Statement{Topic: wire.Statement_BAN, Subject: string(p), Number: number, Proof: proof})
		default:
			return r, fmt.Errorf("%w: %q", errBansFile, line)
		}
	}
	return r, nil
}

// bans returns what was kept of them; nothing if there is no file.
func (s state) bans() (rememberedBans, error) {
	data, err := kept(s, bansFile, os.ReadFile)
	if data == nil {
		return rememberedBans{}, err
	}
	return parseBans(data)
}

// keepBans keeps them for the next start.
func (s state) keepBans(r *rememberedBans) error {
	return replacefile.Write(filepath.Join(s.dir, bansFile), r.encode(), 0o600)
}
