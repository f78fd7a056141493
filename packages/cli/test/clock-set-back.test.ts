// Holds rules of docs/spec: R-JOUR-4d, R-REP-6a and R-IF-8: what a clock that was set back left in a session, and what cannot be read at all.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal } from '@halting/journal'
import { streamRun, startRun, tool } from '@halting/core'
import { createMemorySteps, type StepRecord } from '@halting/core/steps'
import { scriptedModel } from '@halting/core/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { toolReply, storeSession, textReply, sessionPath } from './support/store-session.ts'
import { here, installProgram, run } from './support/program.ts'

installProgram()

const setBack = 'aaaaaaaa-1111-4333-8444-000000000001'
const whole = 'bbbbbbbb-1111-4333-8444-000000000002'
const damaged = Array.from({ length: 7 }, (_, index) => `cccccccc-1111-4333-8444-00000000000${index}`)

/** A session of a version that measured by the wall clock, which was set back by 700 ms during each request. */
async function keepSetBack(): Promise<void> {
  const steps = createMemorySteps()
  await streamRun(startRun({ prompt: 'go', sessionId: setBack }), {
    model: scriptedModel([toolReply(['Edit', {}]), textReply('done')], { maxOutputTokens: 1_000 }),
    tools: [tool({ name: 'Edit', description: '', execute: () => 'done' })],
    prices: { cost: () => 0.25, worstCase: () => 1 },
    maxTurns: 5,
    steps,
  }).result
  const journal = await openJournal({ path: sessionPath(setBack), sessionId: setBack, cwd: here(), version: '0.1.0' })
  const asWritten = (record: StepRecord): StepRecord =>
    record.type === 'result' && record.key.includes('model:') ? { ...record, durationMs: -698 } : record
  for (const record of steps.records) journal.log.append(asWritten(record))
  await journal.log.flush()
  await journal.close()
}

beforeAll(async () => {
  await keepSetBack()
  await storeSession(whole, [toolReply(['Edit', {}]), textReply('done')])
})

describe('a session during which the clock was set back', () => {
  test.each([
    ['why', setBack],
    ['replay', setBack],
    ['what-if', setBack, '--max-turns', '1'],
    ['sessions', 'export', setBack],
    ['report'],
    ['sessions'],
  ])('is read by %s', async (...args) => {
    const { status, stdout, stderr } = await run(args)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).not.toMatch(/-\d+ ?m?s\b|cannot be read|Not read/)
  })

  test('appears with its cost in the report and in what-if', async () => {
    const { stdout } = await run(['report', '--json'])
    const { totals, skipped, bySession } = JSON.parse(stdout)
    expect(skipped).toEqual([])
    expect(bySession.find(({ session }: { session: string }) => session === setBack)).toMatchObject({ costUsd: 0.5 })
    expect(totals.runs).toBe(2)
    const answer = JSON.parse((await run(['what-if', setBack, '--max-turns', '1', '--json'])).stdout)
    expect(answer.answers).toMatchObject([{ answer: { verdict: 'stops', saved: { costUsd: 0.25 } } }])
  })
})

/** Lets the wall clock jump back and forth by this much, at every third reading of the program. */
const jumping = (ms: number): Readonly<Record<string, string>> => {
  const code = `const now = Date.now; let asked = 0; Date.now = () => now() + (++asked % 3 === 0 ? ${ms} : 0)`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
}

test.each([3_600_000, -3_600_000, -700])(
  'changes no limit and no figure if the wall clock jumps by %i ms',
  async (ms) => {
    const bash = (command: string): object => ({ type: 'tool_use', name: 'Bash', input: { command } })
    const replies = [
      ...Array.from({ length: 4 }, (_, index) => ({ content: [bash(`echo ${index}`)] })),
      { content: 'Done.' },
    ]
    const script = join(here(), 'jumps.json')
    writeFileSync(script, JSON.stringify({ model: 'claude-haiku-4-5', replies }))
    const flags = ['--permission-mode', 'bypassPermissions', '--max-duration', '10m', '--output-format', 'json']
    const { status, stdout } = await run(['-p', 'go', '--script', script, ...flags], { env: jumping(ms) })
    const result = JSON.parse(stdout)
    expect([status, result.terminal_reason, result.num_turns]).toEqual([0, 'completed', 5])
    expect(result.duration_ms).toBeGreaterThanOrEqual(0)
    expect(result.duration_ms).toBeLessThan(600_000)
    expect((await run(['why', result.session_id])).status).toBe(0)
  },
)

describe('files that cannot be read', () => {
  beforeAll(() => {
    const lines = readFileSync(sessionPath(whole), 'utf8').split('\n')
    // One without a readable beginning, whose folder is unknown, and others with a damaged line.
    for (const [index, id] of damaged.entries())
      writeFileSync(sessionPath(id), index === 0 ? '{"type":\n{}\n' : lines.toSpliced(2, 1, '{"type":"x"}').join('\n'))
    mkdirSync(join(here(), 'below'))
  })

  test.each([
    ['report'],
    ['report', '.'],
    ['report', '--by', 'day'],
    ['report', '--format', 'html'],
    ['report', '--json'],
    ['what-if', '--max-turns', '1'],
    ['what-if', '--max-turns', '1', '--json'],
    ['what-if', '--suggest'],
    ['sessions'],
    ['sessions', 'search', 'go'],
  ])('are all named by %s %s %s, with the reason', async (...args) => {
    const { stdout, stderr } = await run(args)
    const text = (stdout + stderr).replaceAll(/\s+/g, ' ')
    for (const id of damaged) expect(text).toContain(`${id}.jsonl`)
    expect(text.match(/is damaged in line|is empty, or is no session/g)?.length).toBe(damaged.length)
  })

  test('are not named if their location shows that their session worked in another folder', async () => {
    const { stdout, stderr } = await run(['report', 'below'])
    expect(stdout + stderr).not.toContain('cccccccc')
  })
})
