// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode"

	"github.com/arke-mesh/arke/internal/name"
)

const clusterFormat = "arke-cluster"

// MaxClusterName is the longest name of a cluster, in bytes.
const MaxClusterName = 255

// ClusterFile is what the members and callers of a cluster with keys of its own
// hold. Printing one shows no key.
type ClusterFile struct {
	// Name of the cluster, or of a group of topics with "topic:" in front.
	Name string
	// Keys are in order of their versions, the newest last, as in NetworkFile.
	Keys []KeyVersion
}

// GenerateClusterFile makes a file with one key. It returns ErrBadName for a name
// that no cluster can have, else the error of rand.
func GenerateClusterFile(name string, rand io.Reader) (ClusterFile, error) {
	f := ClusterFile{Name: name, Keys: []KeyVersion{{Version: 1}}}
	if _, err := io.ReadFull(rand, f.Keys[0].Key[:]); err != nil {
		return ClusterFile{}, fmt.Errorf("security: generate cluster: %w", err)
	}
	if err := f.check(); err != nil {
		return ClusterFile{}, err
	}
	return f, nil
}

// ParseClusterFile reads what Encode writes, as strictly as ParseNetworkFile.
func ParseClusterFile(data []byte) (ClusterFile, error) { return parseKeysOf(clusterFormat, data) }

// parseKeysOf reads a file of that format: a name and keys.
func parseKeysOf(format string, data []byte) (ClusterFile, error) {
	var f ClusterFile
	s := statements{
		format: format, version: keyFormatVersion, known: `"name" and "key"`,
		required: []string{"name", "key"}, repeated: map[string]bool{"key": true},
		parse: map[string]func(line) error{
			"name": f.parseName,
			"key":  func(l line) error { return parseKey(l, &f.Keys) },
		},
	}
	if err := s.read(data); err != nil {
		return ClusterFile{}, err
	}
	if err := f.check(); err != nil {
		return ClusterFile{}, err
	}
	return f, nil
}

func (f *ClusterFile) parseName(l line) error {
	if err := l.want("name"); err != nil {
		return err
	}
	unescaped, err := url.PathUnescape(l.words[1])
	if err != nil {
		return l.errorf("the name can't be read: a blank is written %%20, and a percent sign %%25")
	}
	if fault := clusterNameFault(unescaped); fault != "" {
		return l.errorf("no cluster can have the name: %s; in a file a blank is written %%20, and a percent sign %%25", fault)
	}
	f.Name = unescaped
	return nil
}

// clusterNameFault returns why no cluster or group of topics can have that name, ""
// if one can: a file for it would be of no use.
func clusterNameFault(s string) string {
	switch {
	case s == "" || len(s) > MaxClusterName:
		return fmt.Sprintf("it has %d bytes, 1 to %d are possible", len(s), MaxClusterName)
	case strings.HasPrefix(s, name.Reserved):
		return "names that begin with " + name.Reserved + " are reserved"
	}
	return name.Fault(s)
}

// check holds what ParseClusterFile holds, for a value that was not parsed.
func (f *ClusterFile) check() error {
	if fault := clusterNameFault(f.Name); fault != "" {
		return fmt.Errorf("%w: %.64q: %s", ErrBadName, f.Name, fault)
	}
	return CheckKeys(f.Keys)
}

const clusterFileHead = `# Arke cluster file.
# Whoever holds it, in the cluster's network, can call, serve and read the cluster.
# Keep it secret: mode 0600 (chmod 600), no mail, no repository.
# Of the keys that are valid now the two newest are accepted.
`

// Encode returns the text of the file. It has the keys in clear.
func (f ClusterFile) Encode() []byte {
	b := []byte(clusterFileHead)
	b = fmt.Appendf(b, "%s %s\nname %s\n", clusterFormat, keyFormatVersion, escapeName(f.Name))
	return appendKeys(b, f.Keys)
}

// escapeName makes a name one word: blanks, and what has a meaning in files, as
// in a URL (RFC 3986 section 2.1).
func escapeName(name string) string {
	var b strings.Builder
	for _, r := range name {
		if !unicode.IsSpace(r) && !strings.ContainsRune("%;#", r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(string(r)) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// ReadClusterFile reads and parses a file. It returns ErrForeignOwner or
// ErrLooseMode as ReadNetworkFile does.
func ReadClusterFile(path string) (ClusterFile, error) {
	return parsed("cluster file", path, ParseClusterFile)
}

// WriteClusterFile creates a file of mode 0600. It does not overwrite: the
// error is fs.ErrExist then.
func WriteClusterFile(path string, f ClusterFile) error {
	if err := f.check(); err != nil {
		return err
	}
	return writeSecretFile(path, f.Encode())
}
