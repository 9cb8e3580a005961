// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package zones is the service of the demo: questions about the IANA
// time-zone database, answered by its members, and a second opinion by which
// the caller checks every answer.
//
// There are two questions, in JSON:
//
//	{"convert":"2024-03-31T12:00:00+02:00","to":"Asia/Tokyo"}
//	{"transitions":"Europe/Berlin","year":2024}
//
// A member answers the first with time.Time.In and the second by walking
// time.Time.ZoneBounds. The caller does neither: an Oracle samples each zone
// day by day, narrows every change down by bisection, and answers from the
// resulting table with plain arithmetic. The two share the database, as they
// should, but not the way to the answer, so a reply that belongs to another
// request, is truncated, or was mixed up on the way does not pass.
package zones
