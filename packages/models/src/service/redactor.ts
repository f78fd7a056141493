import { isJsonObject } from '@halting/core/adapters'
import type { ModelCallOptions, ModelUpdate } from '@halting/core/adapters'
import { ModelError } from '@halting/core'
import type { Json, ModelReply } from '@halting/core'
import { keysInUse, noteKeyInUse } from './known-keys.ts'
import { withoutForms, withoutParts, writtenForms } from './secret-forms.ts'
import { masked, withoutKeys } from './secret-shapes.ts'
import { isSecret, longestWord, proxySecrets, secretsOfEnvironment, shortestSecret } from './secrets.ts'

/**
 * Keeps secrets out of everything that leaves this package, and is the only component that knows the secrets in use. A
 * service
 * may repeat a key in any text, also truncated or encoded.
 */
export interface Redactor {
  /** Adds secrets that are used from now on. */
  add(...secrets: readonly (string | undefined)[]): void
  /** Whether the text contains a secret that is longer than a word, unencoded. */
  knows(text: string): boolean
  text(text: string): string
  /** Redacts raw text that is parsed later. Removing tags first could split a key and leave a part of it. */
  source(text: string): string
  json(value: Json): Json
  /** Returns the same error if it contains no secret. */
  error(error: ModelError): ModelError
  reply(reply: ModelReply): ModelReply
  update(update: ModelUpdate): ModelUpdate
}

/** A key helper supplies new keys as long as the program runs; older ones are no longer needed. */
const maxSecrets = 64

export function createRedactor(given: readonly (string | undefined)[]): Redactor {
  let own: readonly string[] = []
  const add = (...secrets: readonly (string | undefined)[]): void => {
    const worth = secrets.map((secret) => secret?.trim() ?? '').filter(isSecret)
    for (const secret of worth) noteKeyInUse(secret)
    const added = worth.filter((secret) => !own.includes(secret))
    if (added.length > 0) own = [...own, ...added].slice(-maxSecrets)
  }
  add(...given)
  // Keys of other models count, too, and so do those in options of provider packages.
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

/** Makes an attempt whose updates, reply and errors are all redacted. */
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

/**
 * Whether an event is part of the reply: such events are emitted unchanged, while errors and unknown events are
 * redacted.
 */
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
  /**
   * Secrets of this model. Other secrets of the environment may be addresses or paths, which share parts with any text.
   */
  readonly own: readonly string[]
  readonly known: readonly string[]
}

function withoutSecrets(source: string, { own, known }: Secrets): string {
  const text = own.reduce(withoutParts, withoutForms(source, known))
  return withoutCutSecrets(text, known.flatMap(writtenForms))
}

const cut = '…'
const maxCuts = 8

/** Removes parts of secrets where a text was truncated, or ends. */
function withoutCutSecrets(text: string, forms: readonly string[]): string {
  const parts = text.split(cut)
  if (parts.length > maxCuts) return parts.slice(0, maxCuts).join(cut)
  return parts
    .map((part, index) => {
      let redacted = part
      for (const form of forms) {
        redacted = withoutEnd(redacted, form)
        if (index > 0) redacted = withoutStart(redacted, form)
      }
      return redacted
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

const maxParts = 2_000

/**
 * Returns the cause of an error unchanged if it contains no secret; otherwise only its names, messages and codes,
 * redacted.
 */
function redactedCause(cause: unknown, redact: (text: string) => string): unknown {
  if (cause === undefined || isClean(cause, redact)) return cause
  return copyOf(cause, redact, 0)
}

function isClean(cause: unknown, redact: (text: string) => string): boolean {
  const waiting: unknown[] = [cause]
  const seen = new Set<unknown>()
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (seen.size > maxParts) return false
    if (typeof value === 'string') {
      // A longer text is not a message; do not scan it.
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
