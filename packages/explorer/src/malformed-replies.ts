import { type ContentBlock, type Usage, ModelError, type ModelReply } from '@halting/core'
import type { ModelCallOptions } from '@halting/core/adapters'
import { bug, circle, revoked, throwing } from './core-internals.ts'

/** Makes a malformed reply from the reply that an adapter should have given. */
type MakeReply = (plain: ModelReply, call: ModelCallOptions) => unknown

type ReplyMakers = { readonly [what: string]: MakeReply }

/** What plain JavaScript may pass where the types say something else. */
const untyped = (value: unknown): never => value as never

/** The blocks of the plain reply, followed by calls of these tools with these ids. */
const withCalls =
  (...calls: readonly (readonly [tool: string, id: unknown])[]): MakeReply =>
  ({ message }, call) => {
    const blocks = calls.map(([name, id]): ContentBlock => ({
      type: 'tool_use',
      name,
      id: untyped(id),
      input: { of: 'this' },
    }))
    const content = [...message.content, ...blocks]
    // Early starts see the ids first.
    for (const [index, block] of content.entries()) call.emit({ type: 'block', index, block, messageId: message.id })
    return { message: { ...message, content, stop_reason: 'tool_use' } }
  }

const withContent =
  (content: () => unknown): MakeReply =>
  ({ message }) => ({ message: { ...message, content: content() } })

const withUsage =
  (usage: (plain: Usage) => unknown): MakeReply =>
  ({ message }) => ({ message: { ...message, usage: usage(message.usage) } })

const withReason =
  (stop_reason: unknown): MakeReply =>
  ({ message }) => ({ message: { ...message, stop_reason } })

const emitting =
  (...updates: readonly (() => unknown)[]): MakeReply =>
  (plain, call) => {
    for (const update of updates) call.emit(untyped(update()))
    return plain
  }

const throwingReply =
  (thrown: () => unknown): MakeReply =>
  () => {
    throw thrown()
  }

const oddError =
  (what: object): (() => unknown) =>
  () =>
    new ModelError({ kind: 'overloaded', message: 'odd', status: 529, ...what })

/** Calls with ids that are missing, invalid or not unique. */
const malformedIds: ReplyMakers = {
  'one id thrice': withCalls(['Write', 'same'], ['Read', 'same'], ['Write', 'same']),
  'an id and the one that it would get': withCalls(['Write', 'same'], ['Write', 'same_2'], ['Write', 'same']),
  'ids that are none': withCalls(
    ['Write', undefined],
    ['Read', null],
    ['Read', ''],
    ['Write', 7],
    ['Read', circle()],
    ['Write', 'call'],
  ),
  'one agent twice': withCalls(['Task', 'same'], ['Task', 'same']),
}

const malformedContents: ReplyMakers = {
  'no reply': () => undefined,
  'null for a reply': () => null,
  'a thenable that throws': () => throwing({}, 'then'),
  'a reply that cannot be read': () => throwing({}, 'message'),
  'a message that was revoked': () => ({ message: revoked() }),
  'no content': withContent(() => undefined),
  'null for a block': withContent(() => [null]),
  'a function for content': withContent(() => bug),
  'a circle for a block': withContent(() => [circle()]),
  'blocks that are none': withContent(() => [{ type: 'text' }, { type: 'tool_use', id: 'x' }, 7]),
  'a block of a kind that nobody knows': withContent(() => [{ type: 'odd_tool_use', n: Number.NaN }]),
  'an input that is none': withContent(() => [{ type: 'tool_use', id: 'x', name: 'Write', input: circle() }]),
  'an id that is none': ({ message }) => ({ message: { ...message, id: circle() } }),
  'what changes later': ({ message }) => {
    const content = message.content.map((block) => ({ ...block }))
    void Promise.resolve().then(() => content.splice(0, content.length, untyped(null)))
    return { message: { ...message, content } }
  },
  'a reason that is none': withReason({}),
  'a reason that nobody knows': withReason('odd'),
  'calls that are none': withReason('tool_use'),
  'a stream error that is none': (plain) => ({ ...plain, streamError: 7 }),
  'updates that are none': emitting(
    () => ({}),
    () => ({ type: 'block', index: 0, block: null, messageId: 7 }),
  ),
  'texts that are none': emitting(() => ({ type: 'text_delta', index: 'x', text: circle() })),
  'blocks that are not in the reply': emitting(() => ({
    type: 'block',
    index: 0,
    block: { type: 'tool_use', id: 'gone', name: 'Read', input: { of: 'this' } },
    messageId: circle(),
  })),
  'an update that cannot be read': emitting(() => throwing({}, 'type')),
}

const block = (of: object, messageId: unknown = 'm'): unknown => ({ type: 'block', index: 0, block: of, messageId })
const call = (id: unknown): object => ({ type: 'tool_use', id, name: 'Read', input: { of: 'this' } })

