// Tests R-JOUR-12 of docs/spec: resuming a session from its folds gives the same state as from all lines.
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { streamRun, resume, startRun, type RunOptions, type TranscriptEntry } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { foldRun, foldSession, type FoldedSession, type StepRecord } from '@halting/core/steps'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { JournalEncoder, type JournalFormat } from '../../src/format/encoder.ts'
import { foldMark } from '../../src/format/fold.ts'
import { JournalReader, parseJournal, readJournal, readForResume, type ReadJournal } from '../../src/read-journal.ts'
import { openJournal } from '../../src/open-journal.ts'
import { wholeLines } from '../../src/whole-lines.ts'
import { drawn } from '../../../core/test/support/deep.ts'
import { added, drawnSessionId as sessionId, message, record, shared, start } from '../support/drawn-records.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-fold-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const place = () => ({ path: join(folder, `${sessionId}.jsonl`), sessionId, cwd: '/project', version: '0.1.0' })
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** The state of a session that a process resumes. */
function comesTo({ runs, written, wholeBytes }: ReadJournal, list: readonly StepRecord[]): unknown {
  const folded = foldSession(runs)
  // Nobody rewinds to an entry of a subagent.
  const ofSubagents = new Set(list.flatMap((each) => (isOfSubagent(each) ? addedIn(each).map(({ id }) => id) : [])))
  const { lines, entryLines, spent, sums } = written
  const ofMain = [...entryLines].filter(([id]) => !ofSubagents.has(id))
  return plain({ said: summed(folded), lines, wholeBytes, entryLines: ofMain, spent: [...spent], sums: sums.sums() })
}

function addedIn(each: StepRecord): readonly TranscriptEntry[] {
  if (each.type === 'lap') return each.lap.added
  return each.type === 'end' ? each.added : each.type === 'start' ? each.start.added : []
}

function isOfSubagent(each: StepRecord): boolean {
  return each.type === 'lap' ? each.lap.scope !== '' : each.type === 'end' && each.scope !== ''
}

function summed({ transcript, open, ended, isRewound }: FoldedSession): unknown {
  const run = open === undefined ? undefined : foldRun(open, transcript)
  if (run?.kind !== 'open') return { transcript, ended, isRewound }
  const { state, replay, spent, recordedUntil } = run
  return { transcript, ended, isRewound, state, replay, spent, recordedUntil }
}

const nothingSpent = { nanos: 3, unknownNanos: 1, totalTokens: 2 }
const begins = (entries: Parameters<typeof start>[0], run: string): StepRecord => {
  const record = start(entries, run)
  // Start records have no figures of their own.
  return {
    ...record,
    start: { ...(record as { readonly start: object }).start, spent: nothingSpent },
  } as unknown as StepRecord
}
const main = fc.tuple(added, fc.nat()).map(([list, request]): StepRecord => {
  const spent = { request, ...nothingSpent } as never
  return { type: 'lap', lap: { scope: '', transition: 'next_turn', spent, added: list } }
})
const request = fc.tuple(fc.nat(3), fc.boolean(), fc.nat(9)).map(([at, isOpen, nanos]): StepRecord => {
  const key = `run1/model:${at}.1`
  if (isOpen) return { type: 'intent', key, digest: null, intent: { granted: true, nanos, tokens: 1 }, at: nanos }
  const charge = { nanos, tokens: 2, known: nanos % 2 === 0 }
  return { type: 'result', key, digest: null, value: { kind: 'failed', charge }, at: nanos, durationMs: 2 }
})
/** The records of one turn: the charge, the reply, the result and a lap. Some replies have further entries. */
const turn = fc.tuple(fc.nat(9), message, fc.boolean(), added).map(([nanos, reply, isCut, more]) => {
  const key = `run1/model:${nanos}.1`
  const [charge, own] = [{ nanos, tokens: 1, known: nanos % 2 === 0 }, isCut ? { aborted: true } : {}]
  const said = { kind: 'assistant', id: `run1/assistant:${nanos}`, message: reply, ...own } as const
  const block = { type: 'tool_result', tool_use_id: 'c1', content: 'seen' } as const
  const results = { role: 'user', content: [block] } as const
  const entries = [said, { kind: 'user', id: `run1/r${nanos}`, message: results, origin: 'tool_results' }, ...more]
  return [
    { type: 'intent', key, digest: null, intent: { granted: true, nanos, tokens: 1 }, at: nanos },
    {
      type: 'result',
      key,
      digest: null,
      value: { kind: 'answered', message: reply, charge },
      at: nanos,
      durationMs: 2,
    },
    {
      type: 'result',
      key: `run1/tool:${nanos}:0:c1`,
      digest: null,
      value: { status: 'done', content: 'seen', isError: false },
      at: nanos,
      durationMs: 1,
    },
    {
      type: 'lap',
      lap: { scope: '', transition: 'next_turn', spent: { request: nanos, ...nothingSpent } as never, added: entries },
    },
  ] as readonly StepRecord[]
})
const end: StepRecord = {
  type: 'end',
  scope: '',
  terminal: { reason: 'completed', costUsd: 1 },
  added: [],
  spent: { turns: 1 },
} as unknown as StepRecord
const between = fc.constantFrom<readonly StepRecord[]>(
  [end, begins([], 'run2')],
  [end, { type: 'rewind', entries: 0, after: null }, begins([], 'run2')],
)
const records = fc
  .tuple(added, fc.array(fc.oneof(record, main, request, between, turn), { maxLength: 20 }), fc.boolean())
  .map(([first, list, ends]) => shared([begins(first, 'run1'), ...list.flat(), ...(ends ? [end] : [])]))

