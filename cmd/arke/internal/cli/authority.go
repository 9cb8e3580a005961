// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/internal/issued"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/security"
)

// defaultLife is how long a certificate is good if nothing else is said.
const defaultLife = 30 * 24 * time.Hour

func authorityCommand(a App) *cobra.Command {
	return group(&cobra.Command{
		Use:   "authority",
		Short: "Issue and revoke the certificates of an issued network's nodes",
		Long: `Issue and revoke the certificates of an issued network's nodes.

In a shared network every holder of the network file is admitted. In an issued one a
node also needs a certificate with its name and its rights. The key that signs
certificates, the authority, is never on a node. A running network moves from one kind
to the other:

  1. arke authority init                    makes the key, and prints a line
  2. add the line, with "optional", to the network file of every node
  3. arke authority request, sign           a certificate for each node
  4. start the nodes with --certificate
  5. change "optional" to "required" in every network file

Certificates that are signed with --renew-for are renewed before they end, by nodes that
run 'arke authority serve' with a key from 'arke authority delegate'.

'arke authority revoke' excludes a node or a certificate: give the list to any relay
by --revocations, and all nodes have it within seconds.`,
		Example: `  arke authority init --key-file home.key --out authority.key
  arke authority request --data-dir /var/lib/arke
  arke authority sign --authority authority.key --peer 12D3KooW... --name web-1 --call '>' --out web-1.cert
  arke authority revoke --authority authority.key --list revocations --peer 12D3KooW...`,
	}, authorityInitCommand(a), authorityRequestCommand(a), authoritySignCommand(a), authorityRenewCommand(a), authorityRevokeCommand(a), authorityShowCommand(a), authorityDelegateCommand(a), authorityServeCommand(a))
}

func authorityInitCommand(a App) *cobra.Command {
	var keyFile, out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make the key that issues a network's certificates",
		Long: `Make the key that issues a network's certificates, and print the line by which the
network file names it. Keep the key off the network's nodes, and a copy of it safe.`,
		Example: "  arke authority init --key-file home.key --out authority.key",
	}
	cmd.Flags().StringVar(&keyFile, "key-file", "", "the network file")
	cmd.Flags().StringVar(&out, "out", "", "file to create for the key; it must not exist")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(*cobra.Command, []string) error {
		if keyFile == "" || out == "" {
			return misuse(cmd, errors.New("--key-file and --out are required"))
		}
		network, err := security.ReadNetworkFile(keyFile)
		if err != nil {
			return err
		}
		key, err := security.GenerateAuthority(network.ID, rand.Reader)
		if err != nil {
			return err
		}
		if err := security.WriteAuthority(out, key); err != nil {
			return err
		}
		line := security.Issuance{Authority: key.ID()}.String()
		return printAs(a.Stdout, asJSON, map[string]string{"file": out, "authority": key.ID().String(), "statement": line},
			"%s: authority of network %s\nAdd this line to the network file of every node:\n%s\n", out, network.Name, line)
	}
	return cmd
}

func authorityRequestCommand(a App) *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "request",
		Short: "Print the peer id that a node's certificate is to be signed for",
		Long: `Print the peer id that a node's certificate is to be signed for. The node's key is
made in the data directory if there is none. A relay may be using the directory.`,
		Example: "  arke authority request --data-dir /var/lib/arke",
	}
	cmd.Flags().StringVar(&dir, "data-dir", "", "the data directory of the relay")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(*cobra.Command, []string) error {
		if dir == "" {
			return misuse(cmd, errors.New("--data-dir is required: a certificate is good for one node key, which is kept there"))
		}
		p, err := node.PeerID(dir)
		if err != nil {
			return err
		}
		return printAs(a.Stdout, asJSON, map[string]string{"peer": p.String()}, "%s\n", p)
	}
	return cmd
}

// signing is what the flags say about a certificate.
type signing struct {
	authority, out, peer string
	life, renewals       time.Duration
	asJSON               bool
	certificate          security.Certificate
}

