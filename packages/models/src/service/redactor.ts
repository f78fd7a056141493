import { isJsonObject } from '@halting/core/adapters'
import type { ModelCallOptions, ModelUpdate } from '@halting/core/adapters'
import { ModelError } from '@halting/core'
import type { Json, ModelReply } from '@halting/core'
import { keysInUse, noteKeyInUse } from './known-keys.ts'
import { withoutForms, withoutParts, writtenForms } from './secret-forms.ts'
import { masked, withoutKeys } from './secret-shapes.ts'
import { isSecret, longestWord, proxySecrets, secretsOfEnvironment, shortestSecret } from './secrets.ts'

/**
 * Keeps secrets out of whatever leaves this package: the one place that knows those in use. A service may say a key back
 * to us in any text, also cut, and in the forms in which a text may hold it.
 */
export interface Redactor {
  /** Another one is in use from now on. */
  add(...secrets: readonly (string | undefined)[]): void
  /** Whether one that is no word stands in this text as it is. */
  knows(text: string): boolean
  text(text: string): string
  /** A text that words are yet to be taken from, as it came. Tags taken out of a key would leave the rest of it. */
  source(text: string): string
  json(value: Json): Json
  /** The same error where it holds none. */
  error(error: ModelError): ModelError
  reply(reply: ModelReply): ModelReply
  update(update: ModelUpdate): ModelUpdate
}

/** A key helper gives new ones as long as the program lives; older ones are of no use to anybody. */
const mostSecrets = 64

export function createRedactor(given: readonly (string | undefined)[]): Redactor {
  let own: readonly string[] = []
  const add = (...secrets: readonly (string | undefined)[]): void => {
    const worth = secrets.map((secret) => secret?.trim() ?? '').filter(isSecret)
    for (const secret of worth) noteKeyInUse(secret)
    const added = worth.filter((secret) => !own.includes(secret))
    if (added.length > 0) own = [...own, ...added].slice(-mostSecrets)
  }
  add(...given)
  // Another model's key is one, too, and so is what options of a provider package hold.
  const known = (): readonly string[] => [
    ...new Set([...own, ...keysInUse(), ...proxySecrets(process.env), ...secretsOfEnvironment(process.env)]),
  ]
  const text = (source: string): string => withoutKeys(withoutSecrets(source, { own, known: known() }))

  const error = (thrown: ModelError): ModelError => {
    const record = thrown.toRecord()
    const message = text(record.message)
    const requestId = record.requestId === null ? null : text(record.requestId)
    const cause = redactedCause(thrown.cause, text)
    if (message === record.message && requestId === record.requestId && cause === thrown.cause) return thrown
    return new ModelError({ ...record, message, requestId, cause })
  }
  return {
    add,
    knows: (source) => known().some((secret) => secret.length >= longestWord && source.includes(secret)),
    text,
    source: (raw) => withoutForms(raw, known()),
    json: (value) => redactedJson(value, (raw) => withoutForms(raw, known())),
    error,
    reply: (reply) =>
      reply.streamError === undefined && reply.warnings === undefined
        ? reply
        : {
            ...reply,
            ...(reply.streamError !== undefined && { streamError: error(reply.streamError) }),
            ...(reply.warnings !== undefined && { warnings: reply.warnings.map(text) }),
          },
    update(update) {
      if (update.type !== 'api_event' || isReplyEvent(update.event.type)) return update
      const event = redactedJson(update.event, text)
      return isJsonObject(event) ? { ...update, event } : update
    },
  }
}

/** Makes an attempt, of which nothing is told that the redactor has not seen. */
export async function callRedacted(
  redactor: Redactor,
  call: ModelCallOptions,
  attempt: (call: ModelCallOptions) => Promise<ModelReply>,
): Promise<ModelReply> {
  try {
    return redactor.reply(await attempt({ ...call, emit: (update) => call.emit(redactor.update(update)) }))
  } catch (thrown) {
    throw thrown instanceof ModelError ? redactor.error(thrown) : thrown
  }
}

/** What a reply is made of is told byte for byte; errors, and what nobody knows, are not. */
function isReplyEvent(type: Json | undefined): boolean {
  return typeof type === 'string' && (type.startsWith('message_') || type.startsWith('content_block_'))
}

function redactedJson(value: Json, text: (source: string) => string): Json {
  if (typeof value === 'string') return text(value)
  if (Array.isArray(value)) return (value as readonly Json[]).map((part) => redactedJson(part, text))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, part]) =>
      part === undefined ? [] : [[text(name), redactedJson(part, text)] as const],
    ),
  )
}

interface Secrets {
  /** Those that the model is reached by; the others of the environment may be addresses or paths, which share parts with any text. */
  readonly own: readonly string[]
  readonly known: readonly string[]
}

function withoutSecrets(source: string, { own, known }: Secrets): string {
  const text = own.reduce(withoutParts, withoutForms(source, known))
  return withoutCutSecrets(text, known.flatMap(writtenForms))
}

const cut = '…'
const mostCuts = 8

/** Where a text was cut, or ends, a part of a secret may be left. */
function withoutCutSecrets(text: string, forms: readonly string[]): string {
  const parts = text.split(cut)
  if (parts.length > mostCuts) return parts.slice(0, mostCuts).join(cut)
  return parts
    .map((part, index) => {
      let left = part
      for (const form of forms) {
        left = withoutEnd(left, form)
        if (index > 0) left = withoutStart(left, form)
      }
      return left
    })
    .join(cut)
}

function withoutEnd(text: string, form: string): string {
  const end = text.trimEnd()
  for (let length = form.length - 1; length >= shortestSecret / 2; length--) {
    if (end.endsWith(form.slice(0, length))) return end.slice(0, -length) + masked
  }
  return text
}

function withoutStart(text: string, form: string): string {
  const start = text.trimStart()
  for (let length = form.length - 1; length >= shortestSecret / 2; length--) {
    if (start.startsWith(form.slice(-length))) return ` ${masked}${start.slice(length)}`
  }
  return text
}

const mostParts = 2_000

/**
 * What an error was caused by, as it is where it holds no secret anywhere; else its names, messages and codes alone,
 * without what they hold.
 */
function redactedCause(cause: unknown, redact: (text: string) => string): unknown {
  if (cause === undefined || isClean(cause, redact)) return cause
  return copyOf(cause, redact, 0)
}

function isClean(cause: unknown, redact: (text: string) => string): boolean {
  const waiting: unknown[] = [cause]
  const seen = new Set<unknown>()
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (seen.size > mostParts) return false
    if (typeof value === 'string') {
      // What is longer is nobody's message: it is not looked through.
      if (value.length > 20_000 || redact(value) !== value) return false
    } else if (typeof value === 'object' && value !== null && !seen.has(value)) {
      seen.add(value)
      if (ArrayBuffer.isView(value)) return false
      for (const name of Object.getOwnPropertyNames(value)) {
        const { value: part } = Object.getOwnPropertyDescriptor(value, name) ?? {}
        if (part !== undefined) waiting.push(part)
      }
    }
  }
  return true
}

function copyOf(cause: unknown, redact: (text: string) => string, depth: number): unknown {
  if (typeof cause === 'string') return redact(cause)
  if (!(cause instanceof Error) || depth > 8) return undefined
  const copy = new Error(redact(cause.message), { cause: copyOf(cause.cause, redact, depth + 1) })
  copy.name = redact(cause.name)
  copy.stack = redact(cause.stack ?? '')
  if ('code' in cause && typeof cause.code === 'string') Object.assign(copy, { code: redact(cause.code) })
  return copy
}
