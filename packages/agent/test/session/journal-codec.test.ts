// Holds rules of docs/spec.md: R-JOUR-2, R-JOUR-2a, R-JOUR-8: what goes into lines comes out of them, and long texts stand in files of their own.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loop, startRun, type ContentBlock, type TranscriptEntry } from '@halting/core'
import { noUsage } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { scriptedModel } from '@halting/core/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { JournalEncoder } from '../../src/session/journal-codec.ts'
import { payloadsFolder } from '../../src/session/journal-payloads.ts'
import { parseJournal, readJournal } from '../../src/session/read-journal.ts'
import { openJournal } from '../../src/session/session-journal.ts'
import { drawn } from '../support/deep.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-codec-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const sessionId = '11111111-2222-4333-8444-555555555555'
const placeOf = () => ({ path: join(folder, `${sessionId}.jsonl`), sessionId, cwd: '/project', version: '0.1.0' })

// Any characters, halves of them too, and what looks like the format itself.
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.string({ unit: fc.constantFrom('\ud83d', '\ude00', '\n', '\0', '\u2028', '"', 'a'), maxLength: 8 }),
  fc.constantFrom('__proto__', '{"ref":"x"}', ',"sum":"', '[1000001 bytes are in payloads/x]', 'tool:1:0:x'),
)
const json = fc.jsonValue({ maxDepth: 2, depthSize: 'small' })
const data = fc.dictionary(fc.oneof(text, fc.constantFrom('ref', 'blocks', 'at', 'payloads', 'sum')), json, {
  maxKeys: 4,
})
const image = fc.constant<ContentBlock>({
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
})
const shown = fc.oneof(
  text.map((each): ContentBlock => ({ type: 'text', text: each })),
  image,
)
const callId = fc.constantFrom('c1', 'c2', 'a/b', 'tool:1:0:c1', '__proto__')
const content = fc.oneof(text, fc.array(shown, { maxLength: 3 }))
const resultBlock = fc
  .tuple(callId, content, fc.constantFrom(undefined, true, false))
  .map(([id, what, isError]): ContentBlock => ({
    type: 'tool_result',
    tool_use_id: id,
    content: what,
    ...(isError !== undefined && { is_error: isError }),
  }))
const said: fc.Arbitrary<readonly ContentBlock[]> = fc.array(
  fc.oneof(
    shown,
    fc.tuple(text, text).map(([thinking, signature]): ContentBlock => ({ type: 'thinking', thinking, signature })),
    fc.tuple(callId, data).map(([id, input]): ContentBlock => ({ type: 'tool_use', id, name: 'T', input })),
  ),
  { maxLength: 4 },
)
const message = fc.tuple(said, text).map(([blocks, id]) => ({
  role: 'assistant' as const,
  id,
  model: 'scripted',
  content: blocks,
  stop_reason: 'end_turn',
  usage: noUsage,
}))
const scope = fc.constantFrom('run1/', 'run1/agent:3:0:c1/', 'run2/')

/** Entries of every kind. Those of replies and results come from the records before them, as a run's do. */
const entry: fc.Arbitrary<TranscriptEntry> = fc.oneof(
  fc
    .tuple(scope, text, content, fc.constantFrom('prompt', 'steer', 'hook', 'loop', 'interruption'))
    .map(([at, id, what, origin]) => ({
      kind: 'user',
      id: `${at}${id}`,
      message: { role: 'user', content: what },
      origin,
    })),
  fc.tuple(scope, fc.array(fc.oneof(resultBlock, shown), { maxLength: 3 }), data).map(([at, blocks, details]) => ({
    kind: 'user',
    id: `${at}results`,
    message: { role: 'user', content: blocks },
    origin: 'tool_results',
    details,
  })),
  fc.tuple(scope, message).map(([at, what]) => ({ kind: 'assistant', id: `${at}m`, message: what, aborted: true })),
  fc
    .tuple(
      scope,
      fc.array(
        fc.oneof(
          message,
          content.map((what) => ({ role: 'user', content: what })),
        ),
        { maxLength: 3 },
      ),
    )
    .map(([at, messages]) => ({
      kind: 'compact_boundary',
      id: `${at}b`,
      messages,
      trigger: 'auto',
      preTokens: 3,
      postTokens: 1,
      personsWords: 'carried',
    })),
  text.map((what) => ({ kind: 'attachment', id: 'run1/a', attachment: { type: 'informational', message: what } })),
  callId.map((id) => ({ kind: 'results_cleared', id: 'run1/c', calls: [id], freedTokens: 2 })),
  text.map((summary) => ({ kind: 'collapse_staged', id: 'run1/s', from: 0, to: 1, summary, freedTokens: 2 })),
  text.map((note) => ({ kind: 'media_removed', id: 'run1/r', note })),
) as fc.Arbitrary<TranscriptEntry>

