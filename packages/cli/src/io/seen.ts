import { fitted } from './columns.ts'

/** Controls, directions, what has no width, and what looks like a blank and is not a space. */
export const hidden: string = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}`
const steering = /[\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\p{Cs}]/gu
/** Made when it is first used: the engine looks up properties of all characters for it. */
let anyHidden: RegExp | undefined

/** A character that is not seen, by its number. */
export function numbered(character: string): string {
  return `⟦U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟧`
}

/**
 * Text that somebody is to say yes to: every character of it is seen. What a terminal would swallow, such as a sequence with all that stands in it, may be what is run.
 * Line feeds and tabs stay.
 */
export function everyCharacter(text: string): string {
  return revealMatches(text, (anyHidden ??= new RegExp(hidden, 'gu')))
}

/** The same in one line of at most so many columns: for a command, a path, a rule or a reason that somebody decides by. */
export function everyCharacterInLine(text: string, columns: number): string {
  return fitted(everyCharacter(text).replaceAll('\n', '⏎').replaceAll('\t', numbered), columns)
}

/** The same for what is written into a file: what joins letters and signs of a script stays. */
export function everyControl(text: string): string {
  return revealMatches(text, steering)
}

function revealMatches(text: string, pattern: RegExp): string {
  return text
    .replaceAll('\r\n', '\n')
    .split(/([\n\t])/)
    .map((part) => (part === '\n' || part === '\t' ? part : part.replaceAll(pattern, numbered)))
    .join('')
}
