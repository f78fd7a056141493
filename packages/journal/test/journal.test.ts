// Tests R-JOUR-1 to R-JOUR-7 with R-JOUR-3c of docs/spec: the journal of a session on disk.
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { streamRun, resume, startRun, createMemorySteps, type RunOptions } from '@halting/core'
import { scriptedModel, transcriptProblems, type ScriptedReply } from '@halting/core/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JournalHandle } from '../src/journal-handle.ts'
import { forkSession } from '../src/sessions/fork-session.ts'
import { wholeLines } from '../src/whole-lines.ts'
import { openJournal } from '../src/open-journal.ts'
import { parseJournal, readJournal } from '../src/read-journal.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-journal-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const sessionId = '11111111-2222-4333-8444-555555555555'
const place = () => ({ path: join(folder, 'sub', `${sessionId}.jsonl`), sessionId, cwd: '/project', version: '0.1.0' })

const script: readonly ScriptedReply[] = [
  { text: 'I look.', thinking: 'hm', toolCalls: [{ name: 'Look' }, { name: 'Look', input: { n: 2 } }] },
  { toolCalls: [{ name: 'Write', input: { text: 'ä😀' } }] },
  'done',
]
/** A line of a message, as readers of session files know it. */
interface Line {
  readonly type: string
  readonly uuid: string
  readonly parentUuid: string | null
  readonly sessionId: string
  readonly cwd: string
  readonly timestamp: string
  readonly isSidechain: boolean
  readonly message: { readonly content: string | readonly { readonly type: string }[] }
  readonly toolUseResult?: unknown
}

const ran: string[] = []
const tools = [
  {
    name: 'Look',
    description: '',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => ({ content: 'seen\n'.repeat(300), details: { lines: 300 } }),
  },
  {
    name: 'Write',
    description: '',
    inputSchema: { type: 'object' },
    readOnly: false,
    execute: () => (ran.push('w'), 'written'),
  },
]
const optionsOf = (replies: readonly ScriptedReply[] = script): RunOptions => ({
  model: scriptedModel(replies),
  tools,
  maxRetries: 2,
})
/** The parts that do not depend on the time. */
const timeless = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, part: unknown) =>
    ['at', 'durationMs', 'now', 'startedAt', 'apiMs'].includes(key) ? 0 : part,
  )

async function whole(): Promise<Buffer> {
  const journal = await openJournal(place())
  const running = streamRun(startRun({ prompt: 'go', sessionId }), { ...optionsOf(), steps: journal.steps() })
  expect((await running.result).reason).toBe('completed')
  await journal.close()
  return readFileSync(place().path)
}

