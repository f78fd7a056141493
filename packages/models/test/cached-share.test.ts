import { createHash } from 'node:crypto'
import { streamRun, startRun } from '@halting/core'
import type { AnyTool, ContentBlock, Model, ModelMessage, ModelReply, ModelRequest, Transcript } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { createRequestBody } from '../src/anthropic/request-body.ts'
import { releaseBody } from '../src/bytes/bodies.ts'

// The bodies of real sessions against a cache that works like that of the API: how much each request reads from it.

type Block = Readonly<Record<string, unknown>>

interface Wire {
  readonly tools?: readonly Block[]
  readonly system?: readonly Block[]
  readonly messages: readonly { readonly role: string; readonly content: readonly Block[] }[]
}

interface Billed {
  /** Tokens of the whole prompt, and those of them that were read from the cache. */
  readonly prompt: number
  readonly read: number
  /** Content blocks of the newest turn. */
  readonly newest: number
}

const leastTokens = 1_024
const lookBackBlocks = 20

/**
 * Tools, system prompt and messages form one sequence of blocks. A breakpoint writes the prefix that ends with its
 * block, from 1,024 tokens on. It reads the longest prefix that an earlier request wrote and that ends at one of 20
 * blocks: its own and those before it.
 */
function createCache(): (body: string) => Billed {
  const written = new Set<string>()
  return (body) => {
    // The code under test wrote the body. A wrong shape fails below.
    const { tools = [], system = [], messages } = JSON.parse(body) as Wire
    const said = messages.flatMap(({ role, content }, turn) =>
      content.map((block) => ({ at: `${turn} ${role}`, block })),
    )
    const named = (at: string) => (block: Block) => ({ at, block })
    const blocks = [...tools.map(named('tools')), ...system.map(named('system')), ...said]
    const prefix = createHash('sha256')
    let tokens = 0
    const places = blocks.map(({ at, block: { cache_control, ...rest } }) => {
      const text = JSON.stringify(rest)
      tokens += Math.ceil(text.length / 4)
      return {
        key: prefix.update(`${at} ${text}\n`).copy().digest('hex'),
        tokens,
        isMarked: cache_control !== undefined,
      }
    })
    const breakpoints = places.flatMap(({ isMarked }, index) => (isMarked ? [index] : []))
    if (breakpoints.length > 4) throw new Error('400: a maximum of 4 blocks with cache_control may be provided')
    let read = 0
    for (const breakpoint of breakpoints) {
      const seen = places.slice(Math.max(0, breakpoint + 1 - lookBackBlocks), breakpoint + 1)
      for (const place of seen) if (written.has(place.key)) read = Math.max(read, place.tokens)
    }
    for (const breakpoint of breakpoints) {
      const place = places[breakpoint]
      if (place !== undefined && place.tokens >= leastTokens) written.add(place.key)
    }
    return { prompt: tokens, read, newest: messages.at(-1)?.content.length ?? 0 }
  }
}

interface Session {
  readonly model: Model
  readonly billed: Billed[]
}

/** A model that calls `callsAt(n)` tools in its reply `n`, or writes a text if there are none. */
function createSession(callsAt: (request: number) => number): Session {
  const bodyOf = createRequestBody({ model: 'm', id: 'm' })
  const cache = createCache()
  const billed: Billed[] = []
  const call = async (request: ModelRequest): Promise<ModelReply> => {
    const body = bodyOf(request)
    billed.push(cache(Buffer.from(body).toString()))
    releaseBody(body)
    const number = billed.length
    const calls = callsAt(number)
    const content: ContentBlock[] = [
      { type: 'thinking', thinking: `Thought ${number}. `.repeat(10), signature: `sig${number}` },
      { type: 'text', text: `I look at file ${number}.` },
    ]
    for (let index = 0; index < calls; index++) {
      const input = { path: `src/file-${number}-${index}.ts` }
      content.push({ type: 'tool_use', id: `toolu_${number}_${index}`, name: 'Look', input })
    }
    const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
    const stop_reason = calls > 0 ? 'tool_use' : 'end_turn'
    return { message: { role: 'assistant', id: `msg_${number}`, model: 'm', content, stop_reason, usage } }
  }
  return { model: { id: 'm', contextWindow: 10_000_000, maxOutputTokens: 64_000, call }, billed }
}

