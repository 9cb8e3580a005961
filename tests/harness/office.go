// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"path/filepath"
	"strings"
)

// Office is an issued network, whose authority is in files.
type Office struct {
	*Network
	files string
}

// NewOffice makes one in which certificates are "optional" or "required".
func NewOffice(t TB, certificates string) *Office {
	t.Helper()
	o := &Office{Network: NewNetwork(t), files: Folder(t)}
	said := Run(t, "authority", "init", "--key-file", o.Key(), "--out", o.File("authority.key")).Ends(0).Stdout
	lines := strings.Split(strings.TrimSpace(said), "\n")
	statement := strings.Replace(lines[len(lines)-1], "optional", certificates, 1)
	text, err := os.ReadFile(o.Key())
	must(t, err)
	must(t, os.WriteFile(o.Key(), append(text, statement+"\n"...), 0o600))
	return o
}

// File is the path of a file of the office.
func (o *Office) File(name string) string { return filepath.Join(o.files, name) }

// Does runs an `arke authority` command that takes the authority's key.
func (o *Office) Does(command string, args ...string) {
	o.t.Helper()
	Run(o.t, append([]string{"authority", command, "--authority", o.File("authority.key")}, args...)...).Ends(0)
}

// Certified starts a relay with a certificate of its name and these rights.
func (o *Office) Certified(name string, rights []string, options ...RelayOption) *Relay {
	o.t.Helper()
	certificate := o.File(name + ".cert")
	r := o.Prepared(name, append(options, Remembering(), Flags("--certificate", certificate))...)
	peer := strings.TrimSpace(Run(o.t, "authority", "request", "--data-dir", DataDirOf(r)).Ends(0).Stdout)
	o.Does("sign", append([]string{"--peer", peer, "--name", name, "--out", certificate}, rights...)...)
	r.Restart()
	return r
}
