import { ConfigurationError } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'
import type { Script } from './script.ts'

/**
 * Validates a script from a file or a program.
 * @throws ConfigurationError that names the place and the valid values.
 */
export function parseScript(value: unknown, source = 'script'): Script {
  const check = checker(source)
  const script = check.object(value, '', ['model', 'contextWindow', 'tokenFactor', 'webSearch', 'replies'])
  check.optional(script, '', 'model', 'text')
  check.optional(script, '', 'contextWindow', 'count')
  check.optional(script, '', 'tokenFactor', 'factor')
  check.optional(script, '', 'webSearch', 'yesOrNo')
  check.list(script.replies, 'replies').forEach((reply, index) => checkReply(check, reply, `replies[${index}]`))
  // Every field was validated.
  return script as unknown as Script
}

/**
 * Parses the text of a script.
 * @throws ConfigurationError for invalid JSON or an invalid script.
 */
export function parseScriptText(text: string, source?: string): Script {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (thrown) {
    throw new ConfigurationError(
      `${source ?? 'script'} is not valid JSON: ${messageOf(thrown)}${placeOf(thrown, text)}.`,
    )
  }
  return parseScript(value, source)
}

const common = ['when', 'expect', 'repeat', 'delay_ms'] as const

function checkReply(check: Checker, value: unknown, at: string): void {
  const isError = isJsonObject(value) && 'error' in value
  const isOutage = isJsonObject(value) && 'outage_ms' in value
  const inMessage = ['content', 'stop_reason', 'stop_sequence', 'usage', 'pace_ms', 'fault']
  const own = isError ? ['error'] : isOutage ? ['outage_ms'] : inMessage
  const reply = check.object(value, at, [...own, ...common])
  check.optional(reply, at, 'when', 'filledText')
  check.optional(reply, at, 'expect', 'text')
  check.optional(reply, at, 'repeat', 'count')
  check.optional(reply, at, 'delay_ms', 'number')
  if (isError) return checkError(check, reply.error, `${at}.error`)
  if (isOutage) return check.optional(reply, at, 'outage_ms', 'number')
  checkContent(check, reply.content, `${at}.content`)
  for (const field of ['stop_reason', 'stop_sequence'] as const) check.optional(reply, at, field, 'text')
  check.optional(reply, at, 'pace_ms', 'number')
  if (reply.usage !== undefined) checkUsage(check, reply.usage, `${at}.usage`)
  if (reply.fault !== undefined) checkFault(check, reply.fault, `${at}.fault`)
}

const tokenFields = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const

function checkUsage(check: Checker, value: unknown, at: string): void {
  const usage = check.object(value, at, [...tokenFields, 'cache_creation', 'server_tool_use'])
  for (const field of tokenFields) check.optional(usage, at, field, 'number')
}

function checkContent(check: Checker, content: unknown, at: string): void {
  if (typeof content === 'string') return
  check.list(content, at, 'a text, or a list of texts and blocks').forEach((block, index) => {
    if (typeof block !== 'string') checkBlock(check, block, `${at}[${index}]`)
  })
}

function checkBlock(check: Checker, value: unknown, at: string): void {
  const block = check.object(value, at, undefined, 'a text or a block with a type')
  check.required(block, at, 'type')
  switch (stringOf(block.type)) {
    case 'text':
      check.required(block, at, 'text')
      return
    case 'thinking':
      check.required(block, at, 'thinking')
      check.optional(block, at, 'signature', 'text')
      return
    case 'tool_use':
      check.object(block, at, ['type', 'name', 'input', 'id', 'caller'])
      check.required(block, at, 'name')
      check.optional(block, at, 'id', 'text')
      if (block.input !== undefined) check.object(block.input, `${at}.input`)
      return
    default:
  }
}

