// Holds rules of docs/spec: R-REP-3, R-REP-3a, R-REP-4 to R-REP-7. `HALTING_WRITE=1` writes the report in docs/guide/report.md anew.
// `halting report`: what sessions cost, how they ended, what limits saved and lost, which tools fail.
import { copyFileSync, mkdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { forkSession, openJournal } from '@halting/journal'
import { readForeignSession, takeOver } from '@halting/analysis/foreign'
import { streamRun, startRun } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Report } from '@halting/analysis/report'
import { sessionPath } from '../support/store-session.ts'
import { storeWeekSession, week } from '../support/store-week.ts'
import { here, installProgram, run as runProgram, type Ended } from '../support/program.ts'

installProgram()

const ofWeek = ['--since', '2026-11-16', '--until', '2026-11-22']
const guide = new URL('../../../../docs/guide/report.md', import.meta.url)
const isWritten = process.env['HALTING_WRITE'] === '1'

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  runProgram(args, { env: { TZ: 'UTC', ...env } })

/** The output of `--json`. */
async function reportJson(...args: readonly string[]): Promise<Report> {
  const { status, stdout, stderr } = await run(['report', ...args, '--json'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout) as Report
}

beforeAll(async () => {
  for (const session of week) await storeWeekSession(session, here())
})

test('has the report of this week in the guide', async () => {
  const { status, stdout, stderr } = await run(['report', ...ofWeek])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const page = readFileSync(guide, 'utf8')
  const block = /(?<=```text\n)10 sessions [^]*?(?=```)/
  if (isWritten)
    writeFileSync(
      guide,
      page.replace(block, () => stdout),
    )
  expect(block.exec(readFileSync(guide, 'utf8'))?.[0]).toBe(stdout)
})

test('fits the terminal, and keeps the figures', async () => {
  const { reportText } = await import('../../src/report/report-text.ts')
  const { columnsOf } = await import('../../src/io/columns.ts')
  const { styleFor } = await import('../../src/io/style.ts')
  const report = await reportJson(...ofWeek)
  for (const width of [40, 60, 80, 200]) {
    const text = reportText(report, { width, style: styleFor(false, {}) })
    // In an error message, a path or an ID is one word.
    expect(text.split('\n').filter((line) => columnsOf(line) > width)).toEqual([])
    expect(text).toContain('max_turns')
  }
})

describe('the selected sessions and times', () => {
  test('are days of the time zone, and a run counts on the day on which it started', async () => {
    const { byDay, timeZone } = await reportJson(...ofWeek)
    expect(timeZone).toBe('UTC')
    expect(byDay.map(({ name, runs }) => [name, runs])).toEqual([
      ['2026-11-16', 2],
      ['2026-11-17', 2],
      ['2026-11-18', 2],
      ['2026-11-19', 1],
      ['2026-11-20', 2],
      ['2026-11-21', 1],
    ])
    const { stdout } = await run(['report', ...ofWeek, '--by', 'day', '--json'], { TZ: 'Pacific/Auckland' })
    expect((JSON.parse(stdout) as Report).byDay[0]).toMatchObject({ name: '2026-11-16', runs: 1 })
  })

  test('are the same days on the page', async () => {
    const { stdout } = await run(['report', ...ofWeek, '--format', 'html'], { TZ: 'Pacific/Auckland' })
    // At 16:20 of the 17th in UTC.
    expect(/<tr><th[^>]*>00000004 .*/.exec(stdout)?.[0]).toContain('<td>2026-11-18</td>')
  })

  test('include the last day of --until', async () => {
    const { sessions, since, until } = await reportJson('--since', '2026-11-17', '--until', '2026-11-17')
    expect({ sessions, since, until }).toEqual({
      sessions: 2,
      since: '2026-11-17T00:00:00.000Z',
      until: '2026-11-18T00:00:00.000Z',
    })
  })

  test('skip files that were not modified since', async () => {
    const folder = join(here(), 'old')
    mkdirSync(folder)
    const file = join(folder, 'old.jsonl')
    writeFileSync(file, 'no session\n')
    utimesSync(file, new Date('2026-01-01'), new Date('2026-01-01'))
    expect((await reportJson(folder, '--since', '2026-11-01')).skipped).toEqual([])
    expect((await reportJson(folder)).skipped).toEqual([expect.stringContaining('old.jsonl')])
  })

  test('are the sessions of a folder and its subfolders; with --all, the sessions of every folder', async () => {
    const below = join(here(), 'packages', 'app')
    mkdirSync(below, { recursive: true })
    const [first] = week
    if (first === undefined) throw new Error('the week has a session')
    await storeWeekSession({ ...first, id: '99999999-5b7d-4e9a-8c61-0d2b4f6a7e93', cwd: below }, here())
    expect((await reportJson('packages')).sessions).toBe(1)
    expect((await reportJson('.')).sessions).toBe(11)
    expect((await reportJson(...ofWeek)).sessions).toBe(10)
    const { byFolder, of } = await reportJson('--all', ...ofWeek)
    expect(of).toBe('of all folders')
    expect(Object.fromEntries(byFolder.map(({ name, sessions }) => [name, sessions]))).toEqual({
      [here()]: 10,
      [below]: 1,
    })
  })

  test('print advice for a period without runs', async () => {
    const { status, stdout } = await run(['report', '--since', '2020-12-30', '--until', '2020-12-31'])
    expect(status).toBe(0)
    expect(stdout).toBe(
      '0 sessions of this folder, 2020-12-30 to 2020-12-31\nThere were no runs in that period. Use --since 30d to look further back, or --all for other folders.\n',
    )
  })

  test('print a message for a period in the future', async () => {
    const { status, stdout } = await run(['report', '--since', '2999-12-30'])
    expect(status).toBe(0)
    expect(stdout).toBe('0 sessions of this folder, from 2999-12-30 on\nThat period is in the future.\n')
  })
})

describe('the contents', () => {
  test('show how runs ended, and what limits lost', async () => {
    const { endings, limits } = await reportJson(...ofWeek)
    expect(endings.map(({ reason, exitCode, runs }) => [reason, exitCode, runs])).toEqual([
      ['completed', 0, 7],
      ['max_turns', 3, 1],
      ['no_progress', 3, 1],
      [null, null, 1],
    ])
    expect(limits).toMatchObject([
      { reason: 'max_turns', runs: 1, wentOn: 0, answered: 0, lost: [{ session: week[3]?.id, run: 'run1' }] },
      { reason: 'no_progress', runs: 1, lost: [] },
    ])
    expect(limits[0]?.leftUsd).toBeCloseTo(5 - (limits[0]?.costUsd ?? 0), 9)
  })

  test('show which tools fail, are denied, or are invalid', async () => {
    const { tools } = await reportJson(...ofWeek)
    const bash = tools.find(({ tool }) => tool === 'Bash')
    expect(bash).toMatchObject({ denied: 1, invalid: 0 })
    expect(bash?.failed).toBeGreaterThan(5)
    expect(tools.find(({ tool }) => tool === 'Delete')).toMatchObject({ calls: 1, invalid: 1 })
    expect(tools.find(({ tool }) => tool === 'Read')).toMatchObject({ failed: 0 })
  })

  test('show refused and repeated requests, outliers and unfinished runs', async () => {
    const { service, outliers, open, cache } = await reportJson(...ofWeek)
    expect(service).toMatchObject({ retried: 1, failures: [{ kind: 'overloaded', attempts: 2 }] })
    expect(outliers.map(({ session }) => session)).toEqual([week[6]?.id, week[3]?.id])
    expect(open).toMatchObject([{ session: week[9]?.id, heldBy: null }])
    expect(cache.share).toBeGreaterThan(0.5)
  })

  test('show the same effect of tighter limits as `halting what-if`', async () => {
    const { tried } = await reportJson(...ofWeek)
    const at = tried.find(({ limits }) => limits.maxTurns === 30)
    const { stdout } = await run(['what-if', '--max-turns', '30', '--json'])
    const { answers } = JSON.parse(stdout) as {
      readonly answers: readonly {
        readonly answer: { readonly verdict: string; readonly saved: { readonly costUsd: number } }
      }[]
    }
    const stopped = answers.filter(({ answer }) => answer.verdict === 'stops')
    expect(at?.stops).toBe(stopped.length)
    expect(at?.savedUsd).toBeCloseTo(
      stopped.reduce((sum, { answer }) => sum + answer.saved.costUsd, 0),
      9,
    )
    expect(at?.lostAnswers).toBe(1)
  })
})

describe('as a page', () => {
  test('writes a private file, and never over another one without --force', async () => {
    const command = ['report', ...ofWeek, '--format', 'html', '--output', 'week.html']
    expect(await run(command)).toEqual({ status: 0, stdout: '', stderr: 'halting: wrote week.html\n' })
    const page = readFileSync(join(here(), 'week.html'), 'utf8')
    expect(statSync(join(here(), 'week.html')).mode & 0o777).toBe(0o600)
    expect(page).toMatch(
      /content="default-src 'none'; style-src 'sha256-[\w+/=]+'; img-src data:; base-uri 'none'; form-action 'none'"/,
    )
    expect(page).toContain('Port the parser to the new grammar')
    expect(page).not.toMatch(/<script|\sstyle=|\son\w+=/i)
    expect((await run(command)).stderr).toBe(
      'halting: week.html already exists. Name another file, or add --force to replace it.\n',
    )
    expect((await run([...command, '--force'])).status).toBe(0)
    const over = ['report', ...ofWeek, '--output', sessionPath(week[0]?.id ?? ''), '--force']
    expect((await run(over)).stderr).toContain('is the session itself')
  })
})

describe('each run, file and request counts once', () => {
  const [one] = week
  const fork = '8f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'

  test('counts a fork with its own runs, and the original with the rest', async () => {
    const folder = join(here(), 'forked')
    mkdirSync(folder)
    const source = join(folder, 'source.jsonl')
    copyFileSync(sessionPath(one?.id ?? ''), source)
    const alone = await reportJson(folder)
    expect(alone.totals.runs).toBe(1)
    await forkSession(source, { path: join(folder, 'fork.jsonl'), sessionId: fork, cwd: here(), version: '0' })
    const { totals, sessions, byDay } = await reportJson(folder)
    expect({ totals, sessions, byDay }).toEqual({ totals: alone.totals, sessions: 1, byDay: alone.byDay })
    // A second copy counts the same.
    const again = { path: join(folder, 'again.jsonl'), sessionId: fork.replace('8f', '9f'), cwd: here(), version: '0' }
    await forkSession(join(folder, 'fork.jsonl'), again)
    expect((await reportJson(folder)).totals).toEqual(alone.totals)
    const journal = await openJournal(again)
    const start = startRun({ prompt: 'more', sessionId: again.sessionId, transcript: journal.transcript })
    const model = scriptedModel([{ text: 'done', usage: { input_tokens: 5, output_tokens: 1 } }], {
      maxOutputTokens: 100,
    })
    await streamRun(start, { model, steps: journal.steps() }).result
    await journal.close()
    const more = await reportJson(folder)
    expect([more.totals.runs, more.totals.tokens]).toEqual([2, alone.totals.tokens + 6])
    expect(more.bySession.find(({ session }) => session === again.sessionId)?.title).toBe(one?.prompt)
  })

  test('counts a file once, however many links lead to it', async () => {
    const folder = join(here(), 'linked')
    mkdirSync(folder)
    copyFileSync(sessionPath(one?.id ?? ''), join(folder, 'one.jsonl'))
    symlinkSync('.', join(folder, 'here'))
    symlinkSync('one.jsonl', join(folder, 'two.jsonl'))
    const { totals, skipped } = await reportJson(folder)
    expect([totals.runs, skipped]).toEqual([1, []])
  })

  test('counts imported runs of another program there', async () => {
    const folder = join(here(), 'taken-over')
    mkdirSync(folder)
    const other = join(folder, 'other.jsonl')
    copyFileSync(join(import.meta.dirname, '../../../analysis/test/foreign/samples/claude-code-polling.jsonl'), other)
    const alone = await reportJson(folder)
    const path = join(folder, 'ours.jsonl')
    await takeOver(await readForeignSession(other), { path, sessionId: fork, cwd: here(), version: '0' })
    expect((await reportJson(folder)).totals).toEqual(alone.totals)
  })
})

describe('sessions of other programs, and problems', () => {
  const sample = (name: string): string =>
    join(import.meta.dirname, '../../../analysis/test/foreign/samples', `${name}.jsonl`)

  beforeAll(() => {
    const folder = join(here(), 'mixed')
    mkdirSync(folder)
    for (const name of ['claude-code-polling', 'claude-code-short', 'codex-rollout-0'])
      copyFileSync(sample(name), join(folder, `${name}.jsonl`))
    copyFileSync(sessionPath(week[0]?.id ?? ''), join(folder, 'ours.jsonl'))
    writeFileSync(join(folder, 'other.jsonl'), '{"no":"session"}\n')
  })

  test('count like our own; missing prices and unreadable files are named', async () => {
    const report = await reportJson('mixed')
    expect(report).toMatchObject({
      sessions: 4,
      programs: { halting: 1, 'claude-code': 2, codex: 1 },
      unpriced: ['gpt-fake'],
      skipped: [expect.stringContaining('other.jsonl')],
    })
    const polling = report.bySession.find(({ session }) => session.startsWith('155c6d30'))
    expect(polling).toMatchObject({
      program: 'claude-code',
      turns: 16,
      costUsd: 0.0096,
      beganAt: expect.stringContaining('2026-11-21'),
    })
    const { stdout } = await run(['report', 'mixed'])
    expect(stdout).toContain('1 of this program, 2 of Claude Code, 1 of Codex.')
    expect(stdout).toContain('No price is known for gpt-fake')
    expect(stdout).toMatch(/^ {2}gpt-fake +\? /m)
    expect(stdout).toContain('Not read: 1 file')
    const { stdout: page } = await run(['report', 'mixed', '--format', 'html'])
    expect(page).toContain('<th scope="row" dir="auto">gpt-fake</th><td>?</td>')
  })

  test('contain no markup and no terminal controls from a session', async () => {
    const folder = join(here(), 'hostile')
    mkdirSync(folder)
    const evil = '<script>alert(1)</script><img src=x onerror=alert(1)>\\u001b[2J\\u202e"\'&'
    const text = readFileSync(sample('claude-code-short'), 'utf8')
      .replaceAll('"content":"hi"', `"content":"${evil.replaceAll('"', '\\"')}"`)
      .replaceAll('/home/user/project', `/home/${evil.replaceAll('"', '\\"')}`)
      .replaceAll('"test-tool"', `"${evil.replaceAll('"', '\\"')}"`)
      .replaceAll('claude-3-haiku-20240307', evil.replaceAll('"', '\\"'))
    writeFileSync(join(folder, 'evil.jsonl'), text)
    const { stdout: page } = await run(['report', 'hostile', '--format', 'html'])
    expect(page).toContain('&lt;script&gt;alert(1)')
    expect(page).not.toMatch(/<script|<img/)
    expect(page).not.toContain('\u202e')
    const { stdout } = await run(['report', 'hostile'])
    // oxlint-disable-next-line no-control-regex -- control characters are what must not be there
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/)
  })

  test.each([
    [['report', 'zzzz'], 'No conversation found with session ID: zzzz.'],
    [['report', '--format', 'jsonl'], 'halting report writes text or html, not jsonl. --json gives all figures.'],
    [['report', '--format', 'html', '--json'], '--json and --format cannot be combined.'],
    [['report', '--since', '31.12.'], '--since takes an age (12h, 7d, 2w), a day (2026-11-01) or a time'],
    [['report', '--since', '2026-02-30'], '--since takes an age'],
    [['report', '--since', '1d', '--until', '3d'], '--until is not after --since.'],
    [['report', './pakages/app'], 'File or folder not found: ./pakages/app.'],
    [
      ['report', '--max-turns', '3'],
      '--max-turns has no effect with halting report. To see where other limits would have stopped a session, use halting what-if.',
    ],
    [['report', '--output', '.'], '. is a folder. Name a file.'],
    [['report', '--all', '.'], '--all means the sessions of all folders. Remove it, or the folder.'],
    [['report', '--by', 'weather'], '--by takes one of day, model, folder'],
    [['report', '--cluster', 'http://127.0.0.1:1', '--since', '1d'], 'A cluster does not store when runs started'],
    [['why', '--since', '1d'], '--since belongs to halting report.'],
    [['check', '--all'], '--all belongs to halting sessions, report, inspect and what-if.'],
    [['report', '--codex'], 'No sessions of Codex found in'],
  ])('refuses %j', async (args, message) => {
    const { status, stderr } = await run(args)
    expect(stderr).toContain(message)
    expect(status).toBe(2)
  })

  test('gives advice for a folder without sessions', async () => {
    const { status, stderr } = await runProgram(['report'], { cwd: dirname(sessionPath(week[0]?.id ?? '')) })
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: 'halting: This folder has no sessions. Name sessions, files, or a folder with session files.\n',
    })
  })
})