describe('resuming by folds', () => {
  test('has the same result as all lines, for any content and wherever other processes continued', async () => {
    let folds = 0
    const property = fc.asyncProperty(
      records,
      fc.nat({ max: 20 }),
      fc.nat({ max: 20 }),
      fc.constantFrom(1, 800, 3_000),
      fc.constantFrom<JournalFormat>(1, 2),
      async (list, first, second, size, format) => {
        const { path } = place()
        writeFileSync(path, new JournalEncoder(place(), undefined, size, format).head())
        const cuts = [first, second].toSorted((a, b) => a - b)
        for (const part of [list.slice(0, cuts[0]), list.slice(cuts[0], cuts[1]), list.slice(cuts[1])]) {
          const encoder = new JournalEncoder(place(), (await readForResume(path, 'open')).written, size)
          writeFileSync(path, part.map((each) => encoder.linesOf(each).lines).join(''), { flag: 'a' })
        }
        // The codec treats figures as opaque data.
        const lines = parseJournal(readFileSync(path), path)
        // Readers of lines see no folds.
        expect(lines.runs.flat()).toEqual(plain(list))
        const byFolds = await readForResume(path, 'open')
        folds += lines.runs.flat().length - byFolds.runs.flat().length
        expect(comesTo(byFolds, list)).toEqual(comesTo(lines, list))
        const { open, ...more } = foldSession((await readForResume(path, 'conversation')).runs)
        // This omits the records of an open run.
        const isOver = list.at(-1) === end
        const folded = isOver ? [open, plain(summed({ open, ...more }))] : []
        expect(folded).toEqual(isOver ? [undefined, plain(summed(foldSession(lines.runs)))] : [])
      },
    )
    await fc.assert(property, { numRuns: drawn(400) })
    expect(folds).toBeGreaterThan(20)
  })
})

