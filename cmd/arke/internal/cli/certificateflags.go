// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/security"
)

// certificateFlags say what a relay shows in an issued network.
type certificateFlags struct {
	certificate string
	revocations string
	issues      bool // it is arke authority serve: there is --issuer
	issuer      string
}

func (c *certificateFlags) declare(f *pflag.FlagSet) {
	f.StringVar(&c.certificate, "certificate", "", "this node's certificate `FILE`, from 'arke authority sign'; SIGHUP reloads it")
	if c.issues {
		f.StringVar(&c.issuer, "issuer", "", "the `FILE` with the key that renews certificates, from 'arke authority delegate'; SIGHUP reloads it")
	}
	f.StringVar(&c.revocations, "revocations", "", "a `FILE` of revocations, from 'arke authority revoke', to tell all nodes; SIGHUP reloads it")
}

// any says whether there are files to read again.
func (c *certificateFlags) any() bool { return c.certificate != "" || c.revocations != "" }

// read reads the files into the configuration of a node.
func (c *certificateFlags) read(cfg *node.Config) (err error) {
	if c.certificate != "" {
		if cfg.Certificate, err = security.ReadCertificateFile(c.certificate); err != nil {
			return err
		}
	}
	if c.revocations != "" {
		if cfg.Revocations, err = security.ReadRevocationsFile(c.revocations); err != nil {
			return err
		}
	}
	if cfg.Network.Issuance.Required && cfg.Certificate == nil {
		return errors.New("this network requires certificates: 'arke authority request --data-dir DIR' prints what to have signed, and --certificate FILE takes the result")
	}
	return nil
}

// reload reads the files again. What makes no sense changes nothing.
func (c *certificateFlags) reload(n *node.Node, log *zap.Logger) {
	var now node.Config
	if err := c.read(&now); err != nil {
		log.Error("the certificate or the revocations can't be read, so nothing has changed", zap.Error(err))
		return
	}
	if now.Certificate != nil {
		if err := n.Credentials().Show(now.Certificate); err != nil {
			log.Error("the certificate is none for this node, so the old one still holds", zap.Error(err))
		} else {
			log.Info("certificate read again", zap.String("file", c.certificate), zap.Time("ends", n.Credentials().Status().NotAfter))
		}
	}
	if now.Revocations != nil {
		if err := n.Credentials().Revoke(now.Revocations); err != nil {
			log.Error("the revocations count for nothing, so the old ones still hold", zap.String("file", c.revocations), zap.Error(err))
		}
	}
}

// writeCertificate prints what the node shows in an issued network.
func (s relayStatus) writeCertificate(t table) {
	c := s.Certificate
	if c.Mode == "" || c.Mode == "shared" {
		return
	}
	text := "none"
	if c.Name != "" {
		text = fmt.Sprintf("of %s, until %s", c.Name, c.NotAfter.UTC().Format(time.RFC3339))
	}
	t.row("certificate", text+" ("+c.Mode+")")
	if c.Fault != "" {
		t.row("certificate", "other nodes refuse this one: "+c.Fault)
	}
	switch {
	case c.RenewalFault != "":
		t.row("renewal", fmt.Sprintf("failed, next try %s: %s", c.NextRenewal.UTC().Format(time.RFC3339), c.RenewalFault))
	case !c.NextRenewal.IsZero():
		t.row("renewal", "next at "+c.NextRenewal.UTC().Format(time.RFC3339)+last(c.Renewed))
	case c.Name != "":
		t.row("renewal", "by hand: 'arke authority renew'"+last(c.Renewed))
	}
	if i := c.Issuer; i != nil {
		t.row("issuer", fmt.Sprintf("until %s; %d renewed, %d refused", i.NotAfter.UTC().Format(time.RFC3339), i.Renewed, i.Refused))
	}
}

func last(renewed time.Time) string {
	if renewed.IsZero() {
		return ""
	}
	return ", last at " + renewed.UTC().Format(time.RFC3339)
}
