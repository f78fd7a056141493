// Holds R-SERV-14 and R-SERV-15 of docs/spec: waits for services with `halting -p`, in real processes against a service on this machine.
import { startScriptedServer, type ScriptedServer } from '@halting/models/scripted'
import { describe, expect, onTestFinished, test } from 'vitest'
import { here, installProgram, linesOf, start, type Running } from '../support/program.ts'

installProgram()

const limited = (seconds: number): object => ({
  error: { status: 429, message: 'Too many requests', headers: { 'retry-after': String(seconds) } },
})
const done = { content: 'Done.' }

interface World {
  readonly server: ScriptedServer
  readonly halting: (...args: readonly string[]) => Running
}

async function world(...replies: readonly object[]): Promise<World> {
  const server = await startScriptedServer({ replies })
  onTestFinished(() => server.close())
  const env = { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: server.url, TZ: 'UTC' }
  return {
    server,
    halting(...args) {
      const running = start(['-p', ...args, '--model', 'claude-sonnet-4-5'], { env, cwd: here() })
      onTestFinished(() => void running.child.kill('SIGKILL'))
      return running
    },
  }
}

const streamed = ['--output-format', 'stream-json', '--verbose'] as const

interface WaitLine {
  readonly state: string
  readonly since: string
  readonly until: string
  readonly outcome: string
  readonly waited_ms: number
}

const waitsIn = (stdout: string): readonly WaitLine[] =>
  linesOf(stdout)
    .filter(({ subtype }) => subtype === 'service_wait')
    // True: messages of this subtype have these fields.
    .map((line) => line as unknown as WaitLine)

describe('a run that may wait', () => {
  test('waits in another process after kill -9 until the same time, even beyond its time limit, and asks no earlier', async () => {
    const { server, halting } = await world(limited(6), done)
    const killed = halting('hi', ...streamed, '--wait-for-limits', '8h', '--max-duration', '2s')
    await killed.waitForOutput('"service_wait"')
    killed.child.kill('SIGKILL')
    const before = await killed.ended
    const [first] = waitsIn(before.stdout)
    expect(before.stderr).toMatch(
      /^halting: waiting for the service until .*\(429.*Too many requests\); continues automatically$/m,
    )
    const id = String(linesOf(before.stdout)[0]?.['session_id'])
    const resumed = await halting('--resume', id, ...streamed, '--max-duration', '2s').ended
    expect([resumed.status, server.requests.length]).toEqual([0, 2])
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(first?.until ?? ''))
    const [waiting, ended, ...others] = waitsIn(resumed.stdout)
    expect(others).toEqual([])
    expect(waiting).toMatchObject({ state: 'waiting', since: first?.since, until: first?.until })
    expect(ended).toMatchObject({ state: 'ended', outcome: 'over' })
    expect(ended?.waited_ms).toBeGreaterThanOrEqual(6_000)
    expect(linesOf(resumed.stdout).at(-1)).toMatchObject({ type: 'result', subtype: 'success', result: 'Done.' })
  })

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends at once with %s: %d', async (signal, status) => {
    const { server, halting } = await world(limited(3_600), done)
    const running = halting('hi', '--output-format', 'json', '--wait-for-limits', '8h')
    await running.waitForOutput('waiting for the service until')
    expect(running.stdout()).toBe('')
    running.child.kill(signal)
    const { status: code, stdout } = await running.ended
    const [result] = linesOf(stdout)
    expect([code, result?.['terminal_reason'], server.requests.length]).toEqual([status, 'aborted_streaming', 1])
  })

  test('ends at once if the service asks for a longer wait than allowed, and says so', async () => {
    const { halting } = await world(limited(2 * 3_600))
    const { status, stderr } = await halting('hi', '--wait-for-limits', '1h').ended
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/requests again at .*; --wait-for-limits 8h waits longer\.\n/),
    ])
  })
})

describe('a run that does not wait', () => {
  test('says when the service accepts requests again, in local time, and which flag waits for it', async () => {
    const { halting } = await world(limited(7_200), limited(7_200))
    const { status, stderr } = await halting('hi').ended
    expect(status).toBe(1)
    expect(stderr).toMatch(
      /model_error: .*Too many requests\. It takes requests again at (?:\d{4}-\d\d-\d\d )?\d\d:\d\d \(.*; --wait-for-limits 8h waits for it\.\n/,
    )
    const json = await halting('hi', '--output-format', 'json').ended
    const [result] = linesOf(json.stdout)
    const at = Date.parse(String(result?.['retryAt']))
    expect([json.status, at > Date.now(), result?.['stop']]).toMatchObject([
      1,
      true,
      { context: { retryAt: result?.['retryAt'] } },
    ])
  })

  test('names the flag for a service that is down, and not for a wrong key', async () => {
    const { halting } = await world(
      { error: { status: 529, message: 'Overloaded' }, repeat: 3 },
      { error: { status: 401 } },
    )
    const overloaded = await halting('hi', '--settings', '{"env": {"CLAUDE_CODE_MAX_RETRIES": "2"}}').ended
    expect(overloaded.stderr).toContain('; --wait-for-limits 8h waits until the service answers.')
    expect((await halting('hi').ended).stderr).not.toContain('--wait-for-limits')
  })

  test.each([['text'], ['stream-json']])('announces a retry after minutes (%s)', async (format) => {
    const { halting } = await world(limited(500), done)
    const running = halting('hi', '--output-format', format, ...(format === 'stream-json' ? ['--verbose'] : []))
    await running.waitForOutput('Too many requests (retry 1 of 10 at ')
    running.child.kill('SIGINT')
    expect((await running.ended).status).toBe(130)
  })
})
