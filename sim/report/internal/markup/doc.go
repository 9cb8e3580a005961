// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package markup writes pages: elements, attributes and text.
//
// It is not a template engine: a page is made of calls, which the compiler
// checks. Package html/template would cost the program 4 MB, since its use of
// reflection keeps the linker from leaving out methods that nobody calls.
//
// # From calls to a page
//
//  1. El, Text, Class and the others make parts; nothing is written yet.
//  2. Document or String writes them, and escapes every text on the way.
//
// # Guarantees
//
// Whatever text goes in, a browser reads the same text, in the same place: it
// can't end an element, an attribute, a style or a script. Names of elements
// and attributes must be constants of the calling code, so no text from outside
// becomes one. Characters that a page can't hold (most control characters,
// invalid UTF-8) become U+FFFD.
//
// Functions are pure and start no goroutines. Parts don't change once made and
// may be used several times.
package markup
