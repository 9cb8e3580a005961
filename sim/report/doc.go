// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package report turns a run into something to read: JSON for programs, a page
// for people, and a summary of many seeds.
package report
