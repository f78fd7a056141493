import { type Effect, unknown } from '../effects.ts'
import type { ShellWord } from '../words.ts'
import { optionNotHarmless, xxdMayWrite, xxdOptionWithoutNumber, xxdWritesSecond } from '../shell-texts.ts'

/** xxd takes letters for options by their beginning, one a word: `-ac 5` is `-a`, and `5` the file. Only whole ones are known. */
const alone = /^-(?:[abCdEehiruv]|p|ps|plain)$/
const withNumber = /^-[cglos]$/
const numbered = /^-[cglo](?:0x[0-9a-f]+|\d+)$/
const number = /^[+-]{0,2}(?:0x[0-9a-f]+|\d+)$/

/** Its options stand before its file, and a second file is written. */
export function xxdEffects(args: readonly ShellWord[]): readonly Effect[] {
  let at = 0
  for (; at < args.length; at += 1) {
    const word = args[at]
    if (word?.kind !== 'literal' || !word.value.startsWith('-') || word.value === '-') break
    if (withNumber.test(word.value)) {
      const value = args[at + 1]
      if (value?.kind !== 'literal' || !number.test(value.value)) return unknown(xxdOptionWithoutNumber)
      at += 1
    } else if (!alone.test(word.value) && !numbered.test(word.value)) return unknown(optionNotHarmless(word.value))
  }
  const [file, ...others] = args.slice(at)
  if (file === undefined) return []
  if (others.length > 0) return unknown(xxdWritesSecond)
  // A pattern may become two files.
  if (file.kind !== 'literal') return unknown(xxdMayWrite)
  return file.value === '-' ? [] : [{ kind: 'read', word: file }]
}
