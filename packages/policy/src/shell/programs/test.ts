import { type Effect, unknown, unseen } from '../effects.ts'
import type { ShellWord } from '../words.ts'
import { patternMayBeTestOperator, testSubscriptRuns, testUnknown } from '../shell-texts.ts'

const unary = /^-[abcdefghkprstuwxzLOGSNn]$/
const binary = /^(?:=|==|!=|<|>|-eq|-ne|-lt|-le|-gt|-ge|-nt|-ot|-ef)$/

/** `test` and `[`: a subscript that -v or -R is given runs the commands in it. */
export function testEffects(words: readonly ShellWord[]): readonly Effect[] {
  const args = words.at(-1)?.value === ']' && words.at(-1)?.source === ']' ? words.slice(0, -1) : words
  const isNegated = args[0]?.kind === 'literal' && args[0].value === '!'
  const rest = isNegated ? args.slice(1) : args
  if (rest.some(({ value, kind }) => kind === 'literal' && /^-[vR]$/.test(value))) return unknown(testSubscriptRuns)
  // A name that it fits may be `-v`.
  if (rest.some(({ kind }) => kind === 'glob')) return unseen(patternMayBeTestOperator)
  if (rest.every(({ kind }) => kind === 'literal')) return []
  const operatorAt = rest.length === 2 ? 0 : 1
  const operator = rest[operatorAt]
  const isKnown =
    (rest.length === 2 || rest.length === 3) &&
    operator?.kind === 'literal' &&
    (rest.length === 2 ? unary : binary).test(operator.value) &&
    rest.every(({ kind, isOne }) => kind === 'literal' || isOne === true)
  return isKnown ? [] : unknown(testUnknown)
}
