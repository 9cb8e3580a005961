// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// A finding key is the route key of a cluster: with it a gateway finds the members and
// lends them to another network. It opens neither their records nor what is sealed for
// the cluster, and from it the cluster key can't be had.

// routeKey derives the finding key from a cluster key.
func routeKey(k Key) Key { return Key(derive(len(Key{}), k[:], nil, labelRouteKey)) }

// NewFinder returns a cluster of which only finding keys are known, as Finding makes
// them. Its epochs have ids and proofs. OpenRecord, Open and Stream return
// ErrUnauthorized; to seal with it is a bug: it panics. It copies keys.
func NewFinder(name string, keys []KeyVersion) *Cluster {
	c := newCluster(name, &source{finds: true})
	c.keys.set(name, keys, timeless(keys))
	return c
}

// FindsOnly says whether only the finding key is known.
func (e Epoch) FindsOnly() bool { return e.s.get().of.get().finds }

// Finding returns the finding keys for cluster keys, with the same versions and times.
func Finding(keys []KeyVersion) []KeyVersion {
	out := slices.Clone(keys)
	for i := range out {
		out[i].Key = routeKey(out[i].Key)
	}
	return out
}

// Formats of records beside sealFormat.
const (
	partsFormat  = 2
	passedFormat = 3
	lentFormat   = 4

	lengthBytes = 2
	partsHead   = 1 + saltSize + lengthBytes

	// PartsOverhead is what SealRecordParts adds to both parts together, in bytes.
	PartsOverhead = partsHead + 2*tagSize
)

// SealRecordParts encrypts a record in two parts: plain is for who holds the cluster
// key, reach also for who holds the finding key. The result is
//
//	1 byte    format, 2
//	24 bytes  salt
//	2 bytes   length of the first part
//	…         plain: AES-256-GCM ciphertext and tag
//	…         reach: likewise
//
// Keys, nonces and associated data are as with SealRecord; the key of reach is derived
// from the finding key, with another label. plain has at most 65,519 bytes. rand must
// not fail. The caller owns the result.
func (e Epoch) SealRecordParts(rand io.Reader, plain, reach []byte) []byte {
	sealed := make([]byte, partsHead, PartsOverhead+len(plain)+len(reach))
	sealed[0] = partsFormat
	mustRead(rand, sealed[1:1+saltSize])
	binary.BigEndian.PutUint16(sealed[1+saltSize:], uint16(len(plain)+tagSize))
	head := sealed[:1+saltSize]
	return e.seal(labelReach, e.seal(labelRecord, sealed, head, plain), head, reach)
}

// OpenReach decrypts the second part of what SealRecordParts made under the same epoch.
// A finding key is enough. It returns ErrUnauthorized. The caller owns the result.
func (e Epoch) OpenReach(sealed []byte) ([]byte, error) {
	_, reach, ok := partsOf(sealed)
	if !ok {
		return nil, ErrUnauthorized
	}
	return e.open(labelReach, sealed[:1+saltSize], reach)
}

// PassedRecord returns what is passed on to another network of a record that
// SealRecordParts made: its first part, and a hash in place of the second one. ok says
// whether it is one. The result is
//
//	1 byte    format, 3
//	24 bytes  salt
//	2 bytes   length of the first part
//	…         the first part
//	32 bytes  SHA-256 of the second part
//
// The caller owns it.
func PassedRecord(sealed []byte) (passed []byte, ok bool) {
	first, reach, ok := partsOf(sealed)
	if !ok {
		return nil, false
	}
	hash := sha256.Sum256(reach)
	passed = slices.Concat(sealed[:partsHead], first, hash[:])
	passed[0] = passedFormat
	return passed, true
}

// IsPassedRecord says whether PassedRecord made it.
func IsPassedRecord(record []byte) bool { return len(record) > 0 && record[0] == passedFormat }