const look: AnyTool = {
  name: 'Look',
  description: 'Looks at a file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
  readOnly: true,
  execute: (input) => `${JSON.stringify(input)}\n`.repeat(40).slice(0, 1_024),
}
const options = { system: 'You look at files and tell what is in them. '.repeat(120), tools: [look], maxTurns: 100 }

/** The share of the cacheable tokens that was read. Everything in the previous request is cacheable. */
function shares(billed: readonly Billed[]): readonly number[] {
  return billed.slice(1).map(({ read }, index) => read / (billed[index]?.prompt ?? 0))
}

/** The least share of the requests from turn 3 on. */
function leastShare(billed: readonly Billed[]): number {
  return Math.min(...shares(billed).slice(1))
}

async function run(session: Session, prompt: string, runId: string, transcript?: Transcript): Promise<Transcript> {
  const start = startRun({ prompt, runId, ...(transcript !== undefined && { transcript }) })
  const running = streamRun(start, { ...options, model: session.model })
  let isSteered = false
  for await (const event of running) {
    if (isSteered || event.type !== 'tool_start' || session.billed.length !== 20) continue
    running.steer('Look at the tests, too.')
    isSteered = true
  }
  const { terminal, state } = await running.ended
  expect(terminal.reason).toBe('completed')
  return state.transcript
}

describe("reads at least 95 % of the previous request's prefix from the cache, from turn 3 on", () => {
  test.each([
    ['one call a turn', 1],
    ['ten calls a turn', 10],
    ['more results in a turn than the cache looks back', 30],
  ])('with %s, a message in between and a second prompt', async (_, calls) => {
    // 50 turns in two runs. A reply without calls ends the first one.
    const session = createSession((request) => (request === 30 || request === 50 ? 0 : calls))
    const transcript = await run(session, 'Look at every file.', 'run1')
    await run(session, 'And now once more.', 'run2', transcript)
    expect(session.billed.length).toBe(50)
    expect(Math.max(...session.billed.map(({ newest }) => newest))).toBe(calls + 1)
    expect(leastShare(session.billed)).toBeGreaterThanOrEqual(0.95)
  })

  test('with turns of all widths', async () => {
    const session = createSession((request) => (request === 30 || request === 50 ? 0 : 1 + ((request * 7) % 25)))
    const transcript = await run(session, 'Look at every file.', 'run1')
    await run(session, 'And now once more.', 'run2', transcript)
    expect(session.billed.length).toBe(50)
    expect(leastShare(session.billed)).toBeGreaterThanOrEqual(0.95)
  })

  test('when the newest turn was sent before and grew, because no reply came', () => {
    const bodyOf = createRequestBody({ model: 'm', id: 'm' })
    const cache = createCache()
    const billed: Billed[] = []
    const messages: ModelMessage[] = [{ role: 'user', content: 'Look at every file. '.repeat(400) }]
    for (let turn = 0; turn < 10; turn++) {
      const request = { system: '', messages, tools: [], maxOutputTokens: 100, idempotencyKey: `${turn}` }
      const body = bodyOf(request)
      billed.push(cache(Buffer.from(body).toString()))
      releaseBody(body)
      if (turn % 3 === 0) messages.push({ role: 'assistant', content: [{ type: 'text', text: 'I look.' }] })
      messages.push({ role: 'user', content: `Well? ${turn}` })
    }
    expect(shares(billed)).toEqual(billed.slice(1).map(() => 1))
  })
})
