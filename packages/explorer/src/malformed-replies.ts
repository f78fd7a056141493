import { type ContentBlock, type Usage, ModelError, type ModelReply } from '@halting/core'
import type { ModelCallOptions } from '@halting/core/adapters'
import { bug, circle, revoked, throwing } from './core-internals.ts'

/** What an adapter answers that keeps to nothing, made from the answer that it should have given. */
type Made = (plain: ModelReply, call: ModelCallOptions) => unknown

type Replies = { readonly [what: string]: Made }

/** What plain JavaScript may hand over where the types say something else. */
const untyped = (value: unknown): never => value as never

/** Blocks before the calls, and calls of these tools with these ids. */
const withCalls =
  (...calls: readonly (readonly [tool: string, id: unknown])[]): Made =>
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
  (content: () => unknown): Made =>
  ({ message }) => ({ message: { ...message, content: content() } })

const withUsage =
  (usage: (plain: Usage) => unknown): Made =>
  ({ message }) => ({ message: { ...message, usage: usage(message.usage) } })

const withReason =
  (stop_reason: unknown): Made =>
  ({ message }) => ({ message: { ...message, stop_reason } })

const emitting =
  (...updates: readonly (() => unknown)[]): Made =>
  (plain, call) => {
    for (const update of updates) call.emit(untyped(update()))
    return plain
  }

const throwingIt =
  (thrown: () => unknown): Made =>
  () => {
    throw thrown()
  }

const odd =
  (what: object): (() => unknown) =>
  () =>
    new ModelError({ kind: 'overloaded', message: 'odd', status: 529, ...what })

/** Calls whose ids are not their own. */
const strangeIds: Replies = {
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

const strangeContents: Replies = {
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

/** Of these no answer comes: what had come until the abort is kept. */
const strangeBeginnings: { readonly [what: string]: readonly (() => unknown)[] } = {
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

const strangeErrors: Replies = {
  'throws nothing': throwingIt(() => undefined),
  'throws an object without a prototype': throwingIt(() => Object.create(null)),
  'throws what cannot be read': throwingIt(() => throwing(new Error('x'), 'message', 'name')),
  'throws an error that waits for ever': throwingIt(odd({ retryAfterMs: Infinity })),
  'throws an error that waits less than nothing': throwingIt(odd({ retryAfterMs: -5 })),
  'throws an error that waits for no number': throwingIt(odd({ retryAfterMs: Number.NaN })),
  'throws an error of no kind': throwingIt(odd({ kind: 'odd', status: 'x', retryable: 'yes' })),
  'throws an error with an odd usage': throwingIt(odd({ usage: { input_tokens: -1 } })),
  'throws an error whose fields are none': throwingIt(odd({ requestId: {}, message: { of: 1 }, billed: 7 })),
}

const strangeUsages: Replies = {
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

const strangeReplies: Replies = {
  ...strangeIds,
  ...strangeContents,
  ...strangeErrors,
  ...strangeUsages,
}

/** A reply of an adapter that keeps to nothing. */
export type StrangeReply = `strange: ${string}`

const namesOf = (replies: object): readonly StrangeReply[] =>
  Object.keys(replies).map((what): StrangeReply => `strange: ${what}`)

export const idReplies: readonly StrangeReply[] = namesOf(strangeIds)
export const contentReplies: readonly StrangeReply[] = namesOf(strangeContents)
export const hangingReplies: readonly StrangeReply[] = namesOf(strangeBeginnings)
export const errorReplies: readonly StrangeReply[] = namesOf(strangeErrors)
export const usageReplies: readonly StrangeReply[] = namesOf(strangeUsages)

export function isStrange(kind: string): kind is StrangeReply {
  return kind.startsWith('strange: ')
}

/** Only an abort ends the wait for these. */
export function isHanging(kind: string): kind is StrangeReply {
  return (hangingReplies as readonly string[]).includes(kind)
}

/** Tells of a reply at once, and never gives it. */
export function beginningOf(kind: StrangeReply, { emit }: { readonly emit: (update: never) => void }): Promise<never> {
  for (const update of strangeBeginnings[kind.slice('strange: '.length)] ?? []) emit(untyped(update()))
  return new Promise(() => {})
}

/** With these the service bills above what it was asked for. */
export const overbilling: ReadonlySet<string> = new Set<StrangeReply>([
  'strange: a usage beyond all bounds',
  'strange: a usage above the cap',
])

export function strangeReplyOf(kind: StrangeReply, plain: ModelReply, call: ModelCallOptions): ModelReply {
  return untyped(strangeReplies[kind.slice('strange: '.length)]?.(plain, call))
}
