import { isJsonObject, jsonOf, type JsonObject } from './json.ts'

/** Why a text is not the JSON object that was wanted. */
export interface JsonProblem {
  /** `cut`: it is JSON as far as it goes. `not_an_object`: it is JSON of another kind. */
  readonly kind: 'cut' | 'invalid' | 'not_an_object'
  /** Index of the first character that cannot stand there; the length of the text where it was cut. */
  readonly at: number
  /** What was expected there, in words. */
  readonly expected: string
}

/**
 * Why a text is not a JSON object, and where; undefined when it is one. The messages of `JSON.parse` differ from engine to engine, and most do not say whether
 * the text was only cut. Takes time that grows with the text.
 */
export function jsonProblemOf(text: string): JsonProblem | undefined {
  const found = firstError(text)
  if (found === undefined)
    return text.trimStart().startsWith('{') ? undefined : { kind: 'not_an_object', at: 0, expected: 'an object' }
  return { kind: found.at >= text.length ? 'cut' : 'invalid', ...found }
}

type Error = Pick<JsonProblem, 'at' | 'expected'>
/** What may come next. `…OrEnd` directly after an opening bracket. */
type Expected = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'colon' | 'commaOrEnd' | 'end'

const words: { readonly [expected in Expected]: string } = {
  value: 'a value',
  valueOrEnd: 'a value or "]"',
  key: 'a name in quotes',
  keyOrEnd: 'a name in quotes or "}"',
  colon: '":"',
  commaOrEnd: '"," or the closing bracket',
  end: 'the end of the text',
}

const space = /[ \t\n\r]*/y
/** No quote, no backslash and no control character. */
const plainText = /[ !#-[\]-\uffff]*/y
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const escapeBegun = /\\(?:u[0-9a-fA-F]{0,3})?$/
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const numberBegun = /^(?:-|\.|[eE][+-]?)$/
const literals = ['true', 'false', 'null'] as const

function firstError(text: string): Error | undefined {
  const open: ('{' | '[')[] = []
  let expected: Expected = 'value'
  let at = 0
  const afterValue = (): Expected => (open.length === 0 ? 'end' : 'commaOrEnd')
  for (;;) {
    at = endOf(space, text, at) ?? at
    const character = text[at]
    if (character === undefined) return expected === 'end' ? undefined : { at, expected: words[expected] }
    const closes = open.at(-1) === '{' ? '}' : ']'
    const mayClose = expected === 'commaOrEnd' || expected === 'keyOrEnd' || expected === 'valueOrEnd'
    if (mayClose && character === closes) {
      open.pop()
      expected = afterValue()
      at++
    } else if (expected === 'commaOrEnd' && character === ',') {
      expected = open.at(-1) === '{' ? 'key' : 'value'
      at++
    } else if (expected === 'colon' && character === ':') {
      expected = 'value'
      at++
    } else if (expected === 'key' || expected === 'keyOrEnd') {
      if (character !== '"') return { at, expected: words[expected] }
      const end = stringEnd(text, at)
      if (typeof end !== 'number') return end
      at = end
      expected = 'colon'
    } else if (expected === 'value' || expected === 'valueOrEnd') {
      if (character === '{' || character === '[') {
        open.push(character)
        expected = character === '{' ? 'keyOrEnd' : 'valueOrEnd'
        at++
        continue
      }
      const end = character === '"' ? stringEnd(text, at) : scalarEnd(text, at, words[expected])
      if (typeof end !== 'number') return end
      at = end
      expected = afterValue()
    } else return { at, expected: words[expected] }
  }
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

function stringEnd(text: string, at: number): number | Error {
  const end = bodyEnd(text, at + 1)
  if (text[end] === '"') return end + 1
  if (end >= text.length) return { at: text.length, expected: 'the closing quote of a string' }
  const rest = text.slice(end, end + 6)
  // An escape at the very end of the text may have been cut.
  if (end + rest.length >= text.length && escapeBegun.test(rest))
    return { at: text.length, expected: 'the closing quote of a string' }
  return { at: end, expected: text[end] === '\\' ? 'a valid escape' : 'an escape for a control character' }
}

/** In steps: one expression for plain text and escapes overflows the engine's stack from some eight million characters on. */
function bodyEnd(text: string, from: number): number {
  let end = from
  for (;;) {
    end = endOf(plainText, text, end) ?? end
    const next = endOf(escape, text, end)
    if (next === undefined) return end
    end = next
  }
}

function scalarEnd(text: string, at: number, expected: string): number | Error {
  const literal = literals.find((each) => text.startsWith(each, at))
  if (literal !== undefined) return at + literal.length
  const end = endOf(number, text, at) ?? at
  const rest = text.slice(at)
  // What may still become one of these, or a number, was cut.
  const isLiteralBegun = rest.length < 5 && literals.some((each) => each.startsWith(rest))
  const isNumberBegun = text.length - end <= 2 && numberBegun.test(text.slice(end)) && (end > at || rest === '-')
  if (isLiteralBegun || isNumberBegun) return { at: text.length, expected: isNumberBegun ? 'a digit' : expected }
  return end === at ? { at, expected } : end
}

const invalidField = 'INVALID_JSON'

/**
 * The input of a call whose arguments are not a JSON object: the API takes objects only, so the text stands in a field of one. Such a call never runs: the
 * model is told what is wrong with its arguments. For model adapters.
 * @param text The arguments as the model wrote them.
 */
export function invalidJsonInput(text: string): { readonly INVALID_JSON: string } {
  return { [invalidField]: text }
}

/** The input for arguments that are not an object: what they say as a text, or an input that never runs. */
export function inputFromArguments(given: unknown): JsonObject {
  const text = typeof given === 'string' ? given : JSON.stringify(given)
  if (text === undefined || text.trim() === '') return noArguments
  const parsed = typeof given === 'string' ? parsedObject(text) : undefined
  return parsed ?? Object.freeze(invalidJsonInput(text))
}

const noArguments: JsonObject = Object.freeze({})

function parsedObject(text: string): JsonObject | undefined {
  try {
    const parsed = jsonOf(JSON.parse(text))
    return isJsonObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** The text of such an input; undefined for any other. */
export function invalidJsonOf(input: unknown): string | undefined {
  if (!isJsonObject(input)) return undefined
  const { [invalidField]: text } = input
  return typeof text === 'string' && Object.keys(input).length === 1 ? text : undefined
}
