import { textOfKey } from '../keys/typed.ts'
import { isPressed } from '../view/text-field.ts'

/** What a key types as far as answers are concerned: its text, a carriage return for Enter. Undefined for any other key, and for a paste. */
export function answerText(data: string): string | undefined {
  if (data === '\n') return undefined
  return isPressed(data, 'enter') ? '\r' : textOfKey(data)
}

/** Words that people type where one letter is the answer. */
const words = ['yes', 'no', 'always', 'all']

/**
 * Whether what was typed in one go is an answer and nothing else: one character, repeated by a key that was held down or pressed twice, or a word such as
 * `yes`; each may be followed by Enter. `partial`: the beginning of such a word.
 */
export function readAnswer(typed: string): 'complete' | 'partial' | 'text' {
  const [, word] = /^([^\r]*)\r*$/.exec(typed) ?? []
  if (word === undefined) return 'text'
  if (word === '' || new Set(word).size === 1 || words.includes(word)) return 'complete'
  return word === typed && words.some((known) => known.startsWith(word)) ? 'partial' : 'text'
}
