// Tests R-JOUR-3, R-JOUR-3b, R-JOUR-4 and R-JOUR-6 of docs/spec: a disk that loses unsynced data, and one that fails.
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { streamRun, resume, startRun, type RunOptions, type ModelRequest, type RunResult } from '@halting/core'
import { isToolResult } from '@halting/core/adapters'
import { scriptedModel, transcriptProblems, type ScriptedReply } from '@halting/core/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JournalHandle } from '../src/journal-handle.ts'
import { parseJournal } from '../src/read-journal.ts'
import { openJournal } from '../src/open-journal.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-disk-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const sessionId = '11111111-2222-4333-8444-555555555555'
const price = 1e-6
const maxBudgetUsd = 1
const forever = <T>(): Promise<T> => new Promise<T>(() => {})

/** Effects that outlive the process. */
interface Outside {
  readonly effects: string[]
  /** Calls that were made before their intent was on disk. */
  readonly tooEarly: string[]
  paidUsd: number
}

/** Which writes the file supports: synchronous ones as well, or only those of the thread pool. */
type Writes = 'at once' | 'by the pool'

/** A machine that runs one process. It counts the moments, and dies or fails at one of them. */
class Machine {
  readonly path: string
  readonly outside: Outside
  /** Bytes that certainly survive a power failure. */
  synced: number
  moments = 0
  isDead = false
  refused: 'write' | 'sync' | undefined
  died: () => void = () => {}
  readonly dead = new Promise<void>((resolve) => (this.died = resolve))
  readonly #diesAt: number
  readonly #writes: Writes
  readonly #refusesAt: { readonly operation: number; readonly code: string } | undefined
  #operations = 0

  constructor(
    path: string,
    outside: Outside,
    diesAt = Infinity,
    refusesAt?: { readonly operation: number; readonly code: string },
    writes: Writes = 'at once',
  ) {
    this.#writes = writes
    this.path = path
    this.outside = outside
    this.#diesAt = diesAt
    this.#refusesAt = refusesAt
    this.synced = 0
  }

  get operations(): number {
    return this.#operations
  }

  /** A moment at which the process may die. Nothing happens after its death. */
  async moment(): Promise<void> {
    if (!this.isDead && this.moments++ === this.#diesAt) {
      this.isDead = true
      this.died()
    }
    if (this.isDead) await forever()
  }

  #refuse(what: 'write' | 'sync'): void {
    if (this.#operations++ !== this.#refusesAt?.operation) return
    this.refused = what
    const { code } = this.#refusesAt
    throw Object.assign(new Error(`${code}: refused`), { code })
  }

