// Holds rules of docs/spec: R-SECRET-1 to R-SECRET-3, R-SESS-11: what never comes to a file, and what goes from the disk.
import { existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { call, filesBelow, here, installProgram, run, script } from './support/program.ts'

installProgram()

const folder = (): string => join(here(), '.halting')
beforeEach(() => rmSync(folder(), { recursive: true, force: true }))

const files = () => filesBelow(folder())

// Assembled here, so that no scanner reports secrets in this file.
const nothing = String()
const body = 'Zq7Xw3Vt9Ls2Kd5Mf8Hj4Ng6Pb1Rc0Y'
const secret = `gh${nothing}p_${body}`
const leaks = (text: string): boolean =>
  Array.from({ length: body.length - 7 }, (_, at) => body.slice(at, at + 8)).some((part) => text.includes(part))

/** The previous content of a changed file is stored unredacted: `halting undo` restores it (spec R-SECRET-4). */
const isCheckpoint = (path: string): boolean => path.includes('/files/contents/')

describe('redactSecrets', () => {
  /** A secret in the middle of cut output, in output stored completely in a file, in cut lines, and in a file with an error. */
  const replies = [
    { content: [call('Bash', { command: 'cat cut.txt' }), call('Read', { file_path: 'long-line.txt' })] },
    { content: [call('Bash', { command: 'yes "$(cat secret.txt)" | head -3000' })] },
    { content: [call('Grep', { pattern: 'token', output_mode: 'content' }), call('Read', { file_path: 'many.txt' })] },
    {
      content: [
        call('Bash', { command: 'cat secret.txt >&2; exit 3' }),
        call('Bash', { command: 'cat secret.txt', run_in_background: true }),
      ],
    },
    {
      content: [
        call('TaskOutput', { task_id: 'bash_1' }),
        call('Edit', { file_path: 'many.txt', old_string: 'line 7\n', new_string: 'line seven\n' }),
      ],
    },
    { content: 'Done.' },
  ]
  const ask = (limit: string, ...flags: readonly string[]): ReturnType<typeof run> =>
    run(
      [
        '-p',
        'look',
        '--script',
        script(replies),
        '--output-format',
        'stream-json',
        '--verbose',
        '--permission-mode',
        'bypassPermissions',
        ...flags,
      ],
      { env: { BASH_MAX_OUTPUT_LENGTH: limit } },
    )

  beforeEach(() => {
    writeFileSync(join(here(), 'secret.txt'), `token=${secret}\n`)
    // Around the cut: half of 30,000 characters.
    writeFileSync(
      join(here(), 'cut.txt'),
      `${'a'.repeat(14_900)} ${`${secret} `.repeat(20)}${'b'.repeat(300_000)} ${secret} ${'c'.repeat(14_900)}`,
    )
    writeFileSync(join(here(), 'long-line.txt'), `${'x '.repeat(990)}${`${secret} `.repeat(40)}\n`)
    writeFileSync(
      join(here(), 'many.txt'),
      Array.from({ length: 900 }, (_, line) => `line ${line}\n${'filler '.repeat(20)}\n`).join('') +
        `token=${secret}\n`,
    )
  })

  test.each(['30000', '1000000'])(
    'redacts secrets in tool output, including output of which %s characters are shown and all is stored in a file',
    async (limit) => {
      const { status, stdout, stderr } = await ask(limit, '--settings', '{"redactSecrets":true}')
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
      expect(stdout).toContain('[REDACTED]')
      expect(leaks(stdout)).toBe(false)
      expect(files().some(([path]) => path.includes('tool-results'))).toBe(true)
      expect(
        files()
          .filter(([path, content]) => leaks(content) && !isCheckpoint(path))
          .map(([path]) => path),
      ).toEqual([])
      expect(readFileSync(join(here(), 'many.txt'), 'utf8')).toContain(secret)
    },
  )

  test('leaves secrets unchanged without the setting', async () => {
    const { stdout } = await ask('30000')
    expect(leaks(stdout)).toBe(true)
    expect(files().some(([, content]) => leaks(content))).toBe(true)
  })
})

describe('keys', () => {
  let server: Server | undefined
  let url = ''
  const seen: string[] = []
  beforeAll(async () => {
    const service = createServer((request, response) => {
      seen.push(JSON.stringify(request.headers))
      request.resume().once('end', () => {
        // A service that repeats the request in its error.
        response.writeHead(400, { 'content-type': 'application/json' })
        const message = `bad request with ${JSON.stringify(request.headers)}`
        response.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }))
      })
    })
    await new Promise<void>((listens) => service.listen(0, '127.0.0.1', listens))
    // True: it listens on a port, so its address has one.
    url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
    server = service
  })
  afterAll(() => void server?.close())

  test.each([
    ['in the environment', { ANTHROPIC_API_KEY: `key-${body}` }, []],
    ['as a bearer token', { ANTHROPIC_AUTH_TOKEN: `key-${body}` }, []],
    ['in headers of their own', { ANTHROPIC_API_KEY: 'k', ANTHROPIC_CUSTOM_HEADERS: `x-proxy-key: key-${body}` }, []],
    ['from a helper', {}, ['--settings', JSON.stringify({ apiKeyHelper: `echo key-${body}` })]],
  ] as const)('writes %s to no file, and prints none', async (_name, env, flags) => {
    seen.length = 0
    const { stdout, stderr } = await run(['-p', 'hi', '--output-format', 'json', ...flags], {
      env: { ANTHROPIC_BASE_URL: url, CLAUDE_CODE_MAX_RETRIES: '0', ...env },
    })
    expect(leaks(seen.join('\n'))).toBe(true)
    expect(JSON.parse(stdout)).toMatchObject({ terminal_reason: 'model_error' })
    expect(files().length).toBeGreaterThan(0)
    expect(
      files()
        .filter(([, content]) => leaks(content))
        .map(([path]) => path),
    ).toEqual([])
    expect(leaks(stdout + stderr)).toBe(false)
  })
})

