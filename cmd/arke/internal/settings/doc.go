// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package settings gives the flags of a command two more sources: a file and the
// environment. A flag is declared once, as a flag. By that it is a key of the
// file, with the same name, and a variable: --max-clients is the key max-clients
// and the variable ARKE_MAX_CLIENTS.
//
// # Precedence
//
// A flag stands above the environment, the environment above the file, and the
// file above the default. A flag that may be repeated is replaced as a whole: a
// seed in the environment hides all seeds of the file. A variable that is empty
// counts as not set.
//
// # The file
//
// It is YAML: one mapping from keys to values. What may be repeated is a list; in
// a variable, commas separate its values. Nothing is guessed: unknown keys, keys
// that come twice, and values that the flag would not take are problems, and each
// has its line.
//
//	key-file: /etc/arke/prod.key
//	seed:
//	  - relay-1.example:7400
//	  - relay-2.example:7400
//	log-level: info
//
// A file may have sections, under keys that its reader names ([File.Sections]): each
// has flags of its own.
//
// # Data path
//
//  1. The command declares its flags; [Reloads] names those that can change while
//     it runs. None is a secret: those are in files, which flags name.
//  2. [Read] parses the file, and [Resolve] sets the flags that were not given.
//  3. [Settings] tells for each value where it came from.
//  4. To reload, the command does the same with new flags, and [Changes] tells
//     what differs.
//
// It reads the YAML tree itself, with the parser that scenarios are read with.
// koanf would add a dependency for what is one loop here, and keeps no lines.
package settings