describe('the journal of a session', () => {
  test('has the same records as the step engine in memory', async () => {
    const steps = createMemorySteps()
    await streamRun(startRun({ prompt: 'go', sessionId }), { ...optionsOf(), steps }).result
    const { runs } = parseJournal(await whole(), 'x')
    expect(runs).toHaveLength(1)
    expect(timeless(runs[0])).toEqual(timeless(steps.records))
  })

  test('writes each message once, in the format that other readers know', async () => {
    const text = (await whole()).toString()
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
    expect(text.split('seen\\n'.repeat(300)).length - 1).toBe(2)
    expect(text.split('I look.').length - 1).toBe(1)
    const messages = lines.filter(({ type }) => type === 'user' || type === 'assistant')
    expect(
      messages.map(({ type, message }) => [
        type,
        typeof message.content === 'string' ? message.content : message.content.map((block) => block.type),
      ]),
    ).toEqual([
      ['user', 'go'],
      ['assistant', ['thinking', 'text', 'tool_use', 'tool_use']],
      ['user', ['tool_result']],
      ['user', ['tool_result']],
      ['assistant', ['tool_use']],
      ['user', ['tool_result']],
      ['assistant', ['text']],
    ])
    for (const { timestamp, uuid } of messages) {
      expect(typeof timestamp).toBe('number')
      // The number of the line identifies it, and the first line has everything else.
      expect(uuid).toBeUndefined()
    }
    let parent: string | null = null
    const exported = [...(await wholeLines(place().path))].map((line) => JSON.parse(line) as Line)
    const shown = exported.filter(({ type }) => type === 'user' || type === 'assistant')
    // Readers of such files recognize a reply by its type.
    const asShown = ({ type, message }: Line) => [type, type === 'user' ? message : { type: 'message', ...message }]
    expect(shown.map(({ type, message }) => [type, message])).toEqual(messages.map(asShown))
    for (const { uuid, parentUuid, sessionId: session, cwd, timestamp, isSidechain, message } of shown) {
      expect([parentUuid, session, cwd, isSidechain, typeof message]).toEqual([
        parent,
        sessionId,
        '/project',
        false,
        'object',
      ])
      expect(Number.isNaN(Date.parse(timestamp))).toBe(false)
      parent = uuid
    }
    expect(messages[2]?.toolUseResult).toEqual({ lines: 300 })
    expect(statSync(place().path).mode & 0o777).toBe(0o600)
  })

  test('restores the transcript, and accepts another run', async () => {
    await whole()
    const again = await openJournal(place())
    expect(again.open).toBeUndefined()
    expect(transcriptProblems(again.transcript.messages())).toEqual([])
    const start = startRun({ prompt: 'and now', sessionId, transcript: again.transcript })
    expect(start.run.runId).toBe('run2')
    await streamRun(start, { ...optionsOf(['fine']), steps: again.steps() }).result
    await again.close()
    const { runs } = await readJournal(place().path)
    expect(runs).toHaveLength(2)
    const last = await openJournal(place())
    expect(last.transcript.messages().length).toBe(again.transcript.messages().length + 2)
    await last.close()
  })

  test('continues after every line at which a process may end, with the same result', async () => {
    const bytes = await whole()
    const full = parseJournal(bytes, 'x')
    const ends = [...bytes.entries()].flatMap(([index, byte]) => (byte === 10 ? [index + 1] : []))
    // Before the first record nothing has started, and after the last one everything is done.
    const first = ends.findIndex((end) => parseJournal(bytes.subarray(0, end), 'x').runs.length > 0)
    for (const [index, end] of ends.entries()) {
      if (index < first || index === ends.length - 1) continue
      writeFileSync(place().path, bytes.subarray(0, end))
      const journal = await openJournal(place())
      if (journal.open === undefined) throw new Error(`Nothing is open after line ${index}.`)
      const asked = parseJournal(bytes.subarray(0, end), 'x').runs[0]!.filter(
        ({ type, ...rest }) => type === 'result' && 'key' in rest && rest.key.includes('model:'),
      ).length
      ran.length = 0
      const { loop: running } = resume(journal.open, optionsOf(script.slice(asked)), journal.transcript, journal.log)
      const { terminal, state } = await running.ended
      expect([index, terminal.reason]).toEqual([index, 'completed'])
      expect(transcriptProblems(state.transcript.messages())).toEqual([])
      await journal.close()
      const { runs } = await readJournal(place().path)
      const last = runs[0]!.at(-1)!
      expect(last.type).toBe('end')
      expect(timeless(runs[0]!.filter(({ type }) => type === 'lap').length)).toEqual(
        full.runs[0]!.filter(({ type }) => type === 'lap').length,
      )
      expect(ran.length).toBeLessThanOrEqual(1)
    }
  })

  test('reads up to the last complete line when the file is truncated at any byte of its last three lines', async () => {
    const bytes = await whole()
    const ends = [...bytes.entries()].flatMap(([index, byte]) => (byte === 10 ? [index + 1] : []))
    for (let length = ends.at(-4)!; length < bytes.length; length++) {
      const { wholeBytes, tornBytes } = parseJournal(bytes.subarray(0, length), 'x')
      expect([wholeBytes, tornBytes]).toEqual([ends.findLast((end) => end <= length), length - wholeBytes])
    }
    truncateSync(place().path, bytes.length - 7)
    const journal = await openJournal(place())
    expect(journal.tornBytes).toBeGreaterThan(0)
    expect(statSync(place().path).size).toBe(ends.at(-2))
    await journal.close()
  })

  test('reports damage before the last line with its line number, whichever byte it is', async () => {
    const bytes = await whole()
    const lineOf = (index: number) => bytes.subarray(0, index).filter((byte) => byte === 10).length + 1
    const lines = bytes.filter((byte) => byte === 10).length
    for (let index = 3; index < bytes.length; index += 37) {
      const damaged = Buffer.from(bytes)
      damaged[index] = damaged[index]! ^ 1
      const line = lineOf(index)
      let came: string
      try {
        came = parseJournal(damaged, 'x').tornBytes > 0 ? 'torn' : 'whole'
      } catch (error) {
        came = String(error)
      }
      expect(came).toMatch(
        line >= lines ? 'torn' : new RegExp(`is damaged in line ${line}:|its first line does not say so`),
      )
    }
  })

  test('rejects other files, and sessions of a later version', async () => {
    expect(() => parseJournal(Buffer.from(''), 'x')).toThrow('is empty')
    expect(() => parseJournal(Buffer.from('hello\n'), 'x')).toThrow('is empty, or is no session')
    const later = (await whole()).toString().split('\n')[0]!
    const { lineOf } = await import('../src/format/line.ts')
    const { sum: _sum, ...head } = JSON.parse(later) as Record<string, unknown>
    expect(() => parseJournal(Buffer.from(lineOf({ ...head, format: 99 })), 'x')).toThrow('written by a later version')
  })

  test('has one writer at a time, and releases a dead one', async () => {
    const journal = await openJournal(place())
    await expect(openJournal(place())).rejects.toThrow(`is in use by process ${process.pid}`)
    await journal.close()
    // A process that is gone, and one whose pid was reused.
    for (const holder of [{ pid: 4_194_300 }, { pid: process.pid, began: 'another time' }, 'garbage']) {
      const text =
        typeof holder === 'string'
          ? holder
          : JSON.stringify({ began: 'x', since: '', host: (await import('node:os')).hostname(), ...holder })
      writeFileSync(`${place().path}.lock`, text)
      const next = await openJournal(place())
      await next.close()
    }
  })

  test('gives an abandoned lock to only one of many processes', async () => {
    await (await openJournal(place())).close()
    writeFileSync(`${place().path}.lock`, 'garbage')
    const tried = await Promise.allSettled(Array.from({ length: 20 }, () => openJournal(place())))
    const won = tried.filter(({ status }) => status === 'fulfilled')
    expect(won).toHaveLength(1)
    for (const each of tried) if (each.status === 'fulfilled') await each.value.close()
  })

  test('ends the run with a named error when the file cannot be written', async () => {
    const path = '/dev/full'
    const { JournalFile } = await import('../src/journal-file.ts')
    const { appendingTo } = await import('../src/journal-handle.ts')
    const { JournalEncoder } = await import('../src/format/encoder.ts')
    const { DurableStepEngine } = await import('@halting/core/steps')
    const file = new JournalFile(path, await appendingTo(path))
    const encoder = new JournalEncoder({ sessionId, cwd: '/', version: '0' })
    const log = {
      keeps: 'all',
      append: (record: never) => file.append(encoder.linesOf(record).lines),
      flush: () => file.flush(),
    } as const
    const { reason, error } = await streamRun(startRun({ prompt: 'go' }), {
      ...optionsOf(),
      steps: new DurableStepEngine({ log }),
      maxBudgetUsd: 1,
      prices: { cost: () => 0, worstCase: () => 0 },
    }).result
    expect([reason, error?.code]).toEqual(['error', 'driver'])
    expect(error?.message).toContain('ENOSPC')
    await file.close()
  })
})

