// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// Defaults of what an issuer may do.
const (
	defaultDelegation = 90 * 24 * time.Hour
	defaultRenewal    = 24 * time.Hour
)

// serial is a random number of a certificate or a delegation.
func serial() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return max(binary.BigEndian.Uint64(b[:]), 1)
}

func authorityDelegateCommand(a App) *cobra.Command {
	var authority, out string
	var life, each time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "delegate",
		Short: "Make a key that renews certificates, for 'arke authority serve'",
		Long: `Make a key that renews certificates, for 'arke authority serve'.

Its holder can extend certificates that were signed with --renew-for, within that time
and until the delegation ends. It can't make a certificate or change rights, so the
authority's own key stays off the network. If the issuer's key is stolen, 'arke authority
revoke --serial NUMBER' revokes everything that was renewed with it.`,
		Example: "  arke authority delegate --authority authority.key --out issuer.key",
	}
	f := cmd.Flags()
	f.StringVar(&authority, "authority", "", "the authority's key `FILE`")
	f.StringVar(&out, "out", "", "`FILE` to create for the issuer's key; it must not exist")
	f.DurationVar(&life, "for", defaultDelegation, "how long the issuer may renew, from now on")
	f.DurationVar(&each, "each", defaultRenewal, "how long a certificate is good that it has renewed")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(*cobra.Command, []string) error {
		if authority == "" || out == "" {
			return misuse(cmd, errors.New("--authority and --out are required"))
		}
		if life < time.Second || each < time.Second {
			return misuse(cmd, errors.New("--for and --each are a second at least"))
		}
		key, err := security.LoadAuthority(authority)
		if err != nil {
			return err
		}
		terms := security.Delegation{Serial: serial(), NotBefore: time.Now().Truncate(time.Second), Life: each.Truncate(time.Second)}
		terms.NotAfter = terms.NotBefore.Add(life).Truncate(time.Second)
		issuer, err := security.NewIssuer(key, terms, rand.Reader)
		if err != nil {
			return err
		}
		if err := security.WriteIssuer(out, issuer); err != nil {
			return err
		}
		return printAs(a.Stdout, asJSON, map[string]any{
			"file": out, "serial": fmt.Sprintf("%016x", terms.Serial), "not_after": terms.NotAfter.UTC(), "each_seconds": terms.Life.Seconds(),
		}, "%s: delegation %016x, renews for %s at a time, until %s\n", out, terms.Serial, terms.Life, terms.NotAfter.UTC().Format(time.RFC3339))
	}
	return cmd
}

func authorityServeCommand(a App) *cobra.Command {
	flags := relayFlags{nodeFlags: nodeFlags{certificates: certificateFlags{issues: true}}}
	cmd := &cobra.Command{
		Use:   "serve --issuer FILE --key-file FILE --certificate FILE",
		Short: "Run a relay that renews the certificates of nodes",
		Long: `Run a relay that renews the certificates of nodes, and its own, with a key that
'arke authority delegate' has made. It has all flags of 'arke relay', and is one.

Nodes find it by themselves, as the cluster $authority. Run two of them or more, so that
one may be away. The certificate of each has to name the cluster: 'arke authority sign
--serve '$authority''. It renews the certificate that the asking node shows, with the
same rights, unless it was revoked or has ended more than 15 minutes ago; each node four times at
once, and once in 10 s after that. On SIGHUP it reads the issuer's key again, too.`,
		Example: `  arke authority sign --authority authority.key --peer 12D3KooW... --name issuer-1 --serve '$authority' --renew-for 8760h --out issuer-1.cert
  arke authority serve --issuer issuer.key --key-file home.key --data-dir /var/lib/arke --certificate issuer-1.cert`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRelay(a, cmd, &flags) },
	}
	flags.declare(cmd.Flags())
	return cmd
}

// issuing is how a relay renews certificates.
type issuing struct {
	key          security.Issuer
	registration patterns.Registration
}

// load reads the issuer's key, if this relay has one.
func (i *issuing) load(f certificateFlags) (err error) {
	if !f.issues {
		return nil
	}
	if f.issuer == "" {
		return errors.New("--issuer FILE is required: 'arke authority delegate' makes the key")
	}
	i.key, err = security.LoadIssuer(f.issuer)
	return err
}

// begin renews certificates from now on.
func (i *issuing) begin(ctx context.Context, n *node.Node, log *zap.Logger) (err error) {
	if i.key.IsZero() {
		return nil
	}
	if i.registration, err = n.Issue(ctx, i.key); err != nil {
		return err
	}
	terms := i.key.Terms()
	log.Info("this relay renews certificates", zap.Duration("each", terms.Life), zap.Time("until", terms.NotAfter))
	return nil
}

// reload reads the issuer's key again. One that makes no sense changes nothing.
func (i *issuing) reload(ctx context.Context, f certificateFlags, n *node.Node, log *zap.Logger) {
	var now issuing
	err := now.load(f)
	if err == nil && (now.key.IsZero() || now.key.Terms() == i.key.Terms()) {
		return
	}
	if err == nil {
		err = now.begin(ctx, n, log)
	}
	if err != nil {
		log.Error("the issuer's key can't be used, so the old one still counts", zap.Error(err))
		return
	}
	old := i.registration
	*i = now
	if err := old.Close(ctx); err != nil {
		log.Warn("some renewals by the old key were not finished", zap.Error(err))
	}
}
