import { truncateToColumns } from './columns.ts'

/** Controls, direction characters, zero-width characters, and spaces other than U+0020. */
export const hiddenCharacters: string = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}`
const steering = /[\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\p{Cs}]/gu
/** Created on first use, because the engine then loads Unicode property tables. */
let anyHidden: RegExp | undefined

/** A code point in visible form: `⟦U+200B⟧`. */
export function codePointMark(character: string): string {
  return `⟦U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟧`
}

/**
 * Makes hidden characters visible in text that a person is asked to approve. A terminal swallows an escape sequence with its content, yet a shell may run
 * it.
 * Line feeds and tabs stay.
 */
export function revealHidden(text: string): string {
  return revealMatches(text, (anyHidden ??= new RegExp(hiddenCharacters, 'gu')))
}

/** Like `revealHidden`, on one line of at most `columns` columns: for a command, path, rule or reason in a permission request. */
export function revealHiddenInLine(text: string, columns: number): string {
  return truncateToColumns(revealHidden(text).replaceAll('\n', '⏎').replaceAll('\t', codePointMark), columns)
}

/** Like `revealHidden`, for text that goes into a file: characters that join letters of a script stay unchanged. */
export function revealControls(text: string): string {
  return revealMatches(text, steering)
}

function revealMatches(text: string, pattern: RegExp): string {
  return text
    .replaceAll('\r\n', '\n')
    .split(/([\n\t])/)
    .map((part) => (part === '\n' || part === '\t' ? part : part.replaceAll(pattern, codePointMark)))
    .join('')
}
