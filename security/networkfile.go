// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

const networkFormat = "arke-network"

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
	// Keys are in order of their versions, the newest last. The last two are
	// accepted; older ones may stay in the list but are not.
	Keys []KeyVersion
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
	lines, err := expectHeader(splitLines(data), networkFormat)
	if err != nil {
		return NetworkFile{}, err
	}
	var f NetworkFile
	seen := make(map[string]int)
	for _, l := range lines {
		word := l.words[0]
		if at := seen[word]; at != 0 && word != "key" {
			return NetworkFile{}, l.errorf("%q is already in line %d: remove one of them", word, at)
		}
		seen[word] = l.number
		switch word {
		case "name":
			err = f.parseName(l)
		case "id":
			if err = l.want("hex"); err == nil {
				err = l.hexInto(f.ID[:], 1)
			}
		case "key":
			err = f.parseKey(l)
		default:
			err = l.unknown(`"name", "id" and "key"`)
		}
		if err != nil {
			return NetworkFile{}, err
		}
	}
	for _, word := range []string{"name", "id", "key"} {
		if seen[word] == 0 {
			return NetworkFile{}, fmt.Errorf("%w: it has no %q line: copy the original file again", ErrBadFile, word)
		}
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

func (f *NetworkFile) parseKey(l line) error {
	if err := l.want("version", "hex"); err != nil {
		return err
	}
	v, err := l.version(1)
	if err != nil {
		return err
	}
	if n := len(f.Keys); n > 0 && v <= f.Keys[n-1].Version {
		return l.errorf("key version %d follows version %d: each version may occur once, in rising order", v, f.Keys[n-1].Version)
	}
	k := KeyVersion{Version: v}
	if err := l.hexInto(k.Key[:], 2); err != nil {
		return err
	}
	if k.Key.IsZero() {
		return l.errorf("key version %d is all zeros, which is no key: make one with `arke keygen`", v)
	}
	f.Keys = append(f.Keys, k)
	return nil
}

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
	return CheckKeys(f.Keys)
}

const networkFileHead = `# Arke network file.
# Whoever holds it can join this network and read what its clusters say.
# Keep it secret: mode 0600 (chmod 600), no mail, no repository.
# The id never changes. The two newest keys are accepted.
`

// Encode returns the text of the file. It has the keys in clear.
func (f NetworkFile) Encode() []byte {
	b := []byte(networkFileHead)
	b = fmt.Appendf(b, "%s 1\nname %s\nid %s\n", networkFormat, f.Name, f.ID)
	for _, k := range f.Keys {
		b = fmt.Appendf(b, "key %d ", k.Version)
		b = hex.AppendEncode(b, k.Key[:])
		b = append(b, '\n')
	}
	return b
}

// ReadNetworkFile reads and parses a file. It returns ErrForeignOwner or ErrLooseMode unless the
// file's mode is 0600 or stricter.
func ReadNetworkFile(path string) (NetworkFile, error) {
	data, err := readSecretFile(path)
	if err != nil {
		return NetworkFile{}, fmt.Errorf("network file: %w", err)
	}
	f, err := ParseNetworkFile(data)
	if err != nil {
		return NetworkFile{}, fmt.Errorf("network file %s: %w", path, err)
	}
	return f, nil
}

// WriteNetworkFile creates a file of mode 0600. It does not overwrite: the
// error is fs.ErrExist then.
func WriteNetworkFile(path string, f NetworkFile) error {
	if err := f.check(); err != nil {
		return err
	}
	return writeSecretFile(path, f.Encode())
}
