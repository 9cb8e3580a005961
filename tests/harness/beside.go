// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

// beside is a place beside a relay: there programs run that attach to it.
type beside struct {
	t      TB
	socket string
}

// Socket returns the path of the relay's socket.
func (b beside) Socket() string { return b.socket }

// Serves starts `arke serve` with these arguments beside the relay and waits
// until it is registered.
func (b beside) Serves(cluster string, how ...string) *Process {
	b.t.Helper()
	args := append([]string{"serve", cluster, "--socket", b.socket}, how...)
	return Command{Args: args}.Start(b.t, "arke serve ready")
}

// Asks starts `arke request` with these arguments and does not wait for it.
func (b beside) Asks(cluster string, args ...string) *Process {
	b.t.Helper()
	return Command{Args: append([]string{"request", cluster, "--socket", b.socket}, args...)}.Start(b.t, "")
}

// Requests runs `arke request` with these arguments at the relay.
func (b beside) Requests(cluster string, args ...string) Result {
	b.t.Helper()
	return Run(b.t, append([]string{"request", cluster, "--socket", b.socket}, args...)...)
}

// Does runs `arke` with this command and these arguments at the relay, to its
// end.
func (b beside) Does(command string, args ...string) Result {
	b.t.Helper()
	return Run(b.t, append([]string{command, "--socket", b.socket}, args...)...)
}

// Reads is Does with a standard input.
func (b beside) Reads(stdin, command string, args ...string) Result {
	b.t.Helper()
	return Command{Args: append([]string{command, "--socket", b.socket}, args...), Stdin: stdin}.Run(b.t)
}

// Subscribes starts `arke subscribe` beside the relay and waits until the
// subscription is acknowledged.
func (b beside) Subscribes(pattern string, how ...string) *Process {
	b.t.Helper()
	args := append([]string{"subscribe", pattern, "--socket", b.socket}, how...)
	return Command{Args: args}.Start(b.t, "arke subscribe ready")
}

// Exposes starts `arke expose` beside the relay and waits until the service is
// a member.
func (b beside) Exposes(cluster, hostPort string) *Process {
	b.t.Helper()
	args := []string{"expose", cluster, "--to", "tcp://" + hostPort, "--socket", b.socket}
	return Command{Args: args}.Start(b.t, "arke expose ready")
}

// Forwards starts `arke forward` beside the relay; Said is where it listens.
func (b beside) Forwards(cluster string) *Process {
	b.t.Helper()
	args := []string{"forward", cluster, "--listen", "127.0.0.1:0", "--socket", b.socket, "--log-level", "info"}
	return Command{Args: args}.Start(b.t, "arke forward ready ")
}
