// Tests R-CTX-20.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contextLayers, contextUsage, plainContext, type ContextUsage } from '../../src/entries/adapters.ts'
import { estimateMessages, roughTokens } from '../../src/model/tokens.ts'
import { streamRun, startRun, tool, Transcript, type RunOptions, type TranscriptEntry } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { entriesOf, transcripts } from '../support/conversations.ts'

const model = scriptedModel([], { contextWindow: 40_000, maxOutputTokens: 8_000 })
const look = tool({ name: 'Look', description: 'Looks at a thing', readOnly: true, execute: () => 'x'.repeat(4_000) })
const options: RunOptions = { model, system: 'Be brief.', tools: [look], context: contextLayers() }

const sum = ({ parts }: ContextUsage): number => parts.reduce((total, { tokens }) => total + tokens, 0)
const noUsage = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }

describe('the usage of the window', () => {
  test('adds up to the estimate of a request, whatever the conversation', () => {
    fc.assert(
      fc.property(transcripts, (transcript) => {
        const usage = contextUsage(options, { transcript })
        expect(sum(usage)).toBe(usage.figures.usedTokens)
        const tools = JSON.stringify({ name: 'Look', description: 'Looks at a thing', input_schema: look.inputSchema })
        const estimate = [options.system ?? '', tools].map((text) => roughTokens.estimate(text))
        const messages = estimateMessages(roughTokens, transcript.messages())
        expect(usage.figures.usedTokens).toBe(messages + (estimate[0] ?? 0) + (estimate[1] ?? 0))
        for (const { tokens } of usage.parts) expect(tokens).toBeGreaterThan(0)
      }),
    )
  })

  test('adds up to the count of the provider too, in integers', () => {
    fc.assert(
      fc.property(transcripts, fc.integer({ min: 1, max: 90_000 }), (transcript, counted) => {
        const entries = transcript.toJSON().map((entry) => withCount(entry, counted))
        const usage = contextUsage(options, { transcript: Transcript.of(entries) })
        expect(sum(usage)).toBe(usage.figures.usedTokens)
        expect(usage.parts.every(({ tokens }) => Number.isInteger(tokens) && tokens >= 0)).toBe(true)
      }),
    )
  })

  test('is listed by kind, in a fixed order, and by name', () => {
    const entries: readonly TranscriptEntry[] = [
      { kind: 'user', id: 'e1', message: { role: 'user', content: 'p'.repeat(40) }, origin: 'prompt' },
      reply('e2', [
        { type: 'thinking', thinking: 't'.repeat(400), signature: 's' },
        { type: 'text', text: 'x'.repeat(80) },
        { type: 'tool_use', id: 'c1', name: 'Look', input: {} },
        { type: 'tool_use', id: 'c2', name: 'Find', input: {} },
      ]),
      results('e3', { c1: 'a'.repeat(4_000), c2: 'b'.repeat(2_000) }),
      { kind: 'user', id: 'e4', message: { role: 'user', content: 'n'.repeat(20) }, origin: 'loop' },
      { kind: 'results_cleared', id: 'e5', calls: ['c2'], freedTokens: 400 },
    ]
    const { parts } = contextUsage(options, { transcript: Transcript.of(entries), prompt: 'q'.repeat(40) })
    expect(parts.map(({ kind, name }) => (name === null ? kind : `${kind} ${name}`))).toEqual([
      'system',
      'tool Look',
      'person',
      'program',
      'text',
      'thinking',
      'call Look',
      'call Find',
      'result Look',
      'cleared Find',
    ])
    const tokensOf = (kind: string) => parts.find((part) => part.kind === kind)?.tokens
    // Four characters a token, and four tokens for the frame of a message.
    expect([tokensOf('person'), tokensOf('program'), tokensOf('text')]).toEqual([2 * (10 + 4), 5 + 4, 20])
    expect(tokensOf('result')).toBe(1_000 + 8 + 4)
    expect(tokensOf('cleared')).toBeLessThan(50)
  })

  test('is system prompt and tools before the first message', () => {
    expect(contextUsage(options).parts.map(({ kind }) => kind)).toEqual(['system', 'tool'])
  })

  test('is a summary after a compaction, also when it was read back from storage', () => {
    const keptMessage = { role: 'user', content: 'What the person said last.' } as const
    const entries: readonly TranscriptEntry[] = [
      { kind: 'user', id: 'e1', message: keptMessage, origin: 'prompt' },
      {
        kind: 'compact_boundary',
        id: 'e2',
        messages: [{ role: 'user', content: [{ type: 'text', text: 'A summary.' }] }, keptMessage],
        trigger: 'auto',
        preTokens: 100,
        postTokens: 10,
      },
    ]
    for (const transcript of [Transcript.of(entries), Transcript.fromJSON(JSON.parse(JSON.stringify(entries)))]) {
      const kinds = contextUsage(options, { transcript }).parts.map(({ kind }) => kind)
      expect(kinds).toEqual(['system', 'tool', 'summary', 'person'])
    }
  })

  test('lists entries with a known name once, in their place', () => {
    const notes = 'Use tabs. '.repeat(20)
    const entries = { userContext: { 'NOTES.md': notes, 'absent.md': 'nowhere' }, systemContext: { git: 'On main.' } }
    const system = `Be brief.\n${notes}\n${notes}`
    const { parts } = contextUsage({ ...options, ...entries, system }, { prompt: 'On main. Go on.' })
    const named = parts.filter(({ kind }) => kind === 'memory').map(({ name, tokens }) => [name, tokens])
    expect(named).toEqual([
      ['NOTES.md', 50],
      ['git', 2],
    ])
    expect(parts.find(({ kind }) => kind === 'system')?.tokens).toBe(roughTokens.estimate(system) - 50)
  })

  test('is scaled to the last count of the provider, while its messages remain', () => {
    const userEntry: TranscriptEntry = {
      kind: 'user',
      id: 'e1',
      message: { role: 'user', content: 'p'.repeat(4_000) },
      origin: 'prompt',
    }
    const entries = [userEntry, reply('e2', [{ type: 'text', text: 'Yes.' }], { ...noUsage, input_tokens: 2_100 })]
    const estimated = contextUsage(options, { transcript: Transcript.of([userEntry]) })
    const counted = contextUsage(options, { transcript: Transcript.of(entries) })
    expect([estimated.isCounted, counted.isCounted]).toEqual([false, true])
    const before = estimated.figures.usedTokens
    expect(counted.figures.usedTokens / (before + 5)).toBeCloseTo(2_100 / before, 1)
    const boundary: TranscriptEntry = {
      kind: 'compact_boundary',
      id: 'e3',
      messages: [{ role: 'user', content: 'A summary.' }],
      trigger: 'auto',
      preTokens: 100,
      postTokens: 10,
    }
    expect(contextUsage(options, { transcript: Transcript.of([...entries, boundary]) }).isCounted).toBe(false)
    const other = { ...options, model: scriptedModel([], { id: 'other' }) }
    expect(contextUsage(other, { transcript: Transcript.of(entries) }).isCounted).toBe(false)
  })
})