const added = fc.array(entry, { maxLength: 4 })
// What a lap spends is data to the codec. Most laps have the fields of the one before, and some of its figures.
const figure = fc.oneof(json, fc.constantFrom(0, 1, null, { in: 1 }, { in: 2 }))
const spent = fc.oneof(
  data,
  fc.constantFrom(-0, undefined).map((now) => ({ request: 1, now })),
  fc.tuple(figure, figure, figure).map(([request, usage, own]) =>
    // A key that JSON may hold, too.
    JSON.parse(
      `{"request":${JSON.stringify(request)},"usage":${JSON.stringify(usage)},"__proto__":${JSON.stringify(own)}}`,
    ),
  ),
) as fc.Arbitrary<object>
const record: fc.Arbitrary<StepRecord> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.tuple(scope, message).map(([at, what]) => ({
      type: 'result',
      key: `${at}model:1.1`,
      digest: null,
      value: { kind: 'answered', message: what, charge: null },
      at: 1,
      durationMs: 1,
    })),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(scope, callId, content, fc.option(data), fc.boolean())
      .map(([at, id, what, details, isError]) => ({
        type: 'result',
        key: `${at}tool:1:0:${id}`,
        digest: 'd',
        value: { status: 'done', content: what, isError, ...(details !== null && { details }) },
        at: 1,
        durationMs: 1,
      })),
  },
  fc.tuple(scope, text, json).map(([at, name, value]) => ({
    type: 'result',
    key: `${at}hook:${name}`,
    digest: null,
    value,
    at: 1,
    durationMs: 1,
  })),
  fc
    .tuple(scope, callId, json)
    .map(([at, id, intent]) => ({ type: 'intent', key: `${at}tool:1:0:${id}`, digest: 'd', intent, at: 1 })),
  content.map((what) => ({
    type: 'control',
    key: 'run1/control:1',
    control: { messages: [{ id: 'i', kind: 'steer', content: what }] },
    at: 1,
  })),
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom('', 'agent:3:0:c1/'), added, spent).map(([at, list, figures]) => ({
      type: 'lap',
      lap: { scope: at, transition: 'next_turn', spent: figures, added: list },
    })),
  },
  fc.tuple(added, spent).map(([list, figures]) => ({
    type: 'end',
    scope: 'agent:3:0:c1/',
    terminal: { reason: 'completed' },
    added: list,
    spent: figures,
  })),
) as fc.Arbitrary<StepRecord>

/** Half of the entries hold what replies and results of records before them hold, as those of a run do: the same values. */
function shared(records: readonly StepRecord[]): readonly StepRecord[] {
  const contents: unknown[] = []
  const replies: unknown[] = []
  return records.map((each) => {
    if (each.type === 'result') {
      const value = each.value as {
        readonly message?: { readonly content: unknown }
        readonly content?: unknown
      } | null
      contents.push(value?.message?.content ?? value?.content)
      if (value?.message !== undefined) replies.push(value.message)
    }
    if (each.type !== 'lap') return each
    const list = each.lap.added.map((one, index) => {
      const known = contents.at(-1 - index)
      const reply = replies.at(-1 - index)
      if (one.kind === 'assistant' && index > 0 && reply !== undefined) return { ...one, message: reply }
      if (one.kind === 'assistant' && Array.isArray(known))
        return { ...one, message: { ...one.message, content: known } }
      if (one.kind !== 'user' || one.origin !== 'tool_results' || known === undefined) return one
      const block = { type: 'tool_result', tool_use_id: 'c1', content: known }
      return {
        ...one,
        message: { role: 'user', content: [block, ...(one.message.content as readonly ContentBlock[])] },
      }
    })
    return { ...each, lap: { ...each.lap, added: list } } as StepRecord
  })
}

const start = (entries: readonly TranscriptEntry[], run: string): StepRecord =>
  ({
    type: 'start',
    scope: '',
    start: { run: { sessionId, runId: run, agentPath: '', depth: 0 }, added: entries, spent: {} },
    at: 0,
  }) as unknown as StepRecord

