// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"cmp"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"io"
)

const (
	authorityFormat = "arke-authority"
	signatureSize   = ed25519.SignatureSize
)

// AuthorityID is the public half of the key that issues a network's certificates. It
// is not secret.
type AuthorityID [ed25519.PublicKeySize]byte

// String returns 64 hexadecimal digits.
func (id AuthorityID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText returns 64 hexadecimal digits.
func (id AuthorityID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// Issuance says whether the nodes of a network need certificates. The zero value is
// a shared network: whoever holds its file is in.
type Issuance struct {
	// Authority issues the certificates. All zeros = nobody does.
	Authority AuthorityID
	// Required says that who shows no valid certificate is refused. Without it such a
	// node is let in, and may do everything: so a network moves from the one kind to
	// the other while it runs.
	Required bool
}

// Issued says whether there is an authority.
func (i Issuance) Issued() bool { return i.Authority != AuthorityID{} }

// The modes of an authority, as the network file has them.
const (
	modeOptional = "optional"
	modeRequired = "required"
)

// String returns the statement of the network file, or "" for a shared network.
func (i Issuance) String() string {
	switch {
	case !i.Issued():
		return ""
	case i.Required:
		return "authority " + i.Authority.String() + " " + modeRequired
	}
	return "authority " + i.Authority.String() + " " + modeOptional
}

// Format writes String, or "shared", whatever the verb.
func (i Issuance) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, cmp.Or(i.String(), "shared"))
}

// parseIssuance reads that statement.
func parseIssuance(l line) (i Issuance, err error) {
	if err := l.want("hex", modeOptional+"|"+modeRequired); err != nil {
		return Issuance{}, err
	}
	if err := l.hexInto(i.Authority[:], 1); err != nil {
		return Issuance{}, err
	}
	switch {
	case !i.Issued():
		return Issuance{}, l.errorf("the authority is all zeros, which is no key: make one with `arke authority init`")
	case l.words[2] != modeOptional && l.words[2] != modeRequired:
		return Issuance{}, l.errorf("write `authority HEX %s` while certificates are handed out, and `authority HEX %s` when all nodes have one", modeOptional, modeRequired)
	}
	i.Required = l.words[2] == modeRequired
	return i, nil
}

// Authority is the private key that issues certificates and revocations for one
// network. It prints as "[redacted]". The zero Authority is no key.
type Authority struct{ secret[authorityState] }

type authorityState struct {
	network NetworkID
	private ed25519.PrivateKey
}

// GenerateAuthority makes the key for a network from 32 bytes of rand.
func GenerateAuthority(network NetworkID, rand io.Reader) (Authority, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(rand, seed); err != nil {
		return Authority{}, fmt.Errorf("security: generate authority: %w", err)
	}
	return newAuthority(network, seed), nil
}

func newAuthority(network NetworkID, seed []byte) Authority {
	return Authority{keep(&authorityState{network, ed25519.NewKeyFromSeed(seed)})}
}

// ID is the public half, which network files name.
func (a Authority) ID() (id AuthorityID) {
	copy(id[:], a.get().private.Public().(ed25519.PublicKey))
	return id
}

// Network is the network that a issues for: what it signs is good in no other one.
func (a Authority) Network() NetworkID { return a.get().network }

// sign returns body with the signature behind it.
func (a Authority) sign(label string, body []byte) []byte {
	s := a.get()
	return append(body, ed25519.Sign(s.private, message(label, s.network[:], body))...)
}

// verified returns signed without its signature, if it is the authority's.
func (id AuthorityID) verified(label string, network NetworkID, signed []byte) (body []byte, ok bool) {
	at := len(signed) - ed25519.SignatureSize
	// All zeros are a point of order 4, for which anybody can make signatures.
	if at < 0 || id == (AuthorityID{}) {
		return nil, false
	}
	return signed[:at], ed25519.Verify(id[:], message(label, network[:], signed[:at]), signed[at:])
}

const authorityHead = `# Arke authority key: who holds it decides who is in the network, and who may do what.
# Keep it secret and off the network's nodes: mode 0600 (chmod 600), a backup.
`

// LoadAuthority reads a key that WriteAuthority wrote. It returns fs.ErrNotExist
// if there is none, ErrLooseMode, ErrForeignOwner or ErrBadFile.
func LoadAuthority(path string) (Authority, error) {
	return parsed("authority key", path, parseAuthority)
}

func parseAuthority(data []byte) (Authority, error) {
	var network NetworkID
	seed := make([]byte, ed25519.SeedSize)
	s := statements{
		format: authorityFormat, version: "1", known: `"network" and "seed"`, required: []string{"network", "seed"},
		parse: map[string]func(line) error{
			"network": func(l line) error { return l.hexValue(network[:]) },
			"seed":    func(l line) error { return l.hexValue(seed) },
		},
	}
	if err := s.read(data); err != nil {
		return Authority{}, err
	}
	if (*Key)(seed).IsZero() || network == (NetworkID{}) {
		return Authority{}, fmt.Errorf("%w: it has no key: copy the original file again", ErrBadFile)
	}
	return newAuthority(network, seed), nil
}

// WriteAuthority creates a file of mode 0600. It does not overwrite: the error is
// fs.ErrExist then.
func WriteAuthority(path string, a Authority) error {
	if a.IsZero() {
		return fmt.Errorf("%w: no key to write", ErrBadFile)
	}
	s := a.get()
	b := []byte(authorityHead)
	b = fmt.Appendf(b, "%s 1\nnetwork %s\nseed ", authorityFormat, s.network)
	b = hex.AppendEncode(b, s.private.Seed())
	return writeSecretFile(path, append(b, '\n'))
}
