import { isJsonObject, jsonOf, type JsonObject } from './json.ts'

/** Why a text is not a JSON object. */
export interface JsonProblem {
  /** `cut`: valid JSON up to its end, but incomplete. `not_an_object`: JSON of another type. */
  readonly kind: 'cut' | 'invalid' | 'not_an_object'
  /** Index of the first invalid character; the length of the text if it is incomplete. */
  readonly at: number
  /** What was expected at this position, in words. */
  readonly expected: string
}

/**
 * Why a text is not a JSON object, and where; undefined when it is one. Messages of `JSON.parse` differ between engines,
 * and most do not say whether the text is merely incomplete. Takes time proportional to the text.
 */
export function jsonProblemOf(text: string): JsonProblem | undefined {
  const found = firstError(text)
  if (found === undefined)
    return text.trimStart().startsWith('{') ? undefined : { kind: 'not_an_object', at: 0, expected: 'an object' }
  return { kind: found.at >= text.length ? 'cut' : 'invalid', ...found }
}

type Error = Pick<JsonProblem, 'at' | 'expected'>

/** White space and the next token: punctuation, a number or a literal. `stringEnd` scans strings, because a pattern would need a stack for them. */
const token = /([ \t\n\r]*)(?:([{}[\],:"])|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))?/y
const literalPrefix = /^(?:-|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?)$/
const numberContinues = /^(?:\.|[eE][+-]?)$/
/** A quote, a backslash or a control character. */
const special = /[^ !#-[\]-\uffff]/g
const escape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y
const escapePrefix = /\\(?:u[\da-fA-F]{0,3})?/y

type State = 'value' | 'first' | 'key' | 'firstKey' | 'colon' | 'moreItems' | 'moreFields' | 'end'

type Rule = readonly [allowed: string, inWords: string]

/** The tokens that may follow (`"` is a string, `v` a number or a literal), and a description of them in words. */
const states: { readonly [state in State]: Rule } = {
  value: ['{["v', 'a value'],
  first: ['{["v]', 'a value or "]"'],
  key: ['"', 'a name in quotes'],
  firstKey: ['"}', 'a name in quotes or "}"'],
  colon: [':', '":"'],
  moreItems: [',]', '"," or "]"'],
  moreFields: [',}', '"," or "}"'],
  end: ['', 'the end of the text'],
}

function firstError(text: string): Error | undefined {
  const open: string[] = []
  let state: State = 'value'
  let at = 0
  let isNumber = false
  for (;;) {
    token.lastIndex = at
    const [whole, gap = '', mark, scalar] = token.exec(text) ?? ['']
    const from = at + gap.length
    const kind = mark ?? (scalar === undefined ? '' : 'v')
    const rule: Rule = states[state]
    const [allowed, expected] = rule
    if (kind === '' || !allowed.includes(kind)) {
      if (from >= text.length) return state === 'end' ? undefined : { at: from, expected }
      const rest = text.slice(from, from + 5)
      const mayContinue = isNumber && gap === '' && numberContinues.test(rest)
      const isCut = kind === '' && (mayContinue || (allowed.includes('v') && literalPrefix.test(rest)))
      return { at: isCut ? text.length : from, expected }
    }
    at += whole.length
    if (kind === '"') {
      const end = stringEnd(text, at)
      if (!end.isWhole) return { at: end.at, expected: 'the closing quote of a string' }
      at = end.at
    }
    isNumber = kind === 'v'
    if (kind === '{' || kind === '[') {
      open.push(kind)
      state = kind === '{' ? 'firstKey' : 'first'
    } else if (kind === ':') state = 'value'
    else if (kind === ',') state = open.at(-1) === '{' ? 'key' : 'value'
    else if (kind === '"' && (state === 'key' || state === 'firstKey')) state = 'colon'
    else {
      if (kind === '}' || kind === ']') open.pop()
      state = open.length === 0 ? 'end' : open.at(-1) === '{' ? 'moreFields' : 'moreItems'
    }
  }
}

/** The end of a string whose opening quote is before `from`: after its closing quote, or at its first invalid character. */
function stringEnd(text: string, from: number): { readonly at: number; readonly isWhole: boolean } {
  for (let at = from; ;) {
    special.lastIndex = at
    const found = special.exec(text)
    if (found === null) return { at: text.length, isWhole: false }
    if (found[0] === '"') return { at: found.index + 1, isWhole: true }
    escape.lastIndex = escapePrefix.lastIndex = found.index
    const whole = escape.exec(text)
    if (whole === null) return { at: found.index + (escapePrefix.exec(text)?.[0].length ?? 0), isWhole: false }
    at = found.index + whole[0].length
  }
}

const invalidField = 'INVALID_JSON'

/**
 * The input of a call whose arguments are not a JSON object. The API accepts only objects, so the text is wrapped in a
 * field. Such a call never runs: the model receives a description of the problem. For model adapters.
 * @param text The arguments as the model wrote them.
 */
export function invalidJsonInput(text: string): {
  /** The arguments as the model wrote them. */
  readonly INVALID_JSON: string
} {
  return { [invalidField]: text }
}

/** The input for arguments that may be JSON text or an object. Anything that is not an object becomes an input that never runs. */
export function inputFromArguments(value: unknown): JsonObject {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text === undefined || text.trim() === '') return noArguments
  const parsed = typeof value === 'string' ? parsedObject(text) : undefined
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

/** The text of such a wrapped input; undefined for any other. */
export function invalidJsonOf(input: unknown): string | undefined {
  if (!isJsonObject(input)) return undefined
  const { [invalidField]: text } = input
  return typeof text === 'string' && Object.keys(input).length === 1 ? text : undefined
}