func (s *signing) declare(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.authority, "authority", "", "the authority's key `FILE`")
	f.StringVar(&s.out, "out", "", "`FILE` to write")
	f.DurationVar(&s.life, "for", defaultLife, "how long it is good, from now on")
	f.DurationVar(&s.renewals, "renew-for", 0, "how long 'arke authority serve' may renew it, from now on; 0 = it may not")
	f.BoolVar(&s.asJSON, "json", false, "print one JSON object")
}

func authoritySignCommand(a App) *cobra.Command {
	var s signing
	cmd := &cobra.Command{
		Use:   "sign",
		Short: "Make a certificate for a node",
		Long: `Make a certificate for a node. It may serve, call, publish and subscribe the names and
patterns that are given, and nothing else: * is one word, > the rest.`,
		Example: `  arke authority sign --authority authority.key --peer 12D3KooW... --name web-1 --call '>' --out web-1.cert
  arke authority sign --authority authority.key --peer 12D3KooW... --name geo-1 --serve 'geo.*' --publish 'geo.>' --for 24h --out geo-1.cert`,
	}
	s.declare(cmd)
	f, c := cmd.Flags(), &s.certificate
	f.StringVar(&s.peer, "peer", "", "the node's peer id, from 'arke authority request'")
	f.StringVar(&c.Name, "name", "", "what people call the node")
	f.StringArrayVar(&c.Groups, "group", nil, "a group of the node, for people; may be repeated")
	f.StringArrayVar(&c.Serve, "serve", nil, "`PATTERN` of clusters that it may serve; may be repeated")
	f.StringArrayVar(&c.Call, "call", nil, "`PATTERN` of clusters that it may call; may be repeated")
	f.StringArrayVar(&c.Publish, "publish", nil, "`PATTERN` of topics that it may publish; may be repeated")
	f.StringArrayVar(&c.Subscribe, "subscribe", nil, "`PATTERN` of topics that it may subscribe; may be repeated")
	cmd.RunE = func(*cobra.Command, []string) error {
		if s.authority == "" || s.peer == "" || c.Name == "" || s.out == "" {
			return misuse(cmd, errors.New("--authority, --peer, --name and --out are required"))
		}
		var err error
		if c.Peer, err = peer.Decode(s.peer); err != nil {
			return misuse(cmd, fmt.Errorf("--peer %q is no peer id: 'arke authority request' prints it", s.peer))
		}
		if err := issued.CheckPatterns(c); err != nil {
			return misuse(cmd, err)
		}
		return s.issue(a)
	}
	return cmd
}

// issue signs the certificate with a new serial number, from now on.
func (s *signing) issue(a App) error {
	if s.life <= 0 {
		return fmt.Errorf("--for %s is not in the future", s.life)
	}
	key, err := security.LoadAuthority(s.authority)
	if err != nil {
		return err
	}
	if s.renewals != 0 && s.renewals < s.life {
		return fmt.Errorf("--renew-for %s is shorter than --for %s", s.renewals, s.life)
	}
	c := s.certificate
	c.Serial, c.NotBefore = serial(), time.Now().Truncate(time.Second)
	c.NotAfter, c.RenewUntil = c.NotBefore.Add(s.life).Truncate(time.Second), time.Time{}
	if s.renewals > 0 {
		c.RenewUntil = c.NotBefore.Add(s.renewals).Truncate(time.Second)
	}
	signed, err := key.Sign(c)
	if err != nil {
		return err
	}
	if err := security.WriteCertificateFile(s.out, signed); err != nil {
		return err
	}
	return printAs(a.Stdout, s.asJSON, describeCertificate(s.out, &c),
		"%s: certificate %016x of %s, until %s\n", s.out, c.Serial, c.Name, c.NotAfter.UTC().Format(time.RFC3339))
}