describe('a file that is read in pieces', () => {
  test('comes to the same, also where a line is longer than a piece', async () => {
    const place = placeOf()
    const encoder = new JournalEncoder(place)
    // Half a character keeps a long text in its line.
    const texts = ['x'.repeat(900_000), `${'ä'.repeat(2_500_000)}\ud83d`, 'y\n'.repeat(300_000), 'last']
    const records = [
      start([], 'run1'),
      ...texts.map((content, at): StepRecord => ({
        type: 'intent',
        key: `run1/hook:${at}`,
        digest: null,
        intent: content,
        at,
      })),
    ]
    const bytes = Buffer.from(encoder.head() + records.map((each) => encoder.linesOf(each).lines).join(''))
    writeFileSync(place.path, bytes)
    const read = await readJournal(place.path)
    expect(read.runs).toEqual([records])
    expect(read).toEqual(parseJournal(bytes, place.path))
    expect(read.wholeBytes).toBe(bytes.length)
    // Torn in the long line; and damaged there, with whole lines in later pieces.
    writeFileSync(place.path, bytes.subarray(0, 3_000_000))
    const wholeBytes = bytes.indexOf(10, bytes.indexOf('xx')) + 1
    const torn = { runs: [records.slice(0, 2)], wholeBytes, tornBytes: 3_000_000 - wholeBytes }
    expect(await readJournal(place.path)).toMatchObject(torn)
    bytes[3_000_000] = 65
    writeFileSync(place.path, bytes)
    await expect(readJournal(place.path)).rejects.toThrow('is damaged in line 4')
  })
})

describe('lines and records', () => {
  test('come to the same, whatever was said and wherever another process went on', () => {
    fc.assert(
      fc.property(added, fc.array(record, { maxLength: 14 }), fc.nat({ max: 14 }), (first, drawnRecords, cut) => {
        const records = [start(first, 'run1'), ...shared(drawnRecords)]
        const place = placeOf()
        const encoder = new JournalEncoder(place)
        let bytes =
          encoder.head() +
          records
            .slice(0, cut)
            .map((each) => encoder.linesOf(each).lines)
            .join('')
        const before = parseJournal(Buffer.from(bytes), place.path)
        const other = new JournalEncoder(place, before.written)
        // Another process goes on from what it read, and may hold the same contents.
        bytes += records
          .slice(cut)
          .map((each) => other.linesOf(each).lines)
          .join('')
        const { runs } = parseJournal(Buffer.from(bytes), place.path)
        expect(runs.flat()).toEqual(JSON.parse(JSON.stringify(records)))
        expect(JSON.stringify(runs.flat())).toHaveLength(JSON.stringify(records).length)
        const uuids = bytes.split('\n').flatMap((line) => {
          const { uuid } = JSON.parse(line === '' ? '{}' : line) as { uuid?: string }
          return uuid === undefined ? [] : [uuid]
        })
        expect(new Set(uuids).size).toBe(uuids.length)
      }),
      { numRuns: drawn(2_000) },
    )
  })

  test('a lap names its reply by its line, and tells of what was spent only what changed', () => {
    const place = placeOf()
    const encoder = new JournalEncoder(place)
    const reply = { role: 'assistant', id: 'm', model: 'x', content: [], stop_reason: 'end_turn', usage: noUsage }
    const lap = (request: number, message: object): StepRecord =>
      ({
        type: 'lap',
        lap: {
          scope: '',
          transition: 'next_turn',
          spent: { request, usage: { in: 1 }, metadata: {} },
          added: [{ kind: 'assistant', id: 'run1/assistant:1', message }],
        },
      }) as unknown as StepRecord
    const answered: StepRecord = {
      type: 'result',
      key: 'run1/model:1.1',
      digest: null,
      value: { kind: 'answered', message: reply },
      at: 1,
      durationMs: 1,
    }
    const records = [start([], 'run1'), answered, lap(1, reply), answered, lap(2, reply)]
    const lines = records.map((each) => encoder.linesOf(each).lines)
    const { changed } = JSON.parse(lines[4] ?? '') as { readonly changed: unknown }
    expect(changed).toEqual({ request: 2 })
    expect(lines[4]).not.toContain('stop_reason')
    // A line that says what changed since one that is not there is damage.
    const bytes = [new JournalEncoder(place).head(), ...lines.filter((_, index) => index !== 2), lines[1]].join('')
    expect(() => parseJournal(Buffer.from(bytes), place.path)).toThrow('is damaged in line 5')
  })

  test('one chain of parents goes through all runs of a session; a subagent has its own', () => {
    const user = (id: string): TranscriptEntry => ({
      kind: 'user',
      id,
      message: { role: 'user', content: id },
      origin: 'prompt',
    })
    const place = placeOf()
    const first = new JournalEncoder(place)
    const head = first.head() + first.linesOf(start([user('run1/1')], 'run1')).lines
    const own = first.linesOf({ ...start([user('run1/agent:3:0:c1/1')], 'run1'), scope: 'agent:3:0:c1/' } as StepRecord)
    const second = new JournalEncoder(place, parseJournal(Buffer.from(head + own.lines), place.path).written)
    const last = second.linesOf(start([user('run2/1'), user('run2/agent:1:0:c1/1')], 'run2')).lines
    const lines = (head + own.lines + last)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ type }) => type === 'user')
    expect(lines.map(({ parentUuid, isSidechain }) => [parentUuid, isSidechain])).toEqual([
      [null, false],
      [null, true],
      [lines[0]?.['uuid'], false],
      [null, true],
    ])
  })
})

