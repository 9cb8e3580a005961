// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package report makes tables, plots and the verdict on each bar of the samples
// of package driver.
package report
