// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

// Pattern is one of the ways to send something to a cluster.
type Pattern uint8

// The patterns. Numbers are those of the wire.
const (
	PatternRequest Pattern = iota
	PatternSurvey
	PatternPush
	PatternBroadcast
	PatternTunnel
)

// String returns the pattern's name as used in logs and metrics.
func (p Pattern) String() string {
	switch p {
	case PatternRequest:
		return "request"
	case PatternSurvey:
		return "survey"
	case PatternPush:
		return "push"
	case PatternBroadcast:
		return "broadcast"
	case PatternTunnel:
		return "tunnel"
	}
	return "unknown"
}
