// Holds R-WHYW-3, R-WHYW-4, R-WHYW-7 and R-WHYW-8 of docs/spec: what `halting why`, `report` and `replay` say of runs that waited for a service, ended at one, or were killed in a wait.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { tool } from '@halting/core'
import { createFakeClock } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { sources } from '../../../vitest.build.ts'
import { toolReply, storeSession, textReply, sessionPath } from './support/store-session.ts'
import { here, installProgram, run, runHere } from './support/program.ts'

installProgram()

const hour = 3_600_000
const limited = (retryAfterMs: number) =>
  ({ error: { kind: 'rate_limit', message: 'too many requests', status: 429, retryAfterMs } }) as const

const plain = (text: string): string => text.replaceAll(/\n(?=\S)/g, ' ')

test('says of a run that waited how long, for which model and why, and that it is not active time', async () => {
  const session = 'aaaaaaaa-1111-4000-8000-000000000001'
  const clock = createFakeClock({ start: Date.UTC(2026, 10, 28), autoAdvance: true })
  await storeSession(session, [limited(hour), toolReply(['Read', {}]), limited(hour), textReply('done')], {
    waitForLimitsMs: 8 * hour,
    clock,
  })
  const { status, stdout } = await run(['why', session])
  expect(status).toBe(0)
  expect(plain(stdout)).toMatch(
    /Waited 2 h of at most 8 h for scripted \(429 rate_limit\), twice\. This does not count as active time\./,
  )
  const { stdout: json } = await runHere(['why', session, '--json'])
  const explained = JSON.parse(json) as {
    readonly runs: readonly { readonly serviceWaits: { readonly waits: number; readonly ms: number } }[]
  }
  expect(explained.runs[0]?.serviceWaits).toMatchObject({ waits: 2, causes: [{ kind: 'rate_limit', status: 429 }] })
  const replayed = await runHere(['replay', session])
  expect(replayed.stdout.match(/wait: Waited 1 h.* for the service/g)).toHaveLength(2)
  const exported = await runHere(['sessions', 'export', session])
  expect(exported.stdout.match(/Waited 1 h.* for scripted \(429 rate_limit\)\./g)).toHaveLength(2)
  const report = await runHere(['report', session, '--json'])
  expect(JSON.parse(report.stdout)).toMatchObject({ serviceWaits: { runs: 1, waits: 2, waiting: [] } })
  const text = (await runHere(['report', session])).stdout
  expect(plain(text)).toMatch(/services +2 h.*, not active/)
  expect(plain(text)).toContain('1 run waited 2 h')
})

test('separates the time of Wait calls from that of other tools', async () => {
  const session = 'aaaaaaaa-1111-4000-8000-000000000006'
  const tools = [tool({ name: 'Wait', description: '', readOnly: true, execute: () => 'over' })]
  await storeSession(session, [toolReply(['Wait', {}], ['Wait', {}]), textReply('done')], { tools })
  const { stdout } = await runHere(['why', session])
  expect(plain(stdout)).toMatch(/2 calls of Wait took \d+ ms of the tool time\./)
})

test('says of a run that a service ended when to come back, and how the run would have waited', async () => {
  const session = 'aaaaaaaa-1111-4000-8000-000000000002'
  await storeSession(session, [limited(10 * hour)], { maxRetries: 0 })
  const { stdout } = await runHere(['why', session])
  expect(plain(stdout)).toMatch(
    /The service accepts requests again at \d{4}-\d\d-\d\d \d\d:\d\d, in (10 h|9 h 59 min)\./,
  )
  expect(stdout).toContain(
    `Wait until then and continue with:\n  halting -p --resume ${session} --wait-for-limits 24h\n`,
  )
})

test('says that this time has passed, and resumes without a wait', async () => {
  const session = 'aaaaaaaa-1111-4000-8000-000000000003'
  await storeSession(session, [limited(1)], { maxRetries: 0 })
  const { stdout } = await runHere(['why', session])
  expect(plain(stdout)).toMatch(/The service accepts requests again since \d{4}-\d\d-\d\d \d\d:\d\d\./)
  expect(stdout).toContain(`That time has passed. Continue with:\n  halting -p --resume ${session}\n`)
})