func authorityRenewCommand(a App) *cobra.Command {
	var s signing
	var old string
	cmd := &cobra.Command{
		Use:   "renew",
		Short: "Extend a certificate",
		Long: `Make a certificate with the same name and rights, and a later expiry. Without --out
the file is replaced. SIGHUP makes a relay reload it; its links stay.`,
		Example: "  arke authority renew --authority authority.key --certificate web-1.cert",
	}
	s.declare(cmd)
	cmd.Flags().StringVar(&old, "certificate", "", "the certificate `FILE` to renew")
	cmd.RunE = func(*cobra.Command, []string) error {
		if s.authority == "" || old == "" {
			return misuse(cmd, errors.New("--authority and --certificate are required"))
		}
		key, err := security.LoadAuthority(s.authority)
		if err != nil {
			return err
		}
		signed, err := security.ReadCertificateFile(old)
		if err != nil {
			return err
		}
		// What this authority has not signed itself it does not sign again.
		if s.certificate, err = security.OpenCertificate(key.ID(), key.Network(), signed); err != nil {
			return fmt.Errorf("%s: %w", old, err)
		}
		s.out = cmp.Or(s.out, old)
		// As the authority signed it: an issuer may have given it another time since.
		if c := &s.certificate; !cmd.Flags().Changed("renew-for") && !c.RenewUntil.IsZero() {
			if first, err := security.DescribeCertificate(security.Original(signed)); err == nil {
				s.renewals = max(c.RenewUntil.Sub(first.NotBefore), s.life)
			}
		}
		return s.issue(a)
	}
	return cmd
}

func authorityRevokeCommand(a App) *cobra.Command {
	var authority, list string
	var peers, serials, certificates []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "revoke",
		Short: "Revoke certificates, or exclude nodes",
		Long: `Revoke certificates, or exclude nodes. The command adds them to the list in a file,
creates the file if there is none, and increases the list's number. Give the list to any
relay with --revocations (SIGHUP reloads it). Within seconds all nodes have it and end
their links. Keep the file: a list replaces older ones as a whole.`,
		Example: `  arke authority revoke --authority authority.key --list revocations --peer 12D3KooW...
  arke authority revoke --authority authority.key --list revocations --certificate web-1.cert`,
	}
	f := cmd.Flags()
	f.StringVar(&authority, "authority", "", "the authority's key `FILE`")
	f.StringVar(&list, "list", "", "the `FILE` of revocations to extend, or to make")
	f.StringArrayVar(&peers, "peer", nil, "exclude the node of this peer `ID`, whatever certificates it has; may be repeated")
	f.StringArrayVar(&serials, "serial", nil, "take back the certificate, or all that was renewed by the delegation, of this `NUMBER`, in hexadecimal digits; may be repeated")
	f.StringArrayVar(&certificates, "certificate", nil, "take back the certificate in this `FILE`; may be repeated")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(*cobra.Command, []string) error {
		if authority == "" || list == "" || len(peers)+len(serials)+len(certificates) == 0 {
			return misuse(cmd, errors.New("--authority, --list, and one of --peer, --serial and --certificate are required"))
		}
		key, err := security.LoadAuthority(authority)
		if err != nil {
			return err
		}
		l, err := openList(key, list)
		if err != nil {
			return err
		}
		if err := extend(&l, peers, serials, certificates); err != nil {
			return misuse(cmd, err)
		}
		l.Number, l.Issued = l.Number+1, time.Now().Truncate(time.Second)
		signed, err := key.SignRevocations(l)
		if err != nil {
			return err
		}
		if err := security.WriteRevocationsFile(list, signed); err != nil {
			return err
		}
		if l, err = security.OpenRevocations(key.ID(), key.Network(), signed); err != nil {
			return err
		}
		return showList(a, list, &l, asJSON)
	}
	return cmd
}

// openList reads the list in a file; the empty one if there is no file.
func openList(key security.Authority, file string) (security.RevocationList, error) {
	signed, err := security.ReadRevocationsFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return security.RevocationList{}, nil
	}
	if err != nil {
		return security.RevocationList{}, err
	}
	l, err := security.OpenRevocations(key.ID(), key.Network(), signed)
	if err != nil {
		return l, fmt.Errorf("%s: %w", file, err)
	}
	return l, nil
}