describe('a text over 1 MB', () => {
  const long = 'ä😀 wort '.repeat(100_000)
  const other = `${long}!`
  const tools = [
    {
      name: 'Read',
      description: '',
      inputSchema: { type: 'object' },
      readOnly: true,
      execute: () => ({ content: [{ type: 'text' as const, text: other }], details: { stdout: other } }),
    },
  ]

  async function written(): Promise<{ readonly journal: string; readonly payloads: string }> {
    const place = placeOf()
    const journal = await openJournal(place)
    const steps = journal.steps()
    const model = scriptedModel([{ toolCalls: [{ name: 'Read', input: { text: long } }] }, 'done'], {
      contextWindow: 50_000_000,
    })
    const { reason } = await loop(startRun({ prompt: long, sessionId }), {
      model,
      tools,
      steps,
    }).terminal
    expect(reason).toBe('completed')
    await journal.close()
    return { journal: place.path, payloads: payloadsFolder(place.path) }
  }

  test('stands in a file of its own, once, and comes back', async () => {
    const { journal, payloads } = await written()
    expect(payloads).toBe(join(folder, sessionId, 'payloads'))
    const names = readdirSync(payloads)
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted())
    expect(names).toHaveLength(2)
    for (const name of names) expect(statSync(join(payloads, name)).mode & 0o777).toBe(0o600)
    expect(statSync(journal).size).toBeLessThan(50_000)
    const again = await openJournal(placeOf())
    const [prompt, call, result] = again.transcript.messages()
    expect(prompt?.content).toBe(long)
    expect(call?.content).toMatchObject([{ type: 'tool_use', input: { text: long } }])
    expect(result?.content).toMatchObject([{ type: 'tool_result', content: [{ type: 'text', text: other }] }])
    await again.close()
  })

  test('that is missing or damaged is told by the name of its file', async () => {
    const { journal, payloads } = await written()
    const path = join(payloads, readdirSync(payloads)[0] ?? '')
    const whole = readFileSync(path)
    rmSync(path)
    await expect(readJournal(journal)).rejects.toMatchObject({ code: 'driver', message: expect.stringContaining(path) })
    writeFileSync(path, whole.subarray(1))
    await expect(readJournal(journal)).rejects.toMatchObject({
      code: 'driver',
      message: expect.stringContaining('damaged'),
    })
    writeFileSync(path, whole)
    expect((await readJournal(journal)).runs).toHaveLength(1)
  })

  test('that cannot be written is named by no line', async () => {
    const place = placeOf()
    // A file stands where the folder would be.
    mkdirSync(join(folder, sessionId))
    writeFileSync(join(folder, sessionId, 'payloads'), '')
    const journal = await openJournal(place)
    const model = scriptedModel(['done'], { contextWindow: 50_000_000 })
    const { reason, error } = await loop(startRun({ prompt: long, sessionId }), {
      model,
      tools,
      steps: journal.steps(),
    }).terminal
    expect([reason, error?.code]).toEqual(['error', 'driver'])
    await journal.close()
    expect((await readJournal(place.path)).runs).toEqual([])
    expect(existsSync(`${place.path}.lock`)).toBe(false)
  })
})
