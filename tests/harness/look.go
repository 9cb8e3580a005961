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

// adminOf is the path of a relay's admin address, if it is on a machine.
func adminOf(r *Relay) string { return filepath.Join(r.network.dir, r.name+".adm") }

// Page asks the admin address of a relay on a machine, and returns status and body in
// one text.
func Page(r *Relay, path string) (string, error) { return pageAt(adminOf(r), path) }

func pageAt(socket, path string) (string, error) {
	var d net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "unix", socket)
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

// Doctor runs `arke doctor` with a relay's flags on its machine, beside it if it runs.
func Doctor(r *Relay) Result {
	r.t.Helper()
	inside := r.cfg.on.wrap(nil)
	if r.Alive() {
		inside = []string{"nsenter", "--target", strconv.Itoa(r.cmd.Process.Pid), "--net", "--mount", "--"}
	}
	return Command{Args: append([]string{"doctor"}, r.flags...), Inside: inside}.Run(r.t)
}

// Inner is the path of a file as it is for a relay's process, from outside of its
// mounts.
func Inner(r *Relay, path string) string {
	return fmt.Sprintf("/proc/%d/root%s", r.cmd.Process.Pid, path)
}

// DataDirOf is where a relay keeps its data, if it is to.
func DataDirOf(r *Relay) string { return filepath.Join(r.network.dir, r.name) }
