// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package reason puts errors of the system into words for people: in logs, in the
// status, in what a doctor finds.
package reason
