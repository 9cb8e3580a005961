// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/arke-mesh/arke/internal/replacefile"
)

// What an authority signs is kept in files that are no secrets: text of the same
// form as key files, that nobody but their owner may change.
const (
	certificateFileFormat = "arke-certificate"
	revocationsFileFormat = "arke-revocations"
	signedWord            = "signed"
)

// ReadCertificateFile returns what is in a file that WriteCertificateFile wrote. It
// is not checked: the network's authority is not known here. Errors are ErrUnguarded,
// ErrBadFile, and those of package os.
func ReadCertificateFile(path string) ([]byte, error) {
	return readSigned(path, certificateFileFormat, MaxCertificate)
}

// WriteCertificateFile writes what Sign returned, in place of what is there.
func WriteCertificateFile(path string, encoded []byte) error {
	head := "# Arke certificate: who a node is and what it may do. No secret.\n"
	if c, err := DescribeCertificate(encoded); err == nil {
		head += fmt.Sprintf("# node %s, peer %s, serial %016x, until %s\n", c.Name, c.Peer, c.Serial, c.NotAfter.UTC().Format("2006-01-02 15:04 MST"))
	}
	return writeSigned(path, head, certificateFileFormat, encoded)
}

// ReadRevocationsFile is ReadCertificateFile for a list of revocations.
func ReadRevocationsFile(path string) ([]byte, error) {
	return readSigned(path, revocationsFileFormat, MaxRevocations)
}

// WriteRevocationsFile writes what SignRevocations returned, in place of what is there.
func WriteRevocationsFile(path string, encoded []byte) error {
	return writeSigned(path, "# Arke revocations: certificates and nodes that are good no longer. No secret.\n", revocationsFileFormat, encoded)
}

func readSigned(path, format string, limit int) ([]byte, error) {
	data, err := ReadGuardedFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.TrimPrefix(format, "arke-"), err)
	}
	var b []byte
	s := statements{
		format: format, version: "1", known: strconv.Quote(signedWord), required: []string{signedWord},
		parse: map[string]func(line) error{signedWord: func(l line) (err error) {
			if err := l.want("hex"); err != nil {
				return err
			}
			if b, err = hex.DecodeString(l.words[1]); err != nil || len(b) > limit {
				return l.errorf("%q needs at most %d hexadecimal digits: copy the file again", signedWord, 2*limit)
			}
			return nil
		}},
	}
	if err := s.read(data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// writeSigned replaces the file whole, so that nobody reads half of one. One that is there
// keeps its mode; of a link the file that it leads to is replaced.
func writeSigned(path, head, format string, encoded []byte) error {
	b := fmt.Appendf([]byte(head), "%s 1\n%s ", format, signedWord)
	b = append(hex.AppendEncode(b, encoded), '\n')
	mode := fs.FileMode(0o644)
	if at, err := filepath.EvalSymlinks(path); err == nil {
		path = at
		if info, err := os.Stat(path); err == nil {
			mode = info.Mode().Perm()
		}
	}
	return replacefile.Write(path, b, mode)
}
