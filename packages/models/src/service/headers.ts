import { ConfigurationError } from '@halting/core'
import { withoutMixedWords } from './secret-shapes.ts'

/**
 * @throws ConfigurationError for a header that cannot be sent. The message does not repeat the value, because it may be
 * a secret.
 */
export function checkHeader(name: string, value: string, meaning = `the header ${name}`): void {
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) {
    throw new ConfigurationError(
      `"${withoutMixedWords(name)}" is not a valid header name. Write one "Name: value" per line in ANTHROPIC_CUSTOM_HEADERS.`,
    )
  }
  if (!/^[\t\u{20}-\u{7e}\u{80}-\u{ff}]*$/u.test(value)) {
    throw new ConfigurationError(
      `A character in ${meaning} cannot be sent. Was it copied with a line break or a quote?`,
    )
  }
}

/** Converts an idempotency key to ASCII, as headers require: keys contain user-defined names in any script. */
export function headerSafe(key: string): string {
  return key.replaceAll(/[^\w./:@-]/gu, (character) => `%${character.codePointAt(0)?.toString(16)}`)
}