/** These replies never complete: what arrived before the abort is stored. */
const malformedBeginnings: { readonly [what: string]: readonly (() => unknown)[] } = {
  'hangs after one id twice': [() => block(call('same')), () => block(call('same')), () => block(call(circle()))],
  'hangs in a message without a name': [
    () => block(call('x'), circle()),
    () => block({ type: 'text', text: 'so far' }, throwing({}, 'toString')),
  ],
  'hangs after a name that is none': [() => block({ type: 'text', text: 'so far' }, circle())],
  'hangs after texts that are none': [
    () => ({ type: 'text_delta', index: 0, text: 7 }),
    () => ({ type: 'text_delta', index: 0, text: undefined }),
    () => ({ type: 'text_delta', index: 0, text: circle() }),
  ],
  'hangs after blocks that are none': [
    () => block({ type: 'tool_use', id: 'x' }),
    () => block({ type: 'text', text: 7 }),
    () => block({ type: 'odd', n: Number.NaN, at: circle() }),
  ],
  'hangs after events that are none': [
    () => ({ type: 'api_event', event: circle() }),
    () => ({ type: 'api_event', event: { type: 'content_block_start', index: 0, content_block: call(circle()) } }),
    () => ({ type: 'odd', at: circle() }),
  ],
}

const malformedErrors: ReplyMakers = {
  'throws nothing': throwingReply(() => undefined),
  'throws an object without a prototype': throwingReply(() => Object.create(null)),
  'throws what cannot be read': throwingReply(() => throwing(new Error('x'), 'message', 'name')),
  'throws an error that waits for ever': throwingReply(oddError({ retryAfterMs: Infinity })),
  'throws an error that waits less than nothing': throwingReply(oddError({ retryAfterMs: -5 })),
  'throws an error that waits for no number': throwingReply(oddError({ retryAfterMs: Number.NaN })),
  'throws an error of no kind': throwingReply(oddError({ kind: 'odd', status: 'x', retryable: 'yes' })),
  'throws an error with an odd usage': throwingReply(oddError({ usage: { input_tokens: -1 } })),
  'throws an error whose fields are none': throwingReply(oddError({ requestId: {}, message: { of: 1 }, billed: 7 })),
}

const malformedUsages: ReplyMakers = {
  'a usage below zero': withUsage((plain) => ({ ...plain, output_tokens: -20 })),
  'a usage that is no number': withUsage((plain) => ({ ...plain, input_tokens: Number.NaN })),
  'a usage as text': withUsage((plain) => ({ ...plain, input_tokens: '100' })),
  'a usage in parts': withUsage((plain) => ({ ...plain, input_tokens: 10.5, output_tokens: 0.1 })),
  'a usage without counts': withUsage(() => ({})),
  'a usage that is a list': withUsage(() => [1]),
  'null for a usage': withUsage(() => null),
  'a usage that cannot be read': withUsage(() => throwing({}, 'input_tokens')),
  'a usage without a prompt': withUsage((plain) => ({ ...plain, input_tokens: 0 })),
  'a usage beyond all bounds': withUsage((plain) => ({ ...plain, output_tokens: 100_000_000 })),
  'a usage beyond what can be counted': withUsage((plain) => ({ ...plain, output_tokens: 1e300 })),
  'a usage above the cap': withUsage((plain) => ({ ...plain, output_tokens: 9_000 })),
  'a usage with odd parts': withUsage((plain) => ({ ...plain, server_tool_use: { web_search_requests: -1 } })),
}

const malformedReplies: ReplyMakers = {
  ...malformedIds,
  ...malformedContents,
  ...malformedErrors,
  ...malformedUsages,
}

/** A malformed reply of an adapter. */
export type MalformedReply = `strange: ${string}`

const namesOf = (replies: object): readonly MalformedReply[] =>
  Object.keys(replies).map((what): MalformedReply => `strange: ${what}`)

export const idReplies: readonly MalformedReply[] = namesOf(malformedIds)
export const contentReplies: readonly MalformedReply[] = namesOf(malformedContents)
export const hangingReplies: readonly MalformedReply[] = namesOf(malformedBeginnings)
export const errorReplies: readonly MalformedReply[] = namesOf(malformedErrors)
export const usageReplies: readonly MalformedReply[] = namesOf(malformedUsages)

export function isMalformed(kind: string): kind is MalformedReply {
  return kind.startsWith('strange: ')
}

/** Only an abort ends the wait for these. */
export function isHanging(kind: string): kind is MalformedReply {
  return (hangingReplies as readonly string[]).includes(kind)
}

/** Emits the beginning of a reply, and never completes it. */
export function emitBeginning(
  kind: MalformedReply,
  { emit }: { readonly emit: (update: never) => void },
): Promise<never> {
  for (const update of malformedBeginnings[kind.slice('strange: '.length)] ?? []) emit(untyped(update()))
  return new Promise(() => {})
}

/** With these, the service bills more than was requested. */
export const overbillingReplies: ReadonlySet<string> = new Set<MalformedReply>([
  'strange: a usage beyond all bounds',
  'strange: a usage above the cap',
])

export function makeMalformedReply(kind: MalformedReply, plain: ModelReply, call: ModelCallOptions): ModelReply {
  return untyped(malformedReplies[kind.slice('strange: '.length)]?.(plain, call))
}
