// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

// Does runs `arke` with this command and these arguments at the relay, to its
// end.
func (r *Relay) Does(command string, args ...string) Result {
	r.t.Helper()
	return Run(r.t, append([]string{command, "--socket", r.socket}, args...)...)
}

// Reads is Does with a standard input.
func (r *Relay) Reads(stdin, command string, args ...string) Result {
	r.t.Helper()
	return Command{Args: append([]string{command, "--socket", r.socket}, args...), Stdin: stdin}.Run(r.t)
}

// Subscribes starts `arke subscribe` beside the relay and waits until the
// subscription is acknowledged.
func (r *Relay) Subscribes(pattern string, how ...string) *Process {
	r.t.Helper()
	args := append([]string{"subscribe", pattern, "--socket", r.socket}, how...)
	return Command{Args: args}.Start(r.t, "arke subscribe ready")
}

// Exposes starts `arke expose` beside the relay and waits until the service is
// a member.
func (r *Relay) Exposes(cluster, hostPort string) *Process {
	r.t.Helper()
	args := []string{"expose", cluster, "--to", "tcp://" + hostPort, "--socket", r.socket}
	return Command{Args: args}.Start(r.t, "arke expose ready")
}

// Forwards starts `arke forward` beside the relay; Said is where it listens.
func (r *Relay) Forwards(cluster string) *Process {
	r.t.Helper()
	args := []string{"forward", cluster, "--listen", "127.0.0.1:0", "--socket", r.socket, "--log-level", "info"}
	return Command{Args: args}.Start(r.t, "arke forward ready ")
}
