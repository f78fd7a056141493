// Holds rules of docs/spec: R-WHY-8 to R-WHY-10.
import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Model, RunOptions } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { columnsOf } from '../src/io/columns.ts'
import { barLines } from '../src/why/bars.ts'
import { unreportedUsageIn } from '@halting/analysis/why'
import { whyText } from '../src/why/why-text.ts'
import { styleFor } from '../src/io/style.ts'
import { accountOf } from '@halting/analysis'
import { openJournal, readJournal } from '@halting/journal'
import { here, installProgram, run, runHere } from './support/program.ts'
import { toolReply, storeSession, textReply, sessionPath } from './support/store-session.ts'

installProgram()

const [first, second] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002']

test('says that there are no sessions, with exit code 2', async () => {
  const { status, stderr } = await run(['why'])
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'halting: This folder has no sessions. Name one by its id or file: halting why FILE.\n',
  })
})

test("treats nothing of a project as the user's if HOME is empty: its sessions are not the stored ones", async () => {
  await storeSession(first, [textReply('hello')])
  const { status, stdout, stderr } = await runHere(['why'], { env: { HOME: '' } })
  expect({ status, stdout, stderr: stderr.includes('This folder has no sessions.') }).toEqual({
    status: 2,
    stdout: '',
    stderr: true,
  })
})

test('explains the newest session: the ending, the limits, the usage, and the resume command', async () => {
  await storeSession(first, [textReply('hello')])
  await storeSession(
    second,
    [
      toolReply(['Read', { file_path: 'a.ts' }], ['Edit', { file_path: 'a.ts' }]),
      toolReply(['Read', { file_path: 'b.ts' }]),
    ],
    {
      maxTurns: 2,
      maxBudgetUsd: 50,
    },
  )
  const old = new Date(1_000)
  utimesSync(sessionPath(first), old, old)
  const { status, stdout, stderr } = await runHere(['why'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const timeless = stdout.replaceAll(/\d+ ms/g, 'N ms').replaceAll(/[█░]+/g, '#')
  expect(timeless).toContain(`Session ${second}, run1`)
  expect(timeless).toContain('max_turns: Reached maximum number of turns (2)\n')
  expect(timeless).toContain('2 turns, 2 requests, 2,200 tokens, $2.20, N ms.')
  expect(timeless).toMatch(
    /Limits\n {2}turns {4}#  2 of 2\n {2}dollars {2}#  \$2\.20 of \$50\.00\n {2}tokens {3} +2,200, no limit\n/,
  )
  expect(timeless).toMatch(
    /Tools\n {2}Read {2}#  \$1\.65\n {4}2 calls, N ms, 1,000 characters of results\n {2}Edit {2}#  \$0\.5500\n/,
  )
  expect(timeless).toContain(
    `Raise --max-turns, or add --wrap-up for a final answer.\n  halting -p --resume ${second} --max-turns 4\n`,
  )
  const turns = /turns +(█+)(░*) {2}2 of 2/.exec(stdout)
  const dollars = /dollars +(█+)(░*) {2}\$2/.exec(stdout)
  expect([turns?.[2], dollars?.[1]?.length]).toEqual(['', 1])
})

test('accepts an ID, the beginning of one, or a file', async () => {
  const copy = join(here(), 'copy.jsonl')
  writeFileSync(copy, readFileSync(sessionPath(first)))
  for (const name of [first, 'aaaa', copy, 'copy.jsonl']) {
    const { status, stdout } = await runHere(['why', name])
    expect([name, status, stdout.includes('completed')]).toEqual([name, 0, true])
  }
  expect(await runHere(['why', 'cccc'])).toMatchObject({
    status: 2,
    stderr:
      'halting: No conversation found with session ID: cccc. List the sessions of this folder with halting sessions.\n',
  })
  expect(await runHere(['why', 'gone.jsonl'])).toMatchObject({
    status: 2,
    stderr: 'halting: File not found: gone.jsonl.\n',
  })
})

test('does not guess between two sessions with the same beginning', async () => {
  await storeSession('aaaaaaaa-0000-4000-8000-000000000009', [textReply('hello')])
  const { status, stderr } = await runHere(['why', 'aaaa'])
  expect(status).toBe(2)
  expect(stderr).toContain('2 sessions start with aaaa')
})

test('prints one object with every run and how to resume with --json', async () => {
  await storeSession(second, [textReply('again')])
  const { status, stdout } = await runHere(['why', second, '--json'])
  expect(status).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    sessionId: second,
    runs: [{ ending: { reason: 'max_turns' }, totals: { turns: 2 } }, { ending: { reason: 'completed' } }],
    goOn: { says: '' },
  })
  expect((await runHere(['why', second])).stdout).toContain('Earlier runs: run 1 max_turns.\n')
})

