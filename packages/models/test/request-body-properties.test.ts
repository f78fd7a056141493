import type { ModelMessage } from '@halting/core'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRequestBody } from '../src/anthropic/request-body.ts'
import { releaseBody } from '../src/bytes/bodies.ts'
import { requestOf } from './support/call.ts'
import { drawn } from './support/deep.ts'

// Any conversation that grows, forks and compacts in any order: the body equals a straightforward rendering.

interface Fields {
  readonly [field: string]: unknown
}

interface Wire {
  role: string
  content: Fields[]
}

const cache_control = { type: 'ephemeral' }

/** The same body, written in a straightforward way: from scratch, with objects. */
function reference(system: string, messages: readonly ModelMessage[], caching = true): Fields {
  const wire: { role: string; results: Fields[]; others: Fields[] }[] = []
  for (const message of messages) {
    const results: Fields[] = []
    const others: Fields[] = []
    for (const block of blocksOf(message)) {
      if (isLeftOut(block, message)) continue
      const isResult = message.role === 'user' && block.type === 'tool_result'
      ;(isResult ? results : others).push(cleaned(block))
    }
    if (results.length + others.length === 0) continue
    const last = wire.at(-1)
    if (message.role === 'user' && last?.role === 'user') {
      last.results.push(...results)
      last.others.push(...others)
    } else wire.push({ role: message.role, results, others })
  }
  const turns = withoutWordsInPrograms(wire)
  const mark = caching ? { cache_control } : {}
  for (const turn of turns.filter(takesBreakpoint).slice(-2)) {
    turn.content.push({ ...turn.content.pop(), ...mark })
  }
  const text = system === '' ? {} : { system: [{ type: 'text', text: system, ...mark }] }
  return { model: 'm', ...text, messages: turns, max_tokens: 100, stream: true }
}

const isProgramCall = ({ type, caller }: Fields): boolean =>
  type === 'tool_use' && (caller as Fields | undefined)?.type === 'code_execution_20250825'

/**
 * Results for calls of code form their own turn. Other content follows when the code has ended (spec R-PTC-4, R-PTC-5).
 */
function withoutWordsInPrograms(
  wire: readonly { readonly role: string; readonly results: Fields[]; readonly others: Fields[] }[],
): Wire[] {
  const turns: (Wire & { isAlone?: true })[] = []
  let held: Fields[] = []
  const release = (): void => {
    const last = turns.at(-1)
    const isOpen = last?.content.some(
      ({ type, id }) => type === 'server_tool_use' && !last.content.some(({ tool_use_id }) => tool_use_id === id),
    )
    if (last?.role !== 'assistant' || last.content.some(isProgramCall) || isOpen || held.length === 0) return
    turns.push({ role: 'user', content: held })
    held = []
  }
  for (const { role, results, others } of wire) {
    const last = turns.at(-1)
    if (role === 'user' && results.length > 0 && last?.role === 'assistant' && last.content.some(isProgramCall)) {
      held = [...held, ...others]
      turns.push({ role, content: results, isAlone: true })
    } else if (role === 'user') {
      turns.push({ role, content: [...results, ...held, ...others] })
      held = []
    } else {
      release()
      turns.push({ role, content: [...results, ...others] })
    }
  }
  release()
  return turns.map(({ isAlone, ...turn }) => {
    if (isAlone === true) alone.add(turn)
    return turn
  })
}

/** Turns with results for code. */
const alone = new WeakSet<Wire>()

function takesBreakpoint(turn: Wire): boolean {
  return turn.role === 'user' && !alone.has(turn)
}

function blocksOf({ content }: ModelMessage): readonly Fields[] {
  // Every block is an object.
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content as unknown as readonly Fields[])
}

function isLeftOut(block: Fields, message: ModelMessage): boolean {
  const isForeign = message.role === 'assistant' && message.by === 'other'
  if (block.type === 'text') return String(block.text).trim() === ''
  if (block.type === 'thinking') return isForeign || block.signature === ''
  return block.type === 'redacted_thinking' && isForeign
}

