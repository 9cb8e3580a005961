// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package meaning says what each counter and each field of a status means: one
// table, from which the help texts of /metrics, `arke status --explain` and the
// page docs/metrics.md are made. Whatever is counted has one name, and one entry
// here; tests/architecture checks that.
//
// # Data path
//
//  1. Package scrape asks for the help of what it exports: [Help].
//  2. The command line looks an entry up by the name that a status or /metrics
//     shows: [Find].
//  3. [Page] writes all of them as a page.
package meaning
