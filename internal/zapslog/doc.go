// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package zapslog lets a zap logger write to a slog handler: the layers below
// log with zap, and programs hand in a slog logger.
package zapslog
