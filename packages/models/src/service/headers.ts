import { ConfigurationError } from '@halting/core'
import { withoutMixedWords } from './secret-shapes.ts'

/**
 * @throws ConfigurationError for a name or a value that cannot be sent. The value is not repeated in the message: it
 * may be a secret.
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

/** Idempotency keys are made of names that people gave, in any script; headers are ASCII. */
export function headerSafe(key: string): string {
  return key.replaceAll(/[^\w./:@-]/gu, (character) => `%${character.codePointAt(0)?.toString(16)}`)
}
