// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package replay refuses what comes twice: messages that somebody has sealed, each
// with a serial that is used once, however they get here.
package replay
