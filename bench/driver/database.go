// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"math"
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

	"github.com/arke-mesh/arke/bench/system"
)

const (
	databaseUser = "arke"
	scale        = 10
	// databaseSpans is how many spans of other workloads pgbench is measured for:
	// each transaction waits for the disk.
	databaseSpans = 3
	// edge is left out at both ends of a run of pgbench: it connects, it ends.
	edge = 500 * time.Millisecond
)

// database is a PostgreSQL server of one run, with settings as they are by
// default and pgbench's tables in it.
type database struct {
	programs string
	address  string
	server   *exec.Cmd
	log      *tail
}

// startDatabase makes one in site's folder.
func startDatabase(site *site) (*database, error) {
	programs, err := system.DatabasePrograms()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(site.dir, "data")
	as, err := servant(site.dir, data)
	if err != nil {
		return nil, err
	}
	d := &database{programs: programs, address: site.FreePort(), log: new(tail)}
	initdb := append(slices.Clone(as), filepath.Join(programs, "initdb"), "-D", data, "-U", databaseUser, "-A", "trust",
		"-E", "UTF8", "--no-locale", "--no-sync")
	if out, err := d.run(initdb...); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	argv := append(as, filepath.Join(programs, "postgres"), "-D", data, "-p", port(d.address),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
	d.server = exec.Command(argv[0], argv[1:]...)
	d.server.Dir, d.server.Stderr = "/", d.log
	tie(d.server)
	if err := d.server.Start(); err != nil {
		return nil, err
	}
	if err := errors.Join(d.await(d.address), d.fill()); err != nil {
		d.close()
		return nil, fmt.Errorf("%w: %s", err, d.log)
	}
	return d, nil
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// servant makes the folder for data, and returns how to run a program as another
// user where we are root, which PostgreSQL refuses to serve.
func servant(dir, data string) (argv []string, err error) {
	if err := os.Mkdir(data, 0o700); err != nil || os.Getuid() != 0 {
		return nil, err
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	argv = []string{"setpriv", "--reuid", u.Uid, "--regid", u.Gid, "--clear-groups", "--pdeathsig", "KILL", "--"}
	return argv, errors.Join(os.Chmod(dir, 0o755), os.Chown(data, uid, gid))
}

// run runs one of PostgreSQL's programs to its end.
func (d *database) run(argv ...string) (string, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	tie(cmd)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// at returns the words of a program that connects to an address.
func (d *database) at(address, program string, args ...string) []string {
	argv := []string{filepath.Join(d.programs, program), "-h", "127.0.0.1", "-p", port(address), "-U", databaseUser}
	return append(argv, args...)
}

// await waits until the server answers at an address.
func (d *database) await(address string) error {
	var out string
	var err error
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if out, err = d.run(d.at(address, "psql", "-X", "-q", "-d", "postgres", "-c", "select 1")...); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the database does not answer: %w: %s", err, out)
}

func (d *database) fill() error {
	if out, err := d.run(d.at(d.address, "pgbench", "-i", "-q", "-s", strconv.Itoa(scale), "postgres")...); err != nil {
		return fmt.Errorf("pgbench -i: %w: %s", err, out)
	}
	return nil
}

// close ends the server at once: nobody needs its data any more.
func (d *database) close() {
	_ = d.server.Process.Signal(syscall.SIGQUIT)
	hard := time.AfterFunc(5*time.Second, func() { _ = d.server.Process.Kill() })
	_ = d.server.Wait()
	hard.Stop()
}

// transactions is what pgbench has found.
type transactions struct {
	done, failed uint64
	perSecond    float64
}

// parsePgbench reads what pgbench prints at its end.
func parsePgbench(text string) (t transactions, err error) {
	number := func(text string) (n uint64) {
		words := strings.Fields(text)
		if len(words) == 0 {
			err = errors.New("a number is missing in what pgbench printed")
			return 0
		}
		// "12345", and in older versions "12345/12345"
		first, _, _ := strings.Cut(words[0], "/")
		n, wrong := strconv.ParseUint(first, 10, 64)
		err = errors.Join(err, wrong)
		return n
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "number of transactions actually processed: "); ok {
			t.done = number(rest)
		}
		if rest, ok := strings.CutPrefix(line, "number of failed transactions: "); ok {
			t.failed = number(rest)
		}
		if rest, ok := strings.CutPrefix(line, "tps = "); ok {
			first, _, _ := strings.Cut(rest, " ")
			var wrong error
			t.perSecond, wrong = strconv.ParseFloat(first, 64)
			err = errors.Join(err, wrong)
		}
	}
	if err == nil && (t.done == 0 || t.perSecond == 0) {
		err = errors.New("pgbench did not say what it has done")
	}
	return t, err
}

// doDatabase is a run of pgbench against a server, to which the system carries
// the connections.
func (r *run) doDatabase(s *Sample, times Times) error {
	d, err := startDatabase(r.site)
	if err != nil {
		return err
	}
	defer d.close()
	address, err := r.sys.Carry(r.site, r.servers, d.address)
	if err != nil {
		return err
	}
	if err := d.await(address); err != nil {
		return err
	}
	seconds := math.Ceil((databaseSpans*times.Span + 2*edge).Seconds())
	argv := d.at(address, "pgbench", append(slices.Clone(r.work.Database),
		"-n", "-c", "8", "-j", "2", "-T", fmt.Sprint(int(seconds)), "postgres")...)
	var out strings.Builder
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &out, &out
	tie(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(edge)
	groups := map[string][]int{"database": family(d.server.Process.Pid), "client": family(cmd.Process.Pid)}
	for _, server := range r.site.servers {
		groups["server"] = append(groups["server"], family(server.Process.Pid)...)
	}
	began := time.Now()
	m := newMeter(groups)
	time.Sleep(time.Duration(seconds*float64(time.Second)) - 2*edge)
	used := m.read()
	metered := time.Since(began)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("pgbench: %w: %s", err, out.String())
	}
	done, err := parsePgbench(out.String())
	if err != nil {
		return fmt.Errorf("%w: %s", err, out.String())
	}
	s.Rate = done.perSecond
	if done.failed > 0 {
		s.Errors = map[string]uint64{"failed transaction": done.failed}
	}
	r.count = uint64(done.perSecond * metered.Seconds())
	r.account(s, used)
	return nil
}