test('explains an unfinished run up to its last record', async () => {
  const whole = readFileSync(sessionPath(first), 'utf8').split('\n')
  const cut = join(here(), 'cut.jsonl')
  const end = whole.findIndex((line) => line.includes('"type":"end"'))
  expect(end).toBeGreaterThan(3)
  // A line that was being written when the process was killed.
  writeFileSync(cut, `${whole.slice(0, end - 1).join('\n')}\n${whole[end - 1]?.slice(0, 40)}`)
  const { status, stdout } = await runHere(['why', cut])
  expect(status).toBe(0)
  expect(stdout).toContain('No ending is recorded and no process is writing the session: its process was')
  // It is a copy, which --resume would not find.
  expect(stdout).not.toContain('halting -p')
})

test('names the process that writes an active run, and gives no command', async () => {
  const id = 'eeeeeeee-0000-4000-8000-000000000001'
  await storeSession(id, [textReply('hello')])
  const lines = readFileSync(sessionPath(id), 'utf8').split('\n')
  const end = lines.findIndex((line) => line.includes('"type":"end"'))
  writeFileSync(sessionPath(id), `${lines.slice(0, end).join('\n')}\n`)
  const journal = await openJournal({ path: sessionPath(id), sessionId: id, cwd: here(), version: '0.1.0' })
  const { stdout } = await runHere(['why', id])
  expect(stdout).toContain(`The run is still running in process ${process.pid}.`)
  expect(stdout).not.toContain('--resume')
  await journal.close()
  expect((await runHere(['why', id])).stdout).toContain(`Continue with:\n  halting -p --resume ${id}\n`)
})

test('names the limit that would have been enough for a budget that was too low', async () => {
  const id = 'dddddddd-0000-4000-8000-000000000001'
  const terminal = await storeSession(id, [toolReply(['Read', {}]), textReply('done')], { maxBudgetUsd: 2 })
  expect(terminal.reason).toBe('max_budget_usd')
  const { stdout } = await runHere(['why', id])
  expect(stdout).toMatch(/halting -p --resume dddddddd\S+ --max-budget-usd 4\n/)
})

test('reports a damaged file by its line', async () => {
  const broken = join(here(), 'broken.jsonl')
  const lines = readFileSync(sessionPath(first), 'utf8').split('\n')
  writeFileSync(broken, [lines[0], 'x', ...lines.slice(2)].join('\n'))
  const { status, stderr } = await runHere(['why', broken])
  expect(status).toBe(2)
  expect(stderr).toContain('is damaged in line 2')
  expect(stderr).not.toContain('should not')
})

test.each([40, 60, 80])('keeps every line but the command within %d columns', async (width) => {
  const { runs } = await readJournal(sessionPath(second))
  for (const records of runs) {
    const resumeHint = { says: 'Raise --max-turns, or add --wrap-up for a final answer.' }
    const account = accountOf(records)
    const text = whyText(
      {
        sessionId: second,
        cwd: here(),
        account,
        unreportedUsage: unreportedUsageIn(records),
        notices: [],
        stages: [],
        nextStep: resumeHint,
        before: [],
        about: [],
      },
      width,
      styleFor(false, {}),
    )
    expect(text.split('\n').filter((line) => columnsOf(line) > width)).toEqual([])
    expect(text).toContain('█')
    const { slowest } = account
    const long = slowest.map((step) => ({ ...step, what: `Bash: ${'long '.repeat(40)}`, scope: 'agent:1:0:x/' }))
    const narrow = whyText(
      {
        sessionId: second,
        cwd: here(),
        account: { ...account, slowest: [...long, ...slowest] },
        unreportedUsage: { attempts: 2, unreported: 1, tokens: 123_456_789, usd: 12.5, chargedTokens: 0 },
        notices: ['W '.repeat(150)],
        stages: [],
        nextStep: resumeHint,
        before: [],
        about: [],
      },
      width,
      styleFor(false, {}),
    )
    expect(narrow.split('\n').filter((line) => columnsOf(line) > width)).toEqual([])
    for (const { request } of long.slice(0, 3)) expect(narrow).toContain(`request ${request} of a subagent`)
  }
})