  #writeNow(file: number, text: string): boolean {
    if (!this.isDead && this.moments++ === this.#diesAt) {
      this.isDead = true
      this.died()
    }
    if (this.isDead) return true
    try {
      this.#refuse('write')
    } catch (error) {
      writeSync(file, text.slice(0, text.length / 2))
      throw error
    }
    writeSync(file, text)
    return true
  }

  readonly openFile = async (): Promise<JournalHandle> => {
    const file = openSync(this.path, 'a')
    // Creating the file synced the first line.
    this.synced = readFileSync(this.path).length
    return {
      ...(this.#writes === 'at once' && { appendNow: (text) => this.#writeNow(file, text) }),
      appendFile: async (text) => {
        await this.moment()
        const bytes = Buffer.from(String(text))
        try {
          this.#refuse('write')
        } catch (error) {
          // A full disk accepts a part.
          writeSync(file, bytes.subarray(0, bytes.length / 2))
          throw error
        }
        writeSync(file, bytes)
        await this.moment()
      },
      datasync: async () => {
        await this.moment()
        // Writes during the sync are not part of it.
        const { length } = readFileSync(this.path)
        await new Promise((resolve) => setImmediate(resolve))
        this.#refuse('sync')
        this.synced = length
        await this.moment()
      },
      close: async () => closeSync(file),
    }
  }

  /** Whether the intent of a key would survive a power failure at this moment. */
  hasSynced(key: RegExp): boolean {
    const { runs } = parseJournal(readFileSync(this.path).subarray(0, this.synced), 'x')
    return runs.flat().some((record) => record.type === 'intent' && key.test(record.key))
  }

  options(): RunOptions {
    return {
      model: {
        ...scriptedModel([]),
        call: async (request, call) => {
          await this.moment()
          // Under a limit, a possible cost is on disk before it is spent.
          this.outside.tooEarly.push(...(this.hasSynced(/\/model:/) ? [] : ['model']))
          this.outside.paidUsd += 110 * price
          return scriptedModel(() => replyTo(request)).call(request, call)
        },
      },
      tools: [
        {
          name: 'Look',
          description: '',
          inputSchema: { type: 'object' },
          readOnly: true,
          execute: () => 'seen',
        },
        {
          name: 'Pay',
          description: '',
          inputSchema: { type: 'object' },
          readOnly: false,
          execute: async (_input, { callId }) => {
            await this.moment()
            if (!this.hasSynced(new RegExp(`:${callId}$`))) this.outside.tooEarly.push(callId)
            this.outside.effects.push(callId)
            await this.moment()
            return `paid by ${callId}`
          },
        },
      ],
      maxBudgetUsd,
      prices: {
        cost: (_model, usage) => (usage.input_tokens + usage.output_tokens) * price,
        worstCase: (_model, bound) => (bound.inputTokens + bound.outputTokens) * price,
      },
    }
  }
}

const turns: readonly ScriptedReply[] = [
  {
    toolCalls: [
      { id: 'l1', name: 'Look' },
      { id: 'l2', name: 'Look' },
      { id: 'p1', name: 'Pay' },
    ],
  },
  {
    text: 'on',
    toolCalls: [
      { id: 'p2', name: 'Pay' },
      { id: 'p3', name: 'Pay' },
      { id: 'l3', name: 'Look' },
    ],
  },
  { toolCalls: [{ id: 'l4', name: 'Look' }] },
  { text: 'done' },
]

function replyTo({ messages }: ModelRequest): ScriptedReply {
  expect(transcriptProblems(messages)).toEqual([])
  const reply = turns[messages.filter(({ role }) => role === 'assistant').length]
  // The script consists of such replies.
  return { ...(reply as object), usage: { input_tokens: 100, output_tokens: 10 } }
}

interface Went {
  readonly terminal: RunResult
  readonly results: ReadonlyMap<string, string>
}

/** Runs until the run ends or the machine dies. */
async function go(machine: Machine): Promise<Went | undefined> {
  const { path, openFile } = machine
  const journal = await openJournal({ path, sessionId, cwd: '/project', version: '0.1.0', openFile })
  const options = machine.options()
  const running =
    journal.open === undefined
      ? streamRun(startRun({ prompt: 'go', sessionId }), { ...options, steps: journal.steps() })
      : resume(journal.open, options, journal.transcript, journal.log).loop
  const ended = await Promise.race([running.ended, machine.dead])
  if (ended === undefined) return undefined
  const messages = ended.state.transcript.messages()
  expect(transcriptProblems(messages)).toEqual([])
  await journal.close()
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  const results = new Map(
    blocks.filter(isToolResult).map((block) => [block.tool_use_id, JSON.stringify(block.content)]),
  )
  return { terminal: ended.terminal, results }
}

const nextPath = (() => {
  let count = 0
  return (): string => join(folder, `${++count}.jsonl`)
})()

/** A dead process leaves its lock. This process is still alive. */
const forgetLock = (path: string): void => rmSync(`${path}.lock`, { force: true })

