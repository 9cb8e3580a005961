// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
)

// admin is the path of the relay's admin address, if it is on a machine.
func (r *Relay) admin() string { return filepath.Join(r.network.dir, r.name+".adm") }

// Page asks the admin address of a relay on a machine, and returns status and body in
// one text.
func (r *Relay) Page(path string) (string, error) {
	var d net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "unix", r.admin())
	}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := transport.RoundTrip(ask)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return fmt.Sprintf("%d %s", answer.StatusCode, body), err
}

// Doctor runs `arke doctor` with the relay's flags on its machine, beside it if it runs.
func (r *Relay) Doctor() Result {
	r.t.Helper()
	inside := r.cfg.on.wrap(nil)
	if r.Alive() {
		inside = []string{"nsenter", "--target", strconv.Itoa(r.cmd.Process.Pid), "--net", "--mount", "--"}
	}
	return Command{Args: append([]string{"doctor"}, r.flags...), Inside: inside}.Run(r.t)
}

// Inner is the path of a file as it is for the relay's process, from outside of its
// mounts.
func (r *Relay) Inner(path string) string {
	return fmt.Sprintf("/proc/%d/root%s", r.cmd.Process.Pid, path)
}
