// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/arke-mesh/arke/bench/system"
)

// startTime is how long a server may take until it is ready.
const startTime = 60 * time.Second

// site is where the processes of one run are, implementing system.Site.
type site struct {
	dir     string
	arke    string
	clients int
	ports   map[string]bool

	servers []*exec.Cmd
	logs    []*tail
}

func newSite(arke string, clients int) (*site, error) {
	dir, err := os.MkdirTemp("", "arke-bench-")
	if err != nil {
		return nil, err
	}
	return &site{dir: dir, arke: arke, clients: clients, ports: map[string]bool{}}, nil
}

func (s *site) Dir() string                         { return s.dir }
func (s *site) Arke() string                        { return s.arke }
func (s *site) Clients() int                        { return s.clients }
func (s *site) Program(name string) (string, error) { return system.Program(name) }

func (s *site) FreePort() string {
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic("no free port: " + err.Error())
		}
		address := l.Addr().String()
		l.Close()
		if !s.ports[address] {
			s.ports[address] = true
			return address
		}
	}
}

func (s *site) Run(argv ...string) (string, error) {
	out, err := s.command(argv).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%s: %w: %s", filepath.Base(argv[0]), err, failed.Stderr)
	}
	return string(out), err
}

// command ties a process to this one: it does not outlive us.
func (s *site) command(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = s.dir
	tie(cmd)
	return cmd
}

func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func (s *site) Launch(ready string, env []string, argv ...string) (string, error) {
	cmd := s.command(argv)
	cmd.Env = append(os.Environ(), env...)
	log := new(tail)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	s.servers, s.logs = append(s.servers, cmd), append(s.logs, log)
	lines := make(chan string, 1)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(out)
		for said := false; scanner.Scan(); {
			line, ok := strings.CutPrefix(scanner.Text(), ready)
			if ok && !said && ready != "" {
				said = true
				lines <- line
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	if ready == "" {
		return "", nil
	}
	select {
	case line, ok := <-lines:
		if !ok {
			return "", fmt.Errorf("%s ended: %s", filepath.Base(argv[0]), log)
		}
		return line, nil
	case <-time.After(startTime):
		return "", fmt.Errorf("%s did not say %q: %s", filepath.Base(argv[0]), ready, log)
	}
}

func (s *site) Await(address string) error {
	var err error
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var conn net.Conn
		if conn, err = net.Dial("tcp", address); err == nil {
			return conn.Close()
		}
	}
	return fmt.Errorf("nobody listens: %w", err)
}

// close ends the servers, the last one first.
func (s *site) close() {
	for _, cmd := range slices.Backward(s.servers) {
		end(cmd)
	}
	os.RemoveAll(s.dir)
}

// end has a process and its children end, gently first.
func end(cmd *exec.Cmd) {
	group := -cmd.Process.Pid
	_ = syscall.Kill(group, syscall.SIGTERM)
	hard := time.AfterFunc(3*time.Second, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
	_ = cmd.Wait()
	hard.Stop()
	_ = syscall.Kill(group, syscall.SIGKILL)
}

// tail keeps the end of what a process prints.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}
