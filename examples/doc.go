// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package examples holds one runnable program for each thing a user may want
// to do, each in a folder of its own and complete in itself. Its test runs
// them all as their headers say.
package examples