function checkCompleted(went: Went | undefined, { effects, tooEarly, paidUsd }: Outside): void {
  expect(tooEarly).toEqual([])
  expect(went?.terminal.reason).toBe('completed')
  expect(effects).toEqual([...new Set(effects)])
  for (const id of ['p1', 'p2', 'p3']) {
    const result = went?.results.get(id) ?? ''
    expect([id, result.includes('is unknown') || (result === `"paid by ${id}"` && effects.includes(id))]).toEqual([
      id,
      true,
    ])
  }
  expect(paidUsd).toBeLessThanOrEqual((went?.terminal.committedUsd ?? 0) + 1e-9)
  expect(went?.terminal.committedUsd).toBeLessThanOrEqual(maxBudgetUsd)
}

describe('a disk that loses unsynced data', () => {
  /** How much of the unsynced data survives. */
  const losses: readonly (readonly [string, (bytes: Buffer) => number])[] = [
    ['all of it', () => 0],
    ['all but a line', (bytes) => bytes.indexOf(10) + 1],
    ['the end of its last line', (bytes) => Math.max(0, bytes.length - 3)],
    ['all but half a line', (bytes) => Math.floor((bytes.indexOf(10) + 1) / 2)],
    ['nothing', (bytes) => bytes.length],
  ]

  test.each(losses)('repeats and hides nothing after a power failure that loses %s', async (_name, kept) => {
    for (const writes of ['at once', 'by the pool'] as const)
      expect(await failAtEachMoment(kept, writes)).toBeGreaterThan(writes === 'at once' ? 30 : 40)
  })
})

/** Simulates a power failure at each moment of a run and resumes it. Returns the number of moments. */
async function failAtEachMoment(kept: (bytes: Buffer) => number, writes: Writes): Promise<number> {
  const whole = new Machine(nextPath(), { effects: [], tooEarly: [], paidUsd: 0 }, Infinity, undefined, writes)
  checkCompleted(await go(whole), whole.outside)
  for (let moment = 0; moment < whole.moments; moment++) {
    const outside: Outside = { effects: [], tooEarly: [], paidUsd: 0 }
    const path = nextPath()
    const machine = new Machine(path, outside, moment, undefined, writes)
    // One moment after another.
    if ((await go(machine)) !== undefined) break
    forgetLock(path)
    truncateSync(path, machine.synced + kept(readFileSync(path).subarray(machine.synced)))
    const { runs } = parseJournal(readFileSync(path), path)
    if (runs[0]?.at(-1)?.type === 'end') continue
    checkCompleted(await go(new Machine(path, outside)), outside)
  }
  return whole.moments
}

describe('a disk that fails', () => {
  test.each([
    ['ENOSPC', 'at once'],
    ['EIO', 'at once'],
    ['ENOSPC', 'by the pool'],
    ['EIO', 'by the pool'],
  ] as const)(
    'ends the run with a named error after %s at any write or sync, and the file continues: writes %s',
    async (code, writes) => {
      const whole = new Machine(nextPath(), { effects: [], tooEarly: [], paidUsd: 0 }, Infinity, undefined, writes)
      await go(whole)
      expect(whole.operations).toBeGreaterThan(12)
      for (let operation = 0; operation < whole.operations; operation++) {
        const outside: Outside = { effects: [], tooEarly: [], paidUsd: 0 }
        const path = nextPath()
        const machine = new Machine(path, outside, Infinity, { operation, code }, writes)
        const refused = await go(machine)
        // On a busy machine, lines may share writes differently, and there may be fewer writes.
        if (machine.refused === undefined) continue
        expect([operation, refused?.terminal.reason, refused?.terminal.error?.code]).toEqual([
          operation,
          'error',
          'driver',
        ])
        expect(refused?.terminal.error?.message).toContain(code)
        const { runs } = parseJournal(readFileSync(path), path)
        const hasEnded = runs[0]?.at(-1)?.type === 'end'
        // The end was written, and only the very last sync failed.
        expect([operation, hasEnded && machine.refused === 'write']).toEqual([operation, false])
        if (hasEnded) continue
        checkCompleted(await go(new Machine(path, outside)), outside)
      }
    },
  )
})