describe('when the window is full', () => {
  test('a compaction frees about as much as predicted', async () => {
    // The service counts 1.3 times our estimate.
    const working = scriptedModel(
      ({ messages }, index) => ({
        ...(index < 12 ? { toolCalls: [{ name: 'Look' }] } : { text: index === 12 ? 'Done.' : 's'.repeat(1_200) }),
        usage: { input_tokens: Math.ceil(1.3 * (80 + estimateMessages(roughTokens, messages))) },
      }),
      { contextWindow: 40_000, maxOutputTokens: 8_000 },
    )
    const context = contextLayers({ clearResults: false, collapse: false })
    const all = { ...options, model: working, context }
    const { state } = await streamRun(startRun({ prompt: 'Look twelve times.' }), all).ended
    const { transcript } = state
    const usage = contextUsage(all, { transcript })
    const after = await streamRun(startRun({ transcript, compact: {} }), all).ended
    const now = contextUsage(all, { transcript: after.state.transcript })
    // Nothing is counted yet after a compaction.
    const freed = usage.figures.usedTokens - 1.3 * now.figures.usedTokens
    expect(freed).toBeGreaterThan(8_000)
    expect(usage.compactionFreesTokens / freed).toBeGreaterThan(0.8)
    expect(usage.compactionFreesTokens / freed).toBeLessThan(1.2)
    expect(now.parts.some(({ kind }) => kind === 'summary')).toBe(true)
  })

  test('thresholds are those of the layers; without them nothing is compacted', () => {
    const usage = contextUsage({ ...options, contextWindow: 30_000 }, { prompt: 'Hi.' })
    expect(usage.figures).toMatchObject({
      windowTokens: 30_000,
      thresholds: { compaction: 19_500, blocking: Infinity },
      isAboveWarning: false,
    })
    expect(usage.autoCompact?.atTokens).toBe(19_500)
    expect(usage.autoCompact?.freesTokens).toBeGreaterThan(3_000)
    expect(usage.autoCompact?.freesTokens).toBeLessThan(15_000)
    expect(usage.compactionFreesTokens).toBe(0)
    const long = Transcript.of(entriesOf(longWork))
    expect(contextUsage(options, { transcript: long }).compactionFreesTokens).toBeGreaterThan(1_000)
    const plain = contextUsage({ ...options, context: plainContext }, { transcript: long })
    expect([plain.autoCompact, plain.compactionFreesTokens]).toEqual([null, 0])
    expect(plain.figures.thresholds.blocking).toBe(37_000)
  })

  test('a turn costs what the prices say for cache writes and reads; without a price no cost is shown', () => {
    const prices = {
      cost: (_model: string, usage: { cache_creation_input_tokens: number; cache_read_input_tokens: number }) =>
        usage.cache_creation_input_tokens * 10 + usage.cache_read_input_tokens,
      worstCase: () => 1,
    }
    const { figures, inputUsd } = contextUsage({ ...options, prices })
    expect(inputUsd).toEqual({ uncached: figures.usedTokens * 10, cached: figures.usedTokens })
    expect(contextUsage(options).inputUsd).toBe(null)
  })
})

const longWork = Array.from({ length: 12 }, () => ({
  kind: 'works' as const,
  thinking: false,
  text: 100,
  input: 20,
  paused: false,
  approvedLate: false,
  results: [{ length: 4_000, form: 'text' as const }],
}))

function reply(
  id: string,
  content: Extract<TranscriptEntry, { kind: 'assistant' }>['message']['content'],
  usage = noUsage,
): TranscriptEntry {
  return {
    kind: 'assistant',
    id,
    message: { role: 'assistant', id, model: 'scripted', by: 'scripted', content, stop_reason: 'end_turn', usage },
  }
}

function results(id: string, textsById: Readonly<Record<string, string>>): TranscriptEntry {
  const content = Object.entries(textsById).map(([call, text]) => ({
    type: 'tool_result' as const,
    tool_use_id: call,
    content: text,
  }))
  return { kind: 'user', id, message: { role: 'user', content }, origin: 'tool_results' }
}

function withCount(entry: TranscriptEntry, input_tokens: number): TranscriptEntry {
  if (entry.kind !== 'assistant') return entry
  return { ...entry, message: { ...entry.message, usage: { ...noUsage, input_tokens } } }
}