describe('cleanupPeriodDays', () => {
  const hello = (): readonly string[] => ['-p', 'hi', '--script', script([{ content: 'Hello.' }])]
  /** A run that takes a moment, since sessions are removed in parallel with a run. */
  const busy = (): readonly string[] => [
    '-p',
    'hi',
    '--script',
    script([{ content: [call('Bash', { command: 'sleep 0.7' })] }, { content: 'Hello.' }]),
    '--allowedTools',
    'Bash',
  ]
  const sessions = (): readonly string[] =>
    files()
      .map(([path]) => path)
      .filter((path) => /\/projects\/[^/]+\/[^/]+\.jsonl$/.test(path))
  const age = (days: number): void => {
    const ago = (count: number): Date => new Date(Date.now() - count * 86_400_000)
    // The program is used every other day: after a long pause, the first clean-up removes nothing.
    for (const [path] of files()) {
      const at = ago(path.endsWith('.last-cleanup') ? Math.min(days, 2) : days)
      utimesSync(path, at, at)
    }
  }

  test('removes sessions that were not used for this long at the start of a run, with a note', async () => {
    await run(hello())
    age(31)
    const { status, stdout, stderr } = await run(busy())
    expect([status, stdout]).toEqual([0, 'Hello.\n'])
    expect(stderr).toBe('halting: removed 1 session not used for 30 days (cleanupPeriodDays).\n')
    expect(sessions()).toHaveLength(1)
    // The resumed one stays, however old it is.
    rmSync(join(folder(), 'projects/.last-cleanup'))
    age(31)
    expect(await run([...busy(), '--continue'])).toMatchObject({ status: 0, stdout: 'Hello.\n', stderr: '' })
    expect(sessions()).toHaveLength(1)
    // Once a day.
    age(0)
    const [kept = ''] = sessions()
    const at = new Date(Date.now() - 40 * 86_400_000)
    utimesSync(kept, at, at)
    await run(busy())
    expect(existsSync(kept)).toBe(true)
  })

  test('reads the period from a setting; refuses 0, since 0 formerly meant to store nothing', async () => {
    await run(hello())
    age(31)
    await run([...busy(), '--settings', '{"cleanupPeriodDays":3650}'])
    expect(sessions()).toHaveLength(2)
    for (const days of [0, -1, 1.5, 'x']) {
      const { status, stderr } = await run([...hello(), '--settings', JSON.stringify({ cleanupPeriodDays: days })])
      expect([
        status,
        stderr.includes('--settings: cleanupPeriodDays must be a whole number of days, at least 1'),
      ]).toEqual([2, true])
    }
  })
})