test('draws no empty bar above zero, and no full bar below one', () => {
  const style = styleFor(false, {})
  const rows = [0, 0.001, 0.5, 0.999, 1, 7].map((share) => ({ label: 'x', share, value: '1' }))
  expect(barLines(rows, 18, style)).toEqual([
    '  x  ░░░░░░░░░░  1',
    '  x  █░░░░░░░░░  1',
    '  x  █████░░░░░  1',
    '  x  █████████░  1',
    '  x  ██████████  1',
    '  x  ██████████  1',
  ])
  expect(barLines([{ label: 'time', share: 1, value: '12 min 30 s' }], 20, style)).toEqual(['  time  12 min 30 s'])
})

test('names the standing budget that ended a run, its usage, its reset and how to resume', async () => {
  const budget = { name: '$20 a day', limitUsd: 20, settledUsd: 19.8, unknownUsd: 0, reservedUsd: 0 }
  let asked = 0
  const standing: NonNullable<RunOptions['standing']> = {
    names: [budget.name],
    countsFor: () => true,
    async take({ usd }, { onWait }) {
      onWait({ budget: budget.name, reservedUsd: 7, holders: 2 })
      await Promise.resolve()
      if (++asked < 3) return { kind: 'taken', usd, settle: () => {} }
      return { kind: 'refused', budget: { ...budget, resetsAt: '2026-11-30T00:00:00+01:00' } }
    },
  }
  const session = 'dddddddd-0000-4000-8000-000000000001'
  await storeSession(session, [toolReply(['Read', {}]), toolReply(['Read', {}])], { standing })
  const { stdout } = await runHere(['why', session])
  const plain = stdout
    .replaceAll(/\d+ ms/g, 'N ms')
    .replaceAll(/[█░]+/g, '#')
    .replaceAll(/\n(?=\S)/g, ' ')
  expect(plain).toContain('max_budget_usd: Too little is left of $20 a day: $19.8 is used')
  expect(plain).toMatch(/\$20 a day +#  \$19\.80 of \$20\.00, resets at 2026-11-30 00:00/)
  expect(plain).toContain(
    '3 requests waited N ms for at most $7.00 that others had reserved of $20 a day; 1 request still did not fit.',
  )
  expect(plain).toContain('2026-11-30 00:00')
  expect(stdout).toContain(`  halting -p --resume ${session}\n`)
  expect(stdout).not.toContain('--max-budget-usd')
})

test.each([
  [{ maxToolCalls: 1 }, /tool calls +#  1 of 1/, '--max-tool-calls 2'],
  [{ maxRunUsd: 3 }, /dollars, run +#  \$1\.10 of \$3\.00/, '--max-run-usd'],
])('names the limit of a run that ended by %j, and raises it in the command', async (options, bar, flag) => {
  const session = 'eeeeeeee-0000-4000-8000-000000000001'
  rmSync(sessionPath(session), { force: true })
  await storeSession(session, [toolReply(['Read', {}]), toolReply(['Read', {}]), textReply('done')], options)
  const { stdout } = await runHere(['why', session])
  expect(stdout.replaceAll(/[█░]+/g, '#')).toMatch(bar)
  expect(stdout).toMatch(new RegExp(`halting -p --resume ${session} ${flag}`))
})

test("prints a model's announcement once in why, and at its position in replay", async () => {
  const own = 'cccccccc-0000-4000-8000-000000000003'
  const scripted = scriptedModel([toolReply(['Read', { file_path: 'a.ts' }]), textReply('Done.')])
  const text = 'gpt-5 is not available through the Responses API.'
  const model: Model = {
    ...scripted,
    call: async (...asked) => ({ ...(await scripted.call(...asked)), warnings: [text] }),
  }
  await storeSession(own, [], { model })
  // A later run of the same process does not repeat it, although it still applies.
  await storeSession(own, [textReply('Again.')])
  const { stdout } = await runHere(['why', own])
  expect(stdout).toContain(', run2')
  expect(stdout).toContain(`\n\nNotices\n! ${text}\n\nLimits\n`)
  const json = JSON.parse((await runHere(['why', own, '--json'])).stdout) as { readonly notices: unknown }
  expect(json.notices).toEqual([text])
  const replayed = (await runHere(['replay', own])).stdout
  expect(replayed.match(/notice: gpt-5 is not available/g)).toHaveLength(2)
})
