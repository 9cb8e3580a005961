// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Postgres is a PostgreSQL server of the test: a data directory and a port on
// loopback of its own.
type Postgres struct {
	t        TB
	bin      string // folder of its programs
	hostPort string
	server   *Process
}

// pgUser is the database's user and its superuser.
const pgUser = "arke"

// NewPostgres makes and starts a server with these settings, NAME=VALUE each,
// or skips the test where PostgreSQL is not installed.
func NewPostgres(t TB, settings ...string) *Postgres {
	t.Helper()
	p := &Postgres{t: t, bin: postgresPrograms(), hostPort: FreePort(t)}
	if p.bin == "" {
		t.Skipf("PostgreSQL is not installed (on Debian: apt-get install postgresql)")
	}
	argv, owner := servant(t)
	dir := Folder(t)
	data := filepath.Join(dir, "pg")
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Mkdir(data, 0o700))
	if owner != nil {
		uid, _ := strconv.Atoi(owner.Uid)
		gid, _ := strconv.Atoi(owner.Gid)
		must(t, os.Chown(data, uid, gid))
	}
	initdb := append(slices.Clone(argv), filepath.Join(p.bin, "initdb"), "-D", data, "-U", pgUser, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	if out, err := p.command(time.Minute, "", initdb...); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	host, port, _ := net.SplitHostPort(p.hostPort)
	argv = append(argv, filepath.Join(p.bin, "postgres"), "-D", data, "-p", port,
		"-c", "listen_addresses="+host, "-c", "unix_socket_directories=")
	for _, s := range settings {
		argv = append(argv, "-c", s)
	}
	p.server = spawn(t, "postgres", "", nil, argv...)
	t.Cleanup(p.stop)
	Eventually(t, time.Minute, "that PostgreSQL is ready", func() error {
		_, err := p.Psql(p.hostPort, "select 1")
		return err
	})
	return p
}

// stop ends the server and waits; it leaves nothing behind.
func (p *Postgres) stop() {
	_ = p.server.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.server.done:
	case <-time.After(20 * time.Second):
		p.t.Errorf("PostgreSQL did not end")
	}
}

// HostPort is where it listens.
func (p *Postgres) HostPort() string { return p.hostPort }

// Psql runs a statement at the port and returns what psql printed: rows
// without decoration, fields separated by "|".
func (p *Postgres) Psql(hostPort, sql string) (string, error) {
	return p.PsqlReads(hostPort, sql, "")
}

// PsqlReads is Psql with a standard input, for COPY.
func (p *Postgres) PsqlReads(hostPort, sql, stdin string) (string, error) {
	host, port, _ := net.SplitHostPort(hostPort)
	return p.command(time.Minute, stdin, filepath.Join(p.bin, "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
		"-h", host, "-p", port, "-U", pgUser, "-d", "postgres", "-c", sql)
}

// Bench is what pgbench found.
type Bench struct {
	Transactions, Failed int
	PerSecond            float64
	Text                 string // all that it printed
}

// Pgbench runs pgbench at the port.
func (p *Postgres) Pgbench(hostPort string, args ...string) (Bench, error) {
	host, port, _ := net.SplitHostPort(hostPort)
	argv := append([]string{filepath.Join(p.bin, "pgbench"), "-h", host, "-p", port, "-U", pgUser}, args...)
	text, err := p.command(5*time.Minute, "", append(argv, "postgres")...)
	b := Bench{Text: text}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "number of transactions actually processed":
			b.Transactions, _ = strconv.Atoi(strings.TrimSpace(value))
		case "number of failed transactions":
			b.Failed, _ = strconv.Atoi(strings.Fields(value)[0])
		}
		if rest, ok := strings.CutPrefix(line, "tps = "); ok {
			b.PerSecond, _ = strconv.ParseFloat(strings.Fields(rest)[0], 64)
		}
	}
	return b, err
}

// command runs a program of PostgreSQL and returns what it printed.
func (p *Postgres) command(limit time.Duration, stdin string, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(environment(), "PGCONNECT_TIMEOUT=20")
	cmd.Dir = "/"
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w: %s", filepath.Base(argv[0]), err, strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}

// postgresPrograms returns the folder of the newest installed version's
// programs, "" if there is none.
func postgresPrograms() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	slices.SortFunc(found, func(x, y string) int { return version(y) - version(x) })
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	for _, path := range found {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "pgbench")); err == nil {
			return filepath.Dir(path)
		}
	}
	return ""
}

// servant returns how to run a program as another user where we are root,
// since PostgreSQL refuses to serve root; nothing elsewhere.
func servant(t TB) (argv []string, owner *user.User) {
	t.Helper()
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return as(u.Uid, u.Gid), u
		}
	}
	t.Skipf("PostgreSQL refuses to serve root, and there is no user postgres or nobody")
	return nil, nil
}