// extend adds to a list what the flags name.
func extend(l *security.RevocationList, peers, serials, certificates []string) error {
	for _, text := range peers {
		p, err := peer.Decode(text)
		if err != nil {
			return fmt.Errorf("--peer %q is no peer id", text)
		}
		l.Peers = append(l.Peers, p)
	}
	for _, text := range serials {
		n, err := strconv.ParseUint(text, 16, 64)
		if err != nil || n == 0 {
			return fmt.Errorf("--serial %q is no number of up to 16 hexadecimal digits: 'arke authority show FILE' prints it", text)
		}
		l.Serials = append(l.Serials, n)
	}
	for _, file := range certificates {
		signed, err := security.ReadCertificateFile(file)
		if err != nil {
			return err
		}
		c, err := security.DescribeCertificate(signed)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		l.Serials = append(l.Serials, c.Serial)
	}
	return nil
}

func authorityShowCommand(a App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show FILE",
		Short:   "Show what is in a certificate; its signature is not checked",
		Example: "  arke authority show web-1.cert",
		Args:    positional(1, 1, "FILE"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		signed, err := security.ReadCertificateFile(args[0])
		if err != nil {
			return err
		}
		c, err := security.DescribeCertificate(signed)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		d := describeCertificate(args[0], &c)
		if asJSON {
			return writeJSON(a.Stdout, d)
		}
		t := newTable(a.Stdout)
		t.row("name", d.Name)
		t.row("peer", d.Peer)
		t.row("serial", d.Serial)
		t.row("good", d.NotBefore.Format(time.RFC3339)+" to "+d.NotAfter.Format(time.RFC3339))
		if !d.RenewUntil.IsZero() {
			t.row("renewable", "until "+d.RenewUntil.Format(time.RFC3339))
		}
		if d.Issuer != "" {
			t.row("renewed", "by delegation "+d.Issuer)
		}
		for _, list := range []struct {
			word  string
			names []string
		}{{"groups", d.Groups}, {"serve", d.Serve}, {"call", d.Call}, {"publish", d.Publish}, {"subscribe", d.Subscribe}} {
			if len(list.names) > 0 {
				t.row(list.word, strings.Join(list.names, " "))
			}
		}
		return t.flush()
	}
	return cmd
}

// certificateText is a certificate for people and tools.
type certificateText struct {
	File       string    `json:"file"`
	Name       string    `json:"name"`
	Peer       string    `json:"peer"`
	Serial     string    `json:"serial"`
	NotBefore  time.Time `json:"not_before"`
	NotAfter   time.Time `json:"not_after"`
	RenewUntil time.Time `json:"renew_until,omitzero"`
	Issuer     string    `json:"issuer,omitempty"` // serial number of the delegation by which it was renewed
	Groups     []string  `json:"groups,omitempty"`
	Serve      []string  `json:"serve,omitempty"`
	Call       []string  `json:"call,omitempty"`
	Publish    []string  `json:"publish,omitempty"`
	Subscribe  []string  `json:"subscribe,omitempty"`
}

func describeCertificate(file string, c *security.Certificate) certificateText {
	text := certificateText{
		File: filepath.Clean(file), Name: c.Name, Peer: c.Peer.String(), Serial: fmt.Sprintf("%016x", c.Serial),
		NotBefore: c.NotBefore.UTC(), NotAfter: c.NotAfter.UTC(),
		Groups: c.Groups, Serve: c.Serve, Call: c.Call, Publish: c.Publish, Subscribe: c.Subscribe,
	}
	if !c.RenewUntil.IsZero() {
		text.RenewUntil = c.RenewUntil.UTC()
	}
	if c.Issuer != 0 {
		text.Issuer = fmt.Sprintf("%016x", c.Issuer)
	}
	return text
}

func showList(a App, file string, l *security.RevocationList, asJSON bool) error {
	text := struct {
		File    string   `json:"file"`
		Number  uint64   `json:"number"`
		Serials []string `json:"serials"`
		Peers   []string `json:"peers"`
	}{File: file, Number: l.Number, Serials: []string{}, Peers: []string{}}
	for _, s := range l.Serials {
		text.Serials = append(text.Serials, fmt.Sprintf("%016x", s))
	}
	for _, p := range l.Peers {
		text.Peers = append(text.Peers, p.String())
	}
	return printAs(a.Stdout, asJSON, text, "%s: list %d: %d certificates, %d nodes\n", file, l.Number, len(l.Serials), len(l.Peers))
}
