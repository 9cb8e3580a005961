// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"
)

const networkFormat = "arke-network"

// MaxBans is how many peers a network file bans at most.
const MaxBans = 1024

// MaxNetworkName is the longest name of a network, in bytes.
const MaxNetworkName = 63

// NetworkID is the permanent random id of a network. It is not secret.
type NetworkID [16]byte

// String returns 32 hexadecimal digits.
func (id NetworkID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText returns 32 hexadecimal digits.
func (id NetworkID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// NetworkFile is what everybody in a network holds. Printing one shows no key.
type NetworkFile struct {
	// Name is for people: letters, digits, dot, dash and underscore.
	Name string
	// ID never changes, Keys may.
	ID NetworkID
	// Keys are in order of their versions, the newest last. Accepted says which
	// of them count.
	Keys []KeyVersion
	// Bans are peers that no node with this file talks to. At most MaxBans.
	Bans []peer.ID
	// Issuance says whether nodes need certificates. Zero: they don't.
	Issuance Issuance
}

// GenerateNetworkFile makes a network with one key. It returns ErrBadName for
// a name that is empty, too long, or has other characters than NetworkFile
// allows, else the error of rand.
func GenerateNetworkFile(name string, rand io.Reader) (NetworkFile, error) {
	f := NetworkFile{Name: name, Keys: []KeyVersion{{Version: 1}}}
	if _, err := io.ReadFull(rand, f.ID[:]); err != nil {
		return NetworkFile{}, fmt.Errorf("security: generate network: %w", err)
	}
	if _, err := io.ReadFull(rand, f.Keys[0].Key[:]); err != nil {
		return NetworkFile{}, fmt.Errorf("security: generate network: %w", err)
	}
	if err := f.check(); err != nil {
		return NetworkFile{}, err
	}
	return f, nil
}

// ParseNetworkFile reads what Encode writes, as it comes from a file or an
// environment variable. It is strict: anything unknown, repeated, missing or
// of wrong length is ErrBadFile, with the line and what to do. Errors repeat no
// key.
func ParseNetworkFile(data []byte) (NetworkFile, error) {
	var f NetworkFile
	s := statements{
		format: networkFormat, version: keyFormatVersion, known: `"name", "id", "key", "ban" and "authority"`,
		required: []string{"name", "id", "key"}, repeated: map[string]bool{"key": true, "ban": true},
		parse: map[string]func(line) error{
			"name": f.parseName,
			"id":   func(l line) error { return l.hexValue(f.ID[:]) },
			"key":  func(l line) error { return parseKey(l, &f.Keys) },
			"ban":  f.parseBan,
			"authority": func(l line) (err error) {
				f.Issuance, err = parseIssuance(l)
				return err
			},
		},
	}
	if err := s.read(data); err != nil {
		return NetworkFile{}, err
	}
	if err := f.check(); err != nil {
		return NetworkFile{}, err
	}
	return f, nil
}

func (f *NetworkFile) parseName(l line) error {
	if err := l.want("name"); err != nil {
		return err
	}
	f.Name = l.words[1]
	if !validName(f.Name) {
		return l.errorf("%s", nameAdvice)
	}
	return nil
}

func (f *NetworkFile) parseBan(l line) error {
	if err := l.want("peerid"); err != nil {
		return err
	}
	p, err := peer.Decode(l.words[1])
	if err == nil {
		err = CheckPeerID(p)
	}
	if err != nil {
		return l.errorf("that is no peer id: copy it from `arke status` or a log")
	}
	if f.Banned(p) {
		return l.errorf("%s is banned twice: remove one of the lines", p)
	}
	f.Bans = append(f.Bans, p)
	return nil
}

// Banned says whether the file bans p.
func (f *NetworkFile) Banned(p peer.ID) bool { return slices.Contains(f.Bans, p) }

const nameAdvice = "a network's name has 1 to 63 letters, digits, dots, dashes and underscores"

func validName(name string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
	return name != "" && len(name) <= MaxNetworkName && strings.Trim(name, allowed) == ""
}

// check holds what ParseNetworkFile holds, for a value that was not parsed.
func (f *NetworkFile) check() error {
	if !validName(f.Name) {
		return fmt.Errorf("%w: %s", ErrBadName, nameAdvice)
	}
	if f.ID == (NetworkID{}) {
		return fmt.Errorf("%w: the network id is all zeros: make a network with `arke keygen`", ErrBadFile)
	}
	if len(f.Bans) > MaxBans {
		return fmt.Errorf("%w: it bans %d peers, %d are possible: change the network's key, and begin a new list", ErrBadFile, len(f.Bans), MaxBans)
	}
	for i, p := range f.Bans {
		if CheckPeerID(p) != nil || slices.Contains(f.Bans[:i], p) {
			return fmt.Errorf("%w: its bans must be peer ids of nodes, each once", ErrBadFile)
		}
	}
	return CheckKeys(f.Keys)
}

const networkFileHead = `# Arke network file.
# Whoever holds it can join this network and read what its clusters say.
# Keep it secret: mode 0600 (chmod 600), no mail, no repository.
# The id never changes. Of the keys that are valid now the two newest are accepted.
`

// Encode returns the text of the file. It has the keys in clear.
func (f NetworkFile) Encode() []byte {
	b := []byte(networkFileHead)
	b = fmt.Appendf(b, "%s %s\nname %s\nid %s\n", networkFormat, keyFormatVersion, f.Name, f.ID)
	b = appendKeys(b, f.Keys)
	for _, p := range f.Bans {
		b = fmt.Appendf(b, "ban %s\n", p)
	}
	if f.Issuance.Issued() {
		b = fmt.Appendf(b, "%s\n", f.Issuance)
	}
	return b
}

// ReadNetworkFile reads and parses a file. It returns ErrForeignOwner or ErrLooseMode unless the
// file's mode is 0600 or stricter.
func ReadNetworkFile(path string) (NetworkFile, error) {
	return parsed("network file", path, ParseNetworkFile)
}

// WriteNetworkFile creates a file of mode 0600. It does not overwrite: the
// error is fs.ErrExist then.
func WriteNetworkFile(path string, f NetworkFile) error {
	if err := f.check(); err != nil {
		return err
	}
	return writeSecretFile(path, f.Encode())
}
