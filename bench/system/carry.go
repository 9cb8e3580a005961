// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// carrySystems take connections of a database's clients to its server: through
// four processes of Arke's, or, as the limit, not at all.
func carrySystems() []System {
	return []System{
		{
			Name: "arke-forward", About: "a connection through arke forward → relay → relay → arke expose, TLS 1.3 between the relays",
			Version: arkeVersion, Missing: databaseMissing, Start: arkeRelays(2), Carry: carryThroughArke,
		},
		{
			Name: "direct", About: "limit: a connection to the database itself, plain TCP",
			Version: databaseVersion, Missing: databaseMissing,
			Carry: func(_ Site, _ []string, address string) (string, error) { return address, nil },
		},
		{
			Name: "chain-4", About: "limit: a connection through four forwarders that look at no byte, over unix sockets and TLS 1.3, as through Arke's four processes",
			Version: databaseVersion, Missing: databaseMissing, Carry: carryThroughChain,
		},
	}
}

// carryThroughArke exposes what is at address beside the second relay, and
// returns a port beside the first one that leads there.
func carryThroughArke(site Site, sockets []string, address string) (string, error) {
	_, err := site.Launch("arke expose ready", nil,
		site.Arke(), "expose", service, "--to", "tcp://"+address, "--socket", sockets[1])
	if err != nil {
		return "", err
	}
	return site.Launch("arke forward ready ", nil,
		site.Arke(), "forward", service, "--listen", "127.0.0.1:0", "--socket", sockets[0], "--log-level", "info")
}

// carryThroughChain puts bare forwarders where carryThroughArke has arke forward, two
// relays and arke expose.
func carryThroughChain(site Site, _ []string, address string) (string, error) {
	if err := writeCertificate(site.Dir()); err != nil {
		return "", err
	}
	socket := func(name string) string { return "unix:" + filepath.Join(site.Dir(), name) }
	begin, middle := site.FreePort(), "tls:"+site.FreePort()
	hops := []string{"tcp:" + address, socket("far.sock"), middle, socket("near.sock"), "tcp:" + begin}
	for i, listen := range hops[1:] {
		if err := launchForward(site, listen, hops[i]); err != nil {
			return "", err
		}
	}
	return begin, nil
}

// DatabasePrograms returns the folder of the programs of PostgreSQL that this
// machine has, of its newest version.
func DatabasePrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if err != nil {
		return "", err
	}
	if len(found) > 0 { // two digits each, for years
		return filepath.Dir(found[len(found)-1]), nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if dir := filepath.Dir(path); exists(filepath.Join(dir, "pgbench")) {
			return dir, nil
		}
	}
	return "", errors.New("PostgreSQL is not installed: make deps")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func databaseMissing() error {
	_, err := DatabasePrograms()
	return err
}

// databaseVersion is that of PostgreSQL: "pgbench (PostgreSQL) 15.18 (…)".
func databaseVersion() string {
	dir, err := DatabasePrograms()
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(ask(filepath.Join(dir, "pgbench"), []string{"--version"}), "(PostgreSQL) ")
	version, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return version
}
