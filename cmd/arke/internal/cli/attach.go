// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/settings"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// attachment holds the flags that say where the relay is.
type attachment struct {
	env     Env
	name    string // what we call ourselves in the relay's status
	socket  string
	address string
	token   string   // the file with it
	trusted []string // users whose relays may be used
	keys    []string // files with keys of clusters
	wait    time.Duration
	// uses is the cluster that all keys must be for, "topic:" and a word for topics;
	// "" = any.
	uses string
	// observes says that the command only asks the relay about itself.
	observes bool
}

// nameOf returns the cluster that the command is about, as files of keys call it; "" if
// there is none, or several.
func nameOf(cmd *cobra.Command, args []string) string {
	if len(args) == 0 {
		return ""
	}
	name := args[0]
	switch {
	case strings.Contains(cmd.Use, "CLUSTER"):
		name, _, _ = strings.Cut(name, "@")
		return name
	case strings.Contains(cmd.Use, "TOPIC"), strings.Contains(cmd.Use, "PATTERN"):
		if word, _, _ := strings.Cut(name, "."); word != "*" && word != ">" {
			return "topic:" + word
		}
	}
	return ""
}

// shared are the flags of every command that attaches which are variables, too.
// The socket's variable, ARKE_SOCKET, is read where the socket is looked for.
func shared() []string {
	return []string{"address", "token-file", "trust-user", "cluster-key-file", "wait-relay", "log-level", "log-format", "drain-timeout"}
}

// resolve takes what the environment says. A --socket hides ARKE_ADDRESS.
func (t *attachment) resolve(cmd *cobra.Command, environ []string) error {
	names := shared()
	if t.socket != "" {
		names = names[1:]
	}
	if err := settings.FromVariables(cmd.Flags(), environ, names...); err != nil {
		return misuse(cmd, err)
	}
	if t.wait < 0 {
		return misuse(cmd, fmt.Errorf("--wait-relay %s is negative", t.wait))
	}
	return nil
}

func (t *attachment) target() string {
	if t.address != "" {
		return t.address
	}
	return cmp.Or(t.socket, client.FindSocket(t.env.Socket, t.env.RuntimeDir))
}

// attachTime is how long a command that makes one call waits for a relay that may
// just be starting; stayTime, how long one that stays does. --wait-relay says
// something else.
const (
	attachTime = time.Second
	stayTime   = 5 * time.Second
)

// lookAgain is how long one socket is tried, before the relay is looked for
// elsewhere: it may come at the user's or the machine's.
const lookAgain = time.Second

// attach connects to the relay, within the patience unless --wait-relay says how
// long. The caller closes the client.
func (t *attachment) attach(ctx context.Context, patience time.Duration, log *zap.Logger) (*client.Client, error) {
	if t.wait == 0 {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return t.dial(ctx, log)
	}
	ctx, cancel := context.WithTimeout(ctx, t.wait)
	defer cancel()
	for {
		trying, tried := context.WithTimeout(ctx, lookAgain)
		c, err := t.dial(trying, log)
		again := ctx.Err() == nil && trying.Err() != nil
		tried()
		if err == nil || !again {
			return c, err
		}
	}
}

// dial connects to the relay as it is found now.
func (t *attachment) dial(ctx context.Context, log *zap.Logger) (*client.Client, error) {
	if t.address != "" && t.socket != "" {
		return nil, errors.New("choose one of --socket and --address")
	}
	cfg := client.Config{Name: t.name, Logger: log, Observer: t.observes}
	var err error
	if t.address != "" {
		cfg.Address = t.address
		if cfg.Token, err = readToken(t.token, t.env.Token); err != nil {
			return nil, err
		}
		if len(cfg.Token) < client.MinToken {
			return nil, ended(patterns.OutcomeUnauthorized, "--address needs the relay's token, %d bytes or more, from --token-file or ARKE_TOKEN: there are %d", client.MinToken, len(cfg.Token))
		}
	} else {
		cfg.Socket, cfg.Named = t.target(), t.socket != "" || t.env.Socket != ""
	}
	if cfg.TrustUsers, err = client.ParseUsers(strings.Join(t.trusted, ",")); err != nil {
		return nil, fmt.Errorf("--trust-user: %w", err)
	}
	for _, path := range t.keys {
		keys, err := client.ReadKeys(path)
		if err != nil {
			return nil, fmt.Errorf("--cluster-key-file: %w", err)
		}
		if t.uses != "" && keys.Name != t.uses {
			return nil, fmt.Errorf("--cluster-key-file %s has the keys of %s, and this command uses %s, which would then have no key of its own: correct the name, or leave out the file", path, keys.Name, t.uses)
		}
		cfg.Keys = append(cfg.Keys, keys)
	}
	if err := client.CheckKeys(cfg); err != nil {
		return nil, fmt.Errorf("--cluster-key-file: %w", err)
	}
	c, err := client.New(cfg)
	if err == nil {
		err = c.Start(ctx)
	}
	if err != nil {
		if c != nil {
			c.Close()
		}
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, &attachError{target: t.target(), err: err}
	}
	return c, nil
}

// within attaches, does what is to be done, and detaches, all of it within the
// time-out; but the time that --wait-relay grants comes before it.
func (t *attachment) within(ctx context.Context, timeout time.Duration, do func(context.Context, *client.Client) error) error {
	begin := time.Now()
	c, err := t.attach(ctx, min(timeout, attachTime), nil)
	if err != nil {
		return err
	}
	defer c.Close()
	if t.wait > 0 {
		begin = time.Now()
	}
	ctx, cancel := context.WithDeadline(ctx, begin.Add(timeout))
	defer cancel()
	return do(ctx, c)
}