test.runIf(existsSync('/proc'))('reports a folder that cannot be created, without retrying forever', async () => {
  await expect(openJournal({ ...place(), path: '/proc/no-such-home/x.jsonl' })).rejects.toThrow('ENOENT')
})

test('never replaces a session with a fork, not even its own', async () => {
  const before = await whole()
  const place2 = { ...place(), path: join(folder, 'sub/fork.jsonl'), sessionId: '21111111-2222-4333-8444-555555555555' }
  await forkSession(place().path, place2)
  const copy = readFileSync(place2.path)
  await expect(forkSession(place().path, place2)).rejects.toThrow('is there already')
  await expect(forkSession(place().path, place())).rejects.toThrow('is there already')
  expect([readFileSync(place().path).equals(before), readFileSync(place2.path).equals(copy)]).toEqual([true, true])
})

test('stores the prompt id and the start time of each run', async () => {
  const before = Date.now()
  const journal = await openJournal(place())
  const model = scriptedModel(['One.', 'Two.'])
  const first = startRun({ prompt: 'go', promptId: 'loop:ab:1', sessionId })
  await streamRun(first, { model, steps: journal.steps() }).result
  await journal.close()
  const reopened = await openJournal(place())
  const second = startRun({ prompt: 'go on', transcript: reopened.transcript, sessionId })
  await streamRun(second, { model, steps: reopened.steps() }).result
  await reopened.close()
  const again = await openJournal(place())
  expect(again.ended.map(({ promptId }) => promptId)).toEqual(['loop:ab:1', undefined])
  expect(again.began.map((at) => at !== null && at >= before)).toEqual([true, true])
  await again.close()
})

// Spec R-JOUR-3c.
test('writes a reply to the file before the results of its calls are shown', async () => {
  const { path } = place()
  const appendNow = (text: string): boolean => (appendFileSync(path, text), true)
  const openFile = async (): Promise<JournalHandle> => ({
    appendNow,
    appendFile: async (text) => void appendNow(String(text)),
    datasync: async () => {},
    close: async () => {},
  })
  const journal = await openJournal({ ...place(), openFile })
  const options = { ...optionsOf([{ text: 'Hm.', toolCalls: [{ name: 'Look' }] }, 'done']), steps: journal.steps() }
  const written: string[] = []
  for await (const event of streamRun(startRun({ prompt: 'go', sessionId }), options))
    if (event.type === 'tool_end') written.push(readFileSync(path, 'utf8'))
  await journal.close()
  expect(written).toEqual([expect.stringContaining('Hm.')])
})
