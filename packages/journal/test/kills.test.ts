// Tests R-JOUR-3, R-JOUR-4, R-JOUR-5, R-RES-4 and R-RES-5 of docs/spec: a session that is killed repeatedly reaches its
// end.
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { transcriptProblems } from '@halting/core/testing'
import { isToolResult, isToolUse } from '@halting/core/adapters'
import type { ModelMessage } from '@halting/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseJournal } from '../src/read-journal.ts'
import { wholeLines } from '../src/whole-lines.ts'
import type { Orders } from './torture/moments.ts'
import { bundleChild, killClasses, randomOf, torment, type KillClass, type Tormented } from './torture/tormentor.ts'
import { isDeep, isWhole } from '../../core/test/support/deep.ts'

// `HALTING_KILLS=5000` executes any number of kills.
const wanted = Number(process.env['HALTING_KILLS'] ?? (isWhole ? 126 : isDeep ? 36 : 9))
const perClass = Math.ceil(wanted / killClasses.length)
const killsOfSession = 30
const turns = 60

let checked = 0
let folder: string
let child: string
beforeAll(async () => {
  // A killed process loses nothing that it passed to the kernel, on any file system. A file system in memory needs no
  // disk.
  const memory = '/dev/shm'
  folder = mkdtempSync(join(!isDeep && existsSync(memory) ? memory : tmpdir(), 'halting-kills-'))
  child = await bundleChild(folder)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Invariants of a session, however often it was killed. */
async function checkAll({ left, paid, effects, paidAgain, journal }: Tormented, maxBudgetUsd: number): Promise<void> {
  expect(left.problems).toEqual([])
  expect(paid.flatMap(({ problems }) => problems)).toEqual([])
  expect(paidAgain).toEqual([])
  // No effect happens twice or without a result.
  expect(effects).toEqual([...new Set(effects)])
  // The child wrote the messages of its transcript.
  const messages = left.messages as readonly ModelMessage[]
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  const calls = blocks.filter(isToolUse)
  const results = new Map(blocks.filter(isToolResult).map((result) => [result.tool_use_id, result]))
  for (const { id, name } of calls) {
    const result = results.get(id)
    const text = JSON.stringify(result?.content)
    const said =
      name === 'Look'
        ? text === `[{"type":"text","text":"seen by ${id}"}]`
        : result?.is_error === true
          ? text.includes('The outcome of this call is unknown')
          : text === `"paid by ${id}"` && effects.includes(id)
    expect([id, text, said]).toEqual([id, text, true])
  }
  expect(effects.filter((id) => !results.has(id))).toEqual([])
  // The charge is at least the payment, and within the budget.
  const paidUsd = paid.reduce((sum, { costUsd }) => sum + costUsd, 0)
  expect(paidUsd).toBeLessThanOrEqual(left.committedUsd + 1e-9)
  expect(left.committedUsd).toBeLessThanOrEqual(maxBudgetUsd)
  await checkFile(journal, messages)
}

/** The file by itself: each message once, a single chain of parents, the same conversation. */
async function checkFile(journal: Buffer, messages: readonly ModelMessage[]): Promise<void> {
  const { runs, tornBytes } = parseJournal(journal, 'journal')
  expect([runs.length, tornBytes, runs[0]?.at(-1)?.type]).toEqual([1, 0, 'end'])
  const path = join(folder, `${++checked}.jsonl`)
  writeFileSync(path, journal)
  const lines = [...(await wholeLines(path))]
    .map((line) => JSON.parse(line) as { type: string; uuid: string; parentUuid: string | null; message: ModelMessage })
    .filter(({ type }) => type === 'user' || type === 'assistant')
  expect(new Set(lines.map(({ uuid }) => uuid)).size).toBe(lines.length)
  let parent: string | null = null
  for (const { parentUuid, uuid } of lines) {
    expect(parentUuid).toBe(parent)
    parent = uuid
  }
  const blocksOf = (list: readonly ModelMessage[]) =>
    list.flatMap(({ content }) =>
      typeof content === 'string' ? [content] : content.map((block) => JSON.stringify(block)),
    )
  expect(blocksOf(lines.map(({ message }) => message)).toSorted()).toEqual(blocksOf(messages).toSorted())
  expect(transcriptProblems(messages)).toEqual([])
}

test(
  `completes after ${perClass} kills in each of ${killClasses.length} classes, with nothing repeated, lost or paid twice`,
  async () => {
    const owed = new Map<KillClass, number>(killClasses.map((each) => [each, perClass]))
    let session = 0
    const worker = async (): Promise<void> => {
      while ([...owed.values()].some((count) => count > 0)) {
        const random = randomOf(++session)
        let begun = 0
        const nextKill = (): KillClass | undefined => {
          const open = [...owed].filter(([, count]) => count > 0).map(([each]) => each)
          const chosen = ++begun > killsOfSession ? undefined : open[random(open.length)]
          if (chosen !== undefined) owed.set(chosen, (owed.get(chosen) ?? 0) - 1)
          return chosen
        }
        const orders: KillClass[] = []
        const tormented = await torment(
          child,
          folder,
          { turns, maxBudgetUsd: 5 },
          () => {
            const next = nextKill()
            if (next !== undefined) orders.push(next)
            return next
          },
          random,
        )
        // A process that ended before the moment was not killed.
        for (const each of tormented.kills) orders.splice(orders.indexOf(each), 1)
        for (const each of orders) owed.set(each, (owed.get(each) ?? 0) + 1)
        expect(tormented.left.reason).toBe('completed')
        expect(tormented.left.answer).toBe(`done after ${turns} turns`)
        await checkAll(tormented, 5)
      }
    }
    await (isDeep ? Promise.all([worker(), worker()]) : worker())
  },
  Math.max(300_000, wanted * 1_500),
)

test('enforces a budget that is too small across kills', async () => {
  const random = randomOf(77)
  let left = isDeep ? 12 : 4
  const maxBudgetUsd = 0.06
  const tormented = await torment(
    child,
    folder,
    { turns, maxBudgetUsd },
    () => (left-- > 0 ? killClasses[random(killClasses.length)] : undefined),
    random,
  )
  expect(tormented.left.reason).toBe('max_budget_usd')
  await checkAll(tormented, maxBudgetUsd)
}, 120_000)

test('lets one of two processes write a session, names it to the other, and frees the session when it is killed', async () => {
  const orders = { folder: mkdtempSync(join(folder, 'two-')), turns: 4, maxBudgetUsd: 5 }
  const start = (stopAt: Orders['stopAt']): ChildProcessWithoutNullStreams =>
    spawn(process.execPath, [child, JSON.stringify({ ...orders, stopAt })])
  const first = start({ moment: 'before_effect', time: 1 })
  await new Promise<void>((resolve) => {
    first.stdout.on('data', (data: Buffer) => data.toString().includes('at ') && resolve())
  })
  const second = start(null)
  let complaint = ''
  second.stderr.on('data', (data: Buffer) => (complaint += data.toString()))
  expect(await once(second, 'close')).toEqual([1, null])
  expect(complaint).toContain(`is in use by process ${first.pid} on ${hostname()}`)
  first.kill('SIGKILL')
  expect(await once(first, 'close')).toEqual([null, 'SIGKILL'])
  expect(await once(start(null), 'close')).toEqual([0, null])
})
