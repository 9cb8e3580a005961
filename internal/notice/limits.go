// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/meaning"
)

// Again is the time between two lines about the same limit.
const Again = time.Minute

// Line is one line of a log.
type Line struct {
	Warn   bool // else it is for information
	Text   string
	Fields []zap.Field
}

// Limits decides what the log says of limits that are reached: each at once, and then
// once a minute while it goes on, with how often it was since the line before. Pure
// core; the zero value is ready.
type Limits struct {
	told map[string]toldLimit
}

// toldLimit is what the log has said of one limit.
type toldLimit struct {
	count uint64
	at    time.Time
}

// Step looks at counters: reason, as package meaning has it, to count since the start.
// Reasons that are no limits are left alone.
func (l *Limits) Step(now time.Time, counts map[string]uint64) (news []Line) {
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		count, told := counts[reason], l.told[reason]
		if count <= told.count || told.count > 0 && now.Sub(told.at) < Again || !meaning.IsLimit(reason) {
			continue
		}
		if l.told == nil {
			l.told = map[string]toldLimit{}
		}
		l.told[reason] = toldLimit{count, now}
		news = append(news, Line{Warn: true, Text: "a limit is reached", Fields: []zap.Field{
			zap.String("limit", reason), zap.Uint64("times", count-told.count), zap.Uint64("since_start", count),
			zap.String("means", meaning.OfReason(reason)),
		}})
	}
	return news
}