function checkError(check: Checker, value: unknown, at: string): void {
  const error = check.object(value, at, ['status', 'type', 'message', 'headers', 'fields', 'for_ms'])
  const { status } = error
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 400 || status > 599) {
    check.fail(`${at}.status`, 'an HTTP status from 400 to 599', status)
  }
  check.optional(error, at, 'type', 'text')
  check.optional(error, at, 'message', 'text')
  check.optional(error, at, 'for_ms', 'number')
  if (error.fields !== undefined) check.object(error.fields, `${at}.fields`)
  if (error.headers === undefined) return
  const headers = check.object(error.headers, `${at}.headers`)
  for (const name of Object.keys(headers)) check.required(headers, `${at}.headers`, name)
}

function checkFault(check: Checker, value: unknown, at: string): void {
  const fault = check.object(value, at, ['kind', 'at', 'block', 'type', 'message'])
  check.oneOf(fault, at, 'kind', ['drop', 'hang', 'error'])
  check.oneOf(fault, at, 'at', ['request', 'start', 'within', 'after', 'end'])
  if (fault.kind === 'error' && fault.at === 'request') {
    check.fail(
      `${at}.at`,
      'start, within, after or end for an error in the stream (or use "error" in place of "content")',
      'request',
    )
  }
  check.optional(fault, at, 'block', 'number')
  check.optional(fault, at, 'type', 'text')
  check.optional(fault, at, 'message', 'text')
}

type Checker = ReturnType<typeof checker>

const kinds = {
  text: { what: 'a text', fits: (value: unknown) => typeof value === 'string' },
  filledText: { what: 'a text that is not empty', fits: (value: unknown) => typeof value === 'string' && value !== '' },
  yesOrNo: { what: 'true or false', fits: (value: unknown) => typeof value === 'boolean' },
  number: { what: 'a number, 0 or more', fits: (value: unknown) => typeof value === 'number' && value >= 0 },
  count: { what: 'a whole number above 0', fits: (value: unknown) => Number.isInteger(value) && Number(value) > 0 },
  // Tokens have at least one byte.
  factor: {
    what: 'a number above 0, 4 at most',
    fits: (value: unknown) => typeof value === 'number' && value > 0 && value <= 4,
  },
} as const

function checker(source: string) {
  const fail = (at: string, right: string, found: unknown): never => {
    const place = at === '' ? source : `${source}: ${at}`
    throw new ConfigurationError(`${place} must be ${right}, not ${describe(found)}.`)
  }
  return {
    fail,
    object(value: unknown, at: string, fields?: readonly string[], right = 'an object'): JsonObject {
      if (!isJsonObject(value)) return fail(at, right, value)
      const stranger = fields && Object.keys(value).find((field) => !fields.includes(field))
      if (stranger === undefined) return value
      throw new ConfigurationError(
        `${source}: ${at === '' ? '' : `${at}.`}${stranger} is not a known field. Fields: ${fields?.join(', ')}.`,
      )
    },
    list(value: unknown, at: string, right = 'a list'): readonly unknown[] {
      return Array.isArray(value) ? value : fail(at, right, value)
    },
    optional(object: JsonObject, at: string, field: string, kind: keyof typeof kinds): void {
      const value = object[field]
      if (value !== undefined && !kinds[kind].fits(value)) fail(join(at, field), kinds[kind].what, value)
    },
    required(object: JsonObject, at: string, field: string): void {
      if (typeof object[field] !== 'string') fail(join(at, field), kinds.text.what, object[field])
    },
    oneOf(object: JsonObject, at: string, field: string, values: readonly string[]): void {
      const value = object[field]
      if (typeof value !== 'string' || !values.includes(value)) fail(join(at, field), values.join(', '), value)
    },
  }
}

function join(at: string, field: string): string {
  return at === '' ? field : `${at}.${field}`
}

function describe(found: unknown): string {
  if (found === undefined) return 'left out'
  const text = JSON.stringify(found)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/** Returns the line and column of a JSON error: Node 20 reports only a character position, if any. */
function placeOf(thrown: unknown, text: string): string {
  const position = /at position (\d+)$/.exec(messageOf(thrown))?.[1]
  if (position === undefined) return ''
  const before = text.slice(0, Number(position)).split('\n')
  return ` (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`
}