test('says in what-if that a run would have waited, or would have ended at a recorded wait', async () => {
  const [waited, ended] = ['aaaaaaaa-1111-4000-8000-000000000001', 'aaaaaaaa-1111-4000-8000-000000000002']
  const longer = await runHere(['what-if', ended, '--wait-for-limits', '12h'])
  expect(plain(longer.stdout)).toContain('Unknown: the record ends after 1 turn; the run might have continued.')
  const shorter = await runHere(['what-if', ended, '--wait-for-limits', '8h'])
  expect(plain(shorter.stdout)).toContain('No change: model_error after 1 turn.')
  const earlier = await runHere(['what-if', waited, '--wait-for-limits', '90m'])
  expect(plain(earlier.stdout)).toContain('Would have stopped in turn 2: model_error (1 h of 1 h 30 min).')
  const none = await runHere(['what-if', waited, '--wait-for-limits', 'none'])
  expect(plain(none.stdout)).toContain('Would have stopped in turn 1: model_error (0 ms of 0 ms).')
})

/** A process that waits in a session, and is killed once it emits this event. `run`: the replies and options of its run, as code. */
async function killedAt(event: string, sessionId: string, run: string): Promise<void> {
  const outfile = join(here(), 'waiting.mjs')
  const place = { path: sessionPath(sessionId), sessionId, cwd: here(), version: '0.1.0' }
  const child = `
    import { openJournal } from '@halting/journal'
    import { startRun, streamRun, tool } from '@halting/core'
    import { scriptedModel } from '@halting/core/testing'
    const journal = await openJournal(${JSON.stringify(place)})
    const start = startRun({ prompt: 'go', sessionId: ${JSON.stringify(sessionId)}, transcript: journal.transcript })
    for await (const event of streamRun(start, { ${run}, steps: journal.steps() }))
      if (event.type === '${event}') setTimeout(() => console.log('waits'), 10)
  `
  mkdirSync(dirname(place.path), { recursive: true })
  await build({
    stdin: { contents: child, resolveDir: import.meta.dirname },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    alias: sources,
    logLevel: 'warning',
  })
  const waiting = spawn(process.execPath, [outfile], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(waiting, 'exit')
  await once(waiting.stdout, 'data')
  waiting.kill('SIGKILL')
  await ended
}

test('says of a run that was killed during a wait until when it waits, and resumes the wait', async () => {
  const session = 'aaaaaaaa-1111-4000-8000-000000000004'
  const waiting = `model: scriptedModel([${JSON.stringify(limited(3 * hour))}]), waitForLimitsMs: ${8 * hour}`
  await killedAt('service_wait', session, waiting)
  const { status, stdout } = await runHere(['why', session])
  expect(status).toBe(0)
  const text = plain(stdout)
  expect(text).toContain('No ending is recorded and no process is writing the session: its process was')
  expect(text).toMatch(
    /Waiting for scripted \(429 rate_limit\) until \d{4}-\d\d-\d\d \d\d:\d\d, for (2 h 59 min|3 h) more: too many requests\./,
  )
  expect(stdout).toMatch(/Running\n +wait for the service, request 1\n/)
  expect(stdout).toContain(`Continue the wait with:\n  halting -p --resume ${session} --wait-for-limits 8h\n`)
  const report = await runHere(['report', session])
  expect(plain(report.stdout)).toMatch(/aaaaaaaa run1 waits until \d{4}-\d\d-\d\d \d\d:\d\d\./)
})

test('says of a run that was killed while paused at a limit that it is paused, and raises the limit', async () => {
  const session = 'aaaaaaaa-1111-4000-8000-000000000005'
  const pausing = `
    model: scriptedModel([{ toolCalls: [{ name: 'Read', input: {} }] }]),
    tools: [tool({ name: 'Read', description: '', execute: () => 'seen' })],
    maxTurns: 1, onLimit: 'pause', askLimit: () => new Promise(() => setTimeout(() => {}, ${hour}))
  `
  await killedAt('limit_question', session, pausing)
  const { stdout } = await runHere(['why', session])
  expect(plain(stdout)).toContain('Paused at the limit of turns (1 of 1) until someone answers.')
  expect(stdout).toContain(`Continue with a higher limit:\n  halting -p --resume ${session} --max-turns 2\n`)
})