// SealLent encrypts the record of a member that a gateway lends with the finding key
// alone: it holds the member's own record, as PassedRecord made it. The result is
//
//	1 byte    format, 4
//	24 bytes  salt
//	…         AES-256-GCM ciphertext and tag
//
// rand must not fail. The caller owns the result.
func (e Epoch) SealLent(rand io.Reader, plain []byte) []byte {
	return e.sealWhole(lentFormat, labelLent, rand, plain)
}

// IsLentRecord says whether SealLent made it.
func IsLentRecord(record []byte) bool { return len(record) > 0 && record[0] == lentFormat }

// OpenLent decrypts what SealLent made under the same epoch. It returns
// ErrUnauthorized. The caller owns the result.
func (e Epoch) OpenLent(sealed []byte) ([]byte, error) {
	if len(sealed) < RecordOverhead || !IsLentRecord(sealed) {
		return nil, ErrUnauthorized
	}
	return e.open(labelLent, sealed[:1+saltSize], sealed[1+saltSize:])
}

// partsOf takes apart what SealRecordParts made.
func partsOf(sealed []byte) (first, reach []byte, ok bool) {
	if len(sealed) < PartsOverhead || sealed[0] != partsFormat {
		return nil, nil, false
	}
	first = sealed[partsHead:]
	n := int(binary.BigEndian.Uint16(sealed[1+saltSize:]))
	if n < tagSize || n > len(first)-tagSize {
		return nil, nil, false
	}
	return first[:n], first[n:], true
}

// recordPart returns the head and the ciphertext of what the cluster key opens.
func recordPart(sealed []byte) (head, ciphertext []byte, ok bool) {
	if len(sealed) < RecordOverhead {
		return nil, nil, false
	}
	head = slices.Clone(sealed[:1+saltSize])
	switch sealed[0] {
	case sealFormat:
		return head, sealed[1+saltSize:], true
	case partsFormat:
		ciphertext, _, ok = partsOf(sealed)
		return head, ciphertext, ok
	case passedFormat:
		head[0] = partsFormat
		if len(sealed) < partsHead+tagSize+sha256.Size {
			return nil, nil, false
		}
		ciphertext = sealed[partsHead : len(sealed)-sha256.Size]
		return head, ciphertext, len(ciphertext) == int(binary.BigEndian.Uint16(sealed[1+saltSize:]))
	}
	return nil, nil, false
}

const findingFormat = "arke-finding"

// FindingFile is what a gateway holds that lends a cluster without being able to read
// it. Printing one shows no key.
type FindingFile struct {
	// Name of the cluster.
	Name string
	// Keys are as Finding makes them, in order of their versions, the newest last.
	Keys []KeyVersion
}

// Finding returns the file for a gateway that finds the cluster and no more.
func (f ClusterFile) Finding() FindingFile { return FindingFile{Name: f.Name, Keys: Finding(f.Keys)} }

// ParseFindingFile reads what Encode writes, as strictly as ParseNetworkFile.
func ParseFindingFile(data []byte) (FindingFile, error) {
	f, err := parseKeysOf(findingFormat, data)
	return FindingFile(f), err
}

const findingFileHead = `# Arke finding file.
# Whoever holds it, in a cluster's network, can find the members of the cluster and where
# they are, but neither call, serve nor read it. It is for gateways.
# Keep it secret: mode 0600 (chmod 600), no mail, no repository.
`

// Encode returns the text of the file. It has the keys in clear.
func (f FindingFile) Encode() []byte {
	b := fmt.Appendf([]byte(findingFileHead), "%s %s\nname %s\n", findingFormat, keyFormatVersion, escapeName(f.Name))
	return appendKeys(b, f.Keys)
}

// ReadFindingFile reads and parses a file. It returns ErrForeignOwner or ErrLooseMode
// as ReadNetworkFile does.
func ReadFindingFile(path string) (FindingFile, error) {
	return parsed("finding file", path, ParseFindingFile)
}

// WriteFindingFile creates a file of mode 0600. It does not overwrite: the error is
// fs.ErrExist then.
func WriteFindingFile(path string, f FindingFile) error {
	if err := (*ClusterFile)(&f).check(); err != nil {
		return err
	}
	return writeSecretFile(path, f.Encode())
}
