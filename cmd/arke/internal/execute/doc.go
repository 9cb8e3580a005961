// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package execute answers requests by running a shell command for each: the
// body is the command's standard input, its standard output is the reply.
package execute