function cleaned({ cache_control: _, origin, probe: __, ...block }: Fields): Fields {
  // The generators below write nothing else there.
  const { json } = (origin ?? {}) as { json?: string }
  if (json?.startsWith('{') === true) return JSON.parse(json) as Fields
  if (!Array.isArray(block.content)) return block
  return { ...block, content: block.content.map((part: Fields) => cleaned(part)) }
}

const marked = <T extends object>(blocks: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.tuple(blocks, fc.boolean()).map(([block, isMarked]) => (isMarked ? { ...block, cache_control } : block))

const someText = fc.oneof(fc.constantFrom('', ' \n', 'plain'), fc.string({ unit: 'binary', maxLength: 20 }))
const text = marked(fc.record({ type: fc.constant('text'), text: someText }))
/** Ids that the API accepts. Another test covers others. */
const callId = fc.stringMatching(/^[\w-]{1,12}$/)
const result = marked(
  fc.record({
    type: fc.constant('tool_result'),
    tool_use_id: callId,
    content: fc.oneof(fc.string({ maxLength: 50 }), fc.array(text, { maxLength: 2 })),
  }),
)
const image = fc.constant({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } })
const call = fc.record({
  type: fc.constant('tool_use'),
  id: callId,
  name: fc.string(),
  input: fc.dictionary(fc.string(), fc.jsonValue()),
})
/** Code of the service: it starts, calls tools, and ends in the same reply or a later one. */
const program = fc.oneof(
  fc.record({
    type: fc.constant('tool_use'),
    id: callId,
    name: fc.constant('a'),
    input: fc.constant({}),
    caller: fc.constantFrom({ type: 'code_execution_20250825', tool_id: 's' }, { type: 'direct' }),
  }),
  fc.constantFrom(
    { type: 'server_tool_use', id: 's', name: 'code_execution', input: { code: '1' } },
    { type: 'code_execution_tool_result', tool_use_id: 's', content: [] },
  ),
)
const kept = fc
  .tuple(call, fc.constantFrom('{"type":"tool_use","id":"a","input":{"2":1.0,"1":1e3}}', 'not JSON'))
  .map(([block, json]) => ({ ...block, origin: { api: 'messages', json } }))
const thinking = fc.oneof(
  fc.record({ type: fc.constant('thinking'), thinking: fc.string(), signature: fc.constantFrom('', 'c2ln') }),
  fc.record({ type: fc.constant('redacted_thinking'), data: fc.string() }),
)

/** Counts how often each block is stringified, with a field that is not written. */
interface Count {
  times: number
}

function probed(blocks: readonly object[], counts: Count[]): object[] {
  return blocks.map((block) => {
    const count = { times: 0 }
    counts.push(count)
    const probe = {
      toJSON(): undefined {
        count.times++
      },
    }
    return { ...block, probe }
  })
}

type Draft = { readonly role: string; readonly content: string | readonly object[]; readonly by?: string | undefined }

const draft: fc.Arbitrary<Draft> = fc.oneof(
  fc.record({ role: fc.constant('user'), content: someText }),
  fc.record({ role: fc.constant('user'), content: fc.array(fc.oneof(text, result, image), { maxLength: 4 }) }),
  fc.record({
    role: fc.constant('assistant'),
    content: fc.array(fc.oneof(text, call, kept, thinking, program), { maxLength: 4 }),
    by: fc.constantFrom(undefined, 'own', 'other'),
  }),
)

function messageOf({ content, ...rest }: Draft, counts: Count[]): ModelMessage {
  // The generators write messages. Blocks may have kinds and fields that the library does not know.
  return {
    ...rest,
    content: typeof content === 'string' ? content : probed(content, counts),
  } as unknown as ModelMessage
}

