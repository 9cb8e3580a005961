// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arke-mesh/arke/tests/harness"
)

// office is an issued network, whose authority is in files.
type office struct {
	t       *testing.T
	network *harness.Network
	dir     string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, network: harness.NewNetwork(t), dir: harness.Folder(t)}
	said := harness.Run(t, "authority", "init", "--key-file", o.network.Key(), "--out", o.file("authority.key")).Ends(0)
	lines := strings.Split(strings.TrimSpace(said.Stdout), "\n")
	statement := strings.Replace(lines[len(lines)-1], "optional", "required", 1)
	text, err := os.ReadFile(o.network.Key())
	require(t, err == nil, err)
	err = os.WriteFile(o.network.Key(), []byte(string(text)+statement+"\n"), 0o600)
	require(t, err == nil, err)
	return o
}

func (o *office) file(name string) string { return filepath.Join(o.dir, name) }

// relay starts a relay with a certificate of its name and these rights.
func (o *office) relay(name string, rights []string, options ...harness.RelayOption) *harness.Relay {
	o.t.Helper()
	r := o.network.Prepared(name, append(options, harness.Remembering(), harness.Flags("--certificate", o.file(name+".cert")))...)
	peer := strings.TrimSpace(harness.Run(o.t, "authority", "request", "--data-dir", harness.DataDirOf(r)).Ends(0).Stdout)
	harness.Run(o.t, append([]string{"authority", "sign", "--authority", o.file("authority.key"), "--peer", peer, "--name", name, "--out", o.file(name + ".cert")}, rights...)...).Ends(0)
	r.Restart()
	return r
}

// TestCertificatesRenewThemselvesWhileRequestsFlow proves the whole way of docs/keys.md: an
// issuer with a delegated key renews the certificates of relays, and its own, several times in
// less than a minute, while no request is lost; a relay that is killed comes back with what it
// was given; and one that was revoked is given nothing any more.
func TestCertificatesRenewThemselvesWhileRequestsFlow(t *testing.T) {
	scenario(t)
	o := newOffice(t)
	harness.Run(t, "authority", "delegate", "--authority", o.file("authority.key"), "--out", o.file("issuer.key"), "--each", "10s").Ends(0)
	brief := []string{"--call", ">", "--serve", ">", "--for", "10s", "--renew-for", "1h"}
	issuer := o.relay("issuer", append(brief, "--serve", "$authority"), harness.Verb("authority", "serve"), harness.Flags("--issuer", o.file("issuer.key")))
	a := o.relay("a", brief, harness.Seed(issuer))
	b := o.relay("b", brief, harness.Seed(issuer, a))
	harness.Together(t, issuer, a, b)
	a.Serves("geo", "--echo")
	b.Requests("geo", "x", "--wait").Gets("x")

	renewals := func(r *harness.Relay) uint64 {
		s, _, err := r.Status()
		if err != nil {
			return 0
		}
		return s.Certificate.Renewals
	}
	asked := 0
	harness.Eventually(t, time.Minute, "three renewals each", func() error {
		b.Requests("geo", "x", "--timeout", "5s").Gets("x")
		asked++
		for _, r := range []*harness.Relay{issuer, a, b} {
			if n := renewals(r); n < 3 {
				return fmt.Errorf("%d renewals", n)
			}
		}
		return nil
	})
	t.Logf("%d requests, each answered", asked)
	s, _, err := issuer.Status()
	require(t, err == nil && s.Certificate.Issuer.Renewed >= 9 && s.Certificate.Fault == "", err)
	shown := harness.Run(t, "status", "--socket", b.Socket()).Ends(0).Stdout
	require(t, strings.Contains(shown, "of b, until") && strings.Contains(shown, "next at"), shown)
	shown = harness.Run(t, "authority", "show", filepath.Join(harness.DataDirOf(b), "certificate")).Ends(0).Stdout
	require(t, strings.Contains(shown, "by delegation"), shown)

	b.Kill()
	b.Restart()
	b.Requests("geo", "y", "--wait").Gets("y")

	harness.Run(t, "authority", "revoke", "--authority", o.file("authority.key"), "--list", o.file("list"), "--certificate", o.file("b.cert")).Ends(0)
	issuer.Terminate()
	o.relay("issuer2", append(brief, "--serve", "$authority"), harness.Seed(a), harness.Verb("authority", "serve"),
		harness.Flags("--issuer", o.file("issuer.key"), "--revocations", o.file("list")))
	harness.Eventually(t, 20*time.Second, "the revoked one is cut off", func() error {
		if r := harness.Run(t, "request", "geo", "z", "--timeout", "2s", "--socket", b.Socket()); r.Code == 0 {
			return fmt.Errorf("it is answered")
		}
		return nil
	})
	had := renewals(a)
	harness.Eventually(t, 30*time.Second, "the other is renewed by the second issuer", func() error {
		if renewals(a) == had {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	harness.Eventually(t, 30*time.Second, "b says that it can't be renewed", func() error {
		s, _, err := b.Status()
		if err == nil && s.Certificate.RenewalFault == "" {
			err = fmt.Errorf("it does not")
		}
		return err
	})
}
