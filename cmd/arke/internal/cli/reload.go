// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/settings"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/security"
)

// hangups tells of each SIGHUP. It never ends a relay or a gateway: who sends one wants
// it to read its files again.
func hangups() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// waits returns true if the configuration is to be read again, and false when ctx
// has ended.
func waits(ctx context.Context, hangups <-chan os.Signal) bool {
	select {
	case <-ctx.Done():
		return false
	case <-hangups:
		return true
	}
}

// reload reads again what there are files of.
func (r *running) reload(ctx context.Context) {
	switch {
	case r.asked.config != "":
		r.reloadSettings()
	case r.asked.guests.policy == "" && r.asked.keyFile == "" && !r.asked.certificates.any() && len(r.asked.clusterKeys) == 0 && !r.asked.certificates.issues:
		r.log.Info("there is nothing to read again: this relay has neither --config nor --policy nor --key-file")
	}
	if r.asked.guests.policy != "" {
		r.reloadPolicy()
	}
	if r.asked.keyFile != "" || len(r.asked.clusterKeys) > 0 {
		r.reloadKeys() // before what the authority has signed that it names
	}
	if r.asked.certificates.any() {
		r.asked.certificates.reload(r.node, r.log)
	}
	r.issuing.reload(ctx, r.asked.certificates, r.node, r.log)
}

// reloadKeys reads the network's file again, its keys and its bans, and the files of
// clusters. Where the environment has the network's those of clusters change. If one of them makes no sense nothing changes.
func (r *running) reloadKeys() {
	file, err := r.network, error(nil) // what the environment has does not change
	if r.asked.keyFile != "" {
		file, err = security.ReadNetworkFile(r.asked.keyFile)
	}
	keys := node.Keys{Network: file}
	if err == nil {
		keys.Clusters, err = r.asked.readClusterKeys()
	}
	if err == nil {
		err = r.node.SetKeys(keys)
	}
	if err != nil {
		r.log.Error("the keys can't be used, so the old ones still hold", zap.Error(err))
		return
	}
	r.log.Info("keys read again", zap.String("file", r.asked.keyFile), zap.Strings("clusters", r.asked.clusterKeys))
}

// reloadPolicy reads the policy again. One that makes no sense changes nothing.
func (r *running) reloadPolicy() {
	file := r.asked.guests.policy
	p, err := readPolicy(file)
	if err == nil {
		err = r.relay.SetPolicy(p)
	}
	if err != nil {
		r.log.Error("the policy makes no sense, so the old one still holds", zap.Error(err))
		return
	}
	r.log.Info("policy read again", zap.String("file", file), zap.Int("rules", p.Len()))
}

// reloadSettings reads the configuration again. What can change does so at once, if all
// of it makes sense; what can't is named in a warning.
func (r *running) reloadSettings() {
	now := &relayFlags{nodeFlags: nodeFlags{certificates: certificateFlags{issues: r.asked.certificates.issues}}}
	f := pflag.NewFlagSet("relay", pflag.ContinueOnError)
	now.declare(f)
	now.config = r.asked.config
	err := r.settings.Repeat(f)
	var set *settings.Settings
	if err == nil {
		set, err = now.resolve(r.app, f)
	}
	if err == nil {
		err = now.validate(set)
	}
	if err == nil {
		_, err = now.log.parse()
	}
	if faults := now.addressFaults(); err == nil && len(faults) > 0 {
		err = faults[0]
	}
	if err != nil {
		r.log.Error("the configuration makes no sense, so nothing has changed", zap.Error(err))
		return
	}
	changed, fixed := settings.Changes(r.settings, set)
	for _, key := range changed {
		r.apply(key, now)
	}
	r.settings.Adopt(set)
	r.log.Info("configuration read again", zap.String("file", now.config), zap.Strings("changed", changed))
	if len(fixed) > 0 {
		r.log.Warn("these settings change when the relay is started again", zap.Strings("settings", fixed))
	}
}

// apply puts one setting into force that is not looked at each time when it is
// needed. Its flag is marked by settings.Reloads.
func (r *running) apply(key string, now *relayFlags) {
	switch key {
	case "log-level":
		if l, err := now.log.parse(); err == nil { // reload has looked
			r.level.SetLevel(l)
		}
	case "seed":
		if err := r.node.SetSeeds(now.seeds); err != nil {
			r.log.Error("the seeds can't be changed", zap.Error(err))
		}
	case "max-clients":
		r.relay.SetClients(now.limits.Clients)
	case "policy":
		if now.guests.policy != "" {
			return // reload reads it
		}
		if err := r.relay.SetPolicy(nil); err == nil {
			r.log.Warn("no policy holds any more: each program may do everything")
		}
	}
}
