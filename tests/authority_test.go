// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

// TestCertificatesRenewThemselvesWhileRequestsFlow proves the whole way of docs/keys.md: an
// issuer with a delegated key renews the certificates of relays, and its own, several times in
// less than a minute, while no request is lost; a relay that is killed comes back with what it
// was given; and one that was revoked is given nothing any more.
func TestCertificatesRenewThemselvesWhileRequestsFlow(t *testing.T) {
	scenario(t)
	o := harness.NewOffice(t, "required")
	o.Does("delegate", "--out", o.File("issuer.key"), "--each", "10s")
	brief := []string{"--call", ">", "--serve", ">", "--for", "10s", "--renew-for", "1h"}
	issuer := o.Certified("issuer", append(brief, "--serve", "$authority"), harness.Verb("authority", "serve"), harness.Flags("--issuer", o.File("issuer.key")))
	a := o.Certified("a", brief, harness.Seed(issuer))
	b := o.Certified("b", brief, harness.Seed(issuer, a))
	harness.Together(t, issuer, a, b)
	a.Serves("geo", "--echo")
	b.Requests("geo", "x", "--wait").Gets("x")

	renewals := func(r *harness.Relay) int {
		s, _, _ := r.Status()
		return int(s.Certificate.Renewals)
	}
	asked := 0
	harness.AtLeast(t, 3, "renewals of each", func() int {
		b.Requests("geo", "x", "--timeout", "5s").Gets("x")
		asked++
		return min(renewals(issuer), renewals(a), renewals(b))
	})
	t.Logf("%d requests, each answered", asked)
	s, _, err := issuer.Status()
	require.NoError(t, err)
	require.GreaterOrEqual(t, s.Certificate.Issuer.Renewed, uint64(9))
	require.Empty(t, s.Certificate.Fault)
	shown := harness.Run(t, "status", "--socket", b.Socket()).Ends(0).Stdout
	require.Contains(t, shown, "of b, until")
	require.Contains(t, shown, "next at")
	shown = harness.Run(t, "authority", "show", filepath.Join(harness.DataDirOf(b), "certificate")).Ends(0).Stdout
	require.Contains(t, shown, "by delegation")

	b.Kill()
	b.Restart()
	b.Requests("geo", "y", "--wait").Gets("y")

	o.Does("revoke", "--list", o.File("list"), "--certificate", o.File("b.cert"))
	issuer.Terminate()
	o.Certified("issuer2", append(brief, "--serve", "$authority"), harness.Seed(a), harness.Verb("authority", "serve"),
		harness.Flags("--issuer", o.File("issuer.key"), "--revocations", o.File("list")))
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
