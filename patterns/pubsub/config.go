// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// What an Engine is given is in package env, which all parts of this one share.
type (
	Config    = env.Config
	Rights    = env.Rights
	Links     = env.Links
	Link      = env.Link
	Directory = env.Directory
	Watch     = env.Watch
)

const (
	// Prefix begins the names of the clusters of topics; see env.Prefix.
	Prefix = env.Prefix
	// MaxMessage bounds headers and body of a publication, in bytes.
	MaxMessage = env.MaxMessage
)

// FromOverlay returns o as this package sees it.
func FromOverlay(o *overlay.Overlay) Links { return env.FromOverlay(o) }

// FromClusters returns c as this package sees it.
func FromClusters(c *cluster.Clusters) Directory { return env.FromClusters(c) }

// CheckKeyedWord refuses first words whose topics can't have keys of their own. The error
// wraps patterns.ErrTopic.
func CheckKeyedWord(word string) error { return env.CheckKeyedWord(word) }