test('reads no line that a fold covers, also in later runs', () => {
  const said = (run: string): TranscriptEntry => ({
    kind: 'user',
    id: `${run}/prompt:0`,
    message: { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
    origin: 'prompt',
  })
  // Without messages that only a step has, because no entry names them.
  const turns = fc.array(
    turn.map((list) =>
      list.map((each) =>
        each.type === 'lap' ? { ...each, lap: { ...each.lap, added: each.lap.added.slice(0, 2) } } : each,
      ),
    ),
    { minLength: 1, maxLength: 8 },
  )
  const property = fc.property(turns, turns, (first, second) => {
    const list = [
      begins([said('run1')], 'run1'),
      ...first.flat(),
      end,
      begins([said('run2')], 'run2'),
      ...second.flat(),
    ]
    const encoder = new JournalEncoder(place(), undefined, 400)
    const bytes = Buffer.from(encoder.head() + list.map((each) => encoder.linesOf(each).lines).join(''))
    const reader = new JournalReader('x', 'open', 'folds')
    reader.take(bytes, 'last')
    expect(comesTo(reader.end(bytes.length), list)).toEqual(comesTo(parseJournal(bytes, 'x'), list))
  })
  fc.assert(property, { numRuns: drawn(200) })
})

describe('a long session', () => {
  const turns = 40
  const replies = Array.from({ length: turns }, (_, n) => ({ text: `Turn ${n} ä😀`, toolCalls: [{ name: 'Look' }] }))
  const optionsOf = (script: readonly ScriptedReply[]): RunOptions => ({
    model: scriptedModel(script, { contextWindow: 100_000_000 }),
    tools: [
      {
        name: 'Look',
        description: '',
        inputSchema: { type: 'object' },
        readOnly: true,
        execute: () => ({ content: 'seen\n'.repeat(2_000) }),
      },
    ],
  })

  /** A run that was killed during its last request. `left` is its file at that time. */
  async function killed(): Promise<string> {
    const { path } = place()
    const left = join(folder, 'left.jsonl')
    const journal = await openJournal(place())
    const options = optionsOf([...replies, 'done'])
    const { model } = options
    let asked = 0
    const watched = {
      ...model,
      call: async (...given: Parameters<typeof model.call>) => {
        if (++asked > turns) {
          await journal.log.flush()
          copyFileSync(path, left)
        }
        return model.call(...given)
      },
    }
    const steps = journal.steps()
    await streamRun(startRun({ prompt: 'Go.', sessionId }), { ...options, model: watched, steps }).result
    await journal.close()
    copyFileSync(left, path)
    return path
  }

  test('resumes in the middle of a run with its messages and figures, without the records of past turns', async () => {
    const path = await killed()
    const lines = await readJournal(path)
    const journal = await openJournal(place())
    expect(lines.runs.flat().length).toBeGreaterThan(turns * 5)
    expect(journal.open?.length).toBeLessThan(100)
    const { terminal, state } = await resume(journal.open ?? [], optionsOf(['done']), journal.transcript, journal.log)
      .loop.ended
    await journal.close()
    expect([terminal.reason, state.spent.turns]).toEqual(['completed', turns + 1])
    expect(state.transcript.length).toBe(turns * 2 + 2)
    const again = await readJournal(path)
    expect(again.runs[0]?.slice(0, lines.runs[0]?.length)).toEqual(lines.runs[0])
    expect(plain(foldSession(again.runs).transcript)).toEqual(plain(state.transcript))
    const next = await openJournal(place())
    expect(plain(next.transcript)).toEqual(plain(state.transcript))
    expect(plain(next.ended)).toEqual(plain(foldSession(again.runs).ended))
    await next.close()
  })

  test('reports damage by line number, as without folds', async () => {
    const path = await killed()
    const whole = readFileSync(path)
    const fold = whole.indexOf(foldMark) + 1
    // In a message that a fold names, in a step that it skips, in the fold, and behind it.
    for (const at of [whole.indexOf('seen'), whole.indexOf('"intent"'), fold + 100, whole.indexOf('"intent"', fold)]) {
      const damaged = Buffer.from(whole)
      damaged[at] = 'X'.charCodeAt(0)
      writeFileSync(path, damaged)
      const line = whole.subarray(0, at).toString('latin1').split('\n').length
      await expect(openJournal(place())).rejects.toMatchObject({
        code: 'driver',
        message: expect.stringContaining(`is damaged in line ${line}:`),
      })
    }
    writeFileSync(path, whole)
    await (await openJournal(place())).close()
  })

  test('resumes without folds, as an earlier version wrote it, with the same result', async () => {
    const path = await killed()
    const before = await openJournal(place())
    await before.close()
    const lines = [...(await wholeLines(path))]
    expect(lines.join('')).not.toContain('"fold"')
    writeFileSync(path, lines.join(''))
    const journal = await openJournal(place())
    const { terminal, state } = await resume(journal.open ?? [], optionsOf(['done']), journal.transcript, journal.log)
      .loop.ended
    expect([terminal.reason, state.transcript.length]).toEqual(['completed', turns * 2 + 2])
    expect(plain(journal.open?.at(-1))).toEqual(plain(before.open?.at(-1)))
    await journal.close()
  })
})