const step = fc.record({
  list: fc.nat(),
  kind: fc.constantFrom('grow', 'grow', 'grow', 'grow', 'fork', 'replay', 'compact', 'replace', 'shorten'),
  at: fc.nat(),
  drafts: fc.array(draft, { maxLength: 3 }),
  system: fc.constantFrom('', '', 'Be brief.', 'Be very brief indeed.'),
  isReleased: fc.boolean(),
})

test('serializes a body like a plain rendering does, does not overwrite it while it is lent, and serializes no block twice', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.boolean(), (steps, caching) => {
      const bodyOf = createRequestBody({ model: 'm', id: 'own', caching })
      const lists: ModelMessage[][] = [[]]
      const counts: Count[] = []
      const lent: { readonly body: Uint8Array; readonly expected: Fields }[] = []
      for (const { list, kind, at, drafts, system, isReleased } of steps) {
        let messages = lists[list % lists.length] ?? []
        const place = at % (messages.length + 1)
        const added = drafts.map((one) => messageOf(one, counts))
        if (kind === 'shorten') messages.length = place
        if (kind === 'replace') messages.splice(place, 1, ...added.slice(0, 1))
        if (kind === 'fork') lists.push((messages = messages.slice(0, place)))
        if (kind === 'replay') lists.push((messages = messages.map((message) => ({ ...message }))))
        if (kind === 'compact') lists.push((messages = [...added.slice(0, 1), ...messages.slice(place)]))
        if (kind !== 'replace' && kind !== 'shorten') messages.push(...added)
        const body = bodyOf(requestOf({ system, messages }))
        const expected = reference(system, messages, caching)
        expect(JSON.parse(Buffer.from(body).toString())).toEqual(expected)
        if (isReleased) releaseBody(body)
        else lent.push({ body, expected })
      }
      for (const { body, expected } of lent) expect(JSON.parse(Buffer.from(body).toString())).toEqual(expected)
      expect(counts.filter(({ times }) => times > 1)).toEqual([])
    }),
    { numRuns: drawn(400) },
  )
})

test('sets at most four breakpoints, and one per position', () => {
  const tools = [{ name: 'Read', description: 'Reads.', input_schema: { type: 'object' } }] as const
  fc.assert(
    fc.property(fc.array(draft, { maxLength: 12 }), (drafts) => {
      const messages = drafts.map((one) => messageOf(one, []))
      const body = createRequestBody({ model: 'm', id: 'own' })(requestOf({ system: 's', tools, messages }))
      let breakpoints = 0
      JSON.parse(Buffer.from(body).toString(), (key, value: unknown) => {
        if (key === 'cache_control' && JSON.stringify(value) === JSON.stringify(cache_control)) breakpoints++
        return value
      })
      const users = reference('s', messages)['messages'] as readonly Wire[]
      expect(breakpoints).toBe(2 + Math.min(2, users.filter(takesBreakpoint).length))
    }),
  )
})

test('sends what precedes the newest turn again with the same bytes', () => {
  const plain = (body: Uint8Array): string =>
    Buffer.from(body)
      .toString()
      .replaceAll(`,"cache_control":${JSON.stringify(cache_control)}`, '')
  const turn = fc.array(draft, { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(fc.array(turn, { minLength: 2, maxLength: 12 }), (turns) => {
      const bodyOf = createRequestBody({ model: 'm', id: 'own' })
      const messages: ModelMessage[] = []
      let before = ''
      for (const drafts of turns) {
        messages.push(...drafts.map((one) => messageOf(one, [])))
        const body = bodyOf(requestOf({ system: 's', messages }))
        const text = plain(body)
        releaseBody(body)
        // The newest turn may still grow. The others are final.
        const newest = text.lastIndexOf('{"role":')
        expect(text.slice(0, before.length)).toBe(before)
        before = newest === -1 ? '' : text.slice(0, newest).replace(/,$/, '')
      }
    }),
  )
})
