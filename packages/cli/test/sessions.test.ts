// Holds rules of docs/spec: R-SESS-1 to R-SESS-8: sessions that are kept, gone on with, listed and answered.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { Transcript } from '@halting/core'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  call,
  waitForFileText,
  here,
  installProgram,
  linesOf,
  run,
  script,
  start,
  type Ended,
  projectName,
} from './support/program.ts'
import { sessionLines as textOf } from '../src/sessions/session-text.ts'
import { transcriptLines } from '../src/sessions/transcript-lines.ts'

installProgram()

const id = '3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
const other = '4f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
const projects = (): string => join(here(), '.halting/projects')
const sessionPath = (session: string = id): string => join(projects(), projectName(here()), `${session}.jsonl`)
const kept = (): readonly string[] =>
  existsSync(projects())
    ? readdirSync(projects(), { recursive: true })
        .map(String)
        .filter((name) => /\.jsonl/.test(name))
    : []
const said = (session: string = id): string => readFileSync(sessionPath(session), 'utf8')

/** A run with a prompt, in a session. */
const ask = (prompt: string, replies: readonly unknown[], ...flags: readonly string[]): Promise<Ended> =>
  run(['-p', prompt, '--script', script(replies, 'claude-haiku-4-5'), ...flags])
/** Resumes a session without a prompt. */
const resumeSession = (replies: readonly unknown[], ...flags: readonly string[]): Promise<Ended> =>
  run(['-p', '--script', script(replies, 'claude-haiku-4-5'), '--resume', ...flags])
interface Waiting {
  readonly id: string
  readonly message: string
}

interface Result {
  readonly session_id: string
  readonly num_turns: number
  readonly total_cost_usd: number
  readonly usage: { readonly input_tokens: number }
  readonly stop: {
    readonly context: { readonly pending: readonly [Waiting, ...Waiting[]] }
  }
}
// True: the program wrote it; tests compare the fields that they read.
const resultOf = ({ stdout }: Pick<Ended, 'stdout'>): Result => JSON.parse(stdout) as Result

beforeEach(() => rmSync(join(here(), '.halting'), { recursive: true, force: true }))

describe('a session', () => {
  test('is stored privately, with its whole run on disk when the program exits', async () => {
    const { status, stdout } = await ask('hi', [{ content: 'Hello.' }], '--session-id', id)
    expect([status, stdout]).toEqual([0, 'Hello.\n'])
    expect(statSync(sessionPath()).mode & 0o777).toBe(0o600)
    expect(said().match(/"type":"end"/g)).toHaveLength(1)
    expect(kept()).toEqual([expect.stringMatching(`${id}.jsonl$`)])
  })

  test('has a new ID if none is given, which the result contains', async () => {
    const { session_id: printedLines } = resultOf(await ask('hi', [{ content: 'Hello.' }], '--output-format', 'json'))
    expect(kept()).toEqual([expect.stringMatching(`${printedLines}.jsonl$`)])
  })

  test('is not stored with --no-session-persistence', async () => {
    expect((await ask('hi', [{ content: 'Hello.' }], '--no-session-persistence')).status).toBe(0)
    expect(kept()).toEqual([])
  })

  test('that cannot be written causes a note and the run continues, unless its ID was given: then it is an error', async () => {
    writeFileSync(join(here(), '.halting'), 'a file')
    const { status, stdout, stderr } = await ask('hi', [{ content: 'Hello.' }])
    expect([status, stdout]).toEqual([0, 'Hello.\n'])
    expect(stderr).toMatch(/^halting: this session is not stored: [^\n]+\n$/)
    expect(await ask('hi', [{ content: 'Hello.' }], '--session-id', id)).toMatchObject({ status: 2, stdout: '' })
    rmSync(join(here(), '.halting'))
  })

  test('cannot start with an ID that is in use', async () => {
    await ask('hi', [{ content: 'Hello.' }], '--session-id', id)
    expect(await ask('hi', [{ content: 'Hello.' }], '--session-id', id)).toEqual({
      status: 2,
      stdout: '',
      stderr: `halting: The session ID ${id} is already in use. Resume it: halting --resume ${id}\n`,
    })
  })

  test('without a run leaves nothing behind', async () => {
    expect((await ask('hi', [{ content: 'x' }], '--max-budget-usd', '1', '--model', 'nobody-knows')).status).not.toBe(0)
    expect((await ask('hi', [{ content: 'x' }], '--json-schema', '{')).status).toBe(2)
    expect(kept().filter((name) => name.endsWith('.jsonl'))).toEqual([])
  })
})

describe('--resume', () => {
  /** Some 2,500 tokens: their cost shows whether a request contains them. */
  const long = `remember 7 ${'and this, too '.repeat(700)}`
  const isShown = ({ usage }: Result): boolean => usage.input_tokens > 4_300

  test('continues with the transcript, and includes its cost', async () => {
    const first = resultOf(await ask(long, [{ content: 'I do.' }], '--session-id', id, '--output-format', 'json'))
    const replies = [{ content: 'It was 7.' }]
    const second = resultOf(await ask('which?', replies, '--resume', id, '--output-format', 'json'))
    expect(second).toMatchObject({ result: 'It was 7.', session_id: id, num_turns: 1 })
    expect(isShown(second)).toBe(true)
    expect(second.total_cost_usd).toBeGreaterThan(first.total_cost_usd)
    const poor = await ask(
      'more',
      [{ content: 'no' }],
      '-r',
      id,
      '--output-format',
      'json',
      '--max-budget-usd',
      String(second.total_cost_usd + 1e-6),
    )
    expect(resultOf(poor)).toMatchObject({ terminal_reason: 'budget_exhausted' })
    expect(poor.status).toBe(3)
  })

  test('accepts the beginning of an ID, and --continue the newest of this folder', async () => {
    await ask('one', [{ content: '1' }], '--session-id', other)
    await ask('two', [{ content: '2' }], '--session-id', id)
    expect(resultOf(await ask('x', [{ content: 'c' }], '--continue', '--output-format', 'json')).session_id).toBe(id)
    expect(
      resultOf(await ask('x', [{ content: 'c' }], '--resume', other.slice(0, 6), '--output-format', 'json'))[
        'session_id'
      ],
    ).toBe(other)
  })

  test('lists the sessions of this folder without an ID, newest first, and says what to type', async () => {
    await ask('the first one', [{ content: '1' }], '--session-id', other)
    await ask('the second', [{ content: '2' }], '--session-id', id)
    const { status, stdout, stderr } = await run(['--resume'])
    expect(status).toBe(2)
    expect(stdout).toMatch(
      new RegExp(`^${id}  [\\d-]+ [\\d:]+  1 turn, \\$0\\.\\d+, completed\n  the second\n${other} `),
    )
    expect(stderr).toBe(`halting: Name a session: halting --resume ${id} -p "PROMPT"; --continue resumes the newest.\n`)
  })

  test('explains each refusal: unknown, in another folder, damaged, of a later version, locked', async () => {
    const unknown = await ask('x', [{ content: 'x' }], '--resume', 'nobody')
    expect([unknown.status, unknown.stderr]).toEqual([
      2,
      'halting: No conversation found with session ID: nobody. List the sessions of this folder with halting sessions.\n',
    ])
    expect((await ask('x', [{ content: 'x' }], '--continue')).stderr).toMatch(
      /^halting: No conversation found to continue/,
    )

    await ask('x', [{ content: 'x' }], '--session-id', id)
    const near = await ask('x', [{ content: 'x' }], '--resume', `${id.slice(0, -1)}4`)
    expect(near.stderr).toContain(`Did you mean ${id}?`)
    mkdirSync(join(here(), 'elsewhere'), { recursive: true })
    const away = await run(['-p', 'x', '--resume', id, '--script', script([{ content: 'x' }])], {
      cwd: join(here(), 'elsewhere'),
    })
    expect([away.status, away.stderr]).toEqual([
      2,
      `halting: The session ${id} belongs to the folder ${here()}. Resume it there: cd ${here()} && halting --resume ${id}\n`,
    ])

    const whole = readFileSync(sessionPath())
    const lines = whole.toString().split('\n')
    writeFileSync(sessionPath(), [lines[0], lines[1]?.replace('"x"', '"y"'), ...lines.slice(2)].join('\n'))
    const damaged = await ask('x', [{ content: 'x' }], '--resume', id)
    expect(damaged.status).toBe(2)
    expect(damaged.stderr).toContain('is damaged in line 2')
    expect((await run(['sessions'])).stdout).toContain('cannot be read')

    const head = JSON.stringify({ type: 'halting', format: 99, sessionId: id, cwd: here() }).slice(0, -1)
    const sum = crc32(head).toString(16).padStart(8, '0')
    writeFileSync(sessionPath(), [`${head},"sum":"${sum}"}`, ...lines.slice(1)].join('\n'))
    const later = await ask('x', [{ content: 'x' }], '--resume', id)
    expect(later.status).toBe(2)
    expect(later.stderr).toContain('was written by a later version of this program')

    writeFileSync(sessionPath(), whole)
    const script1 = script(
      [{ content: [call('Bash', { command: `echo $$ > held; sleep 30` })] }, { content: 'x' }],
      'claude-haiku-4-5',
    )
    const holder = start(['-p', 'hold', '--resume', id, '--script', script1, '--allowedTools', 'Bash'])
    await waitForFileText(join(here(), 'held'))
    const held = await ask('x', [{ content: 'x' }], '--resume', id)
    expect(held.status).toBe(2)
    expect(held.stderr).toContain(`is in use by process ${holder.child.pid}`)
    expect((await run(['sessions'])).stdout).toContain(`running in process ${holder.child.pid}`)
    expect((await run(['sessions', 'delete', id, '--yes'])).status).toBe(2)
    holder.child.kill('SIGTERM')
    expect((await holder.ended).status).toBe(143)
  })

  test('without a prompt, requires an unfinished run', async () => {
    await ask('x', [{ content: 'x' }], '--session-id', id)
    expect((await resumeSession([{ content: 'y' }], id)).stderr).toBe(
      `halting: The session ${id} cannot continue without a prompt: its last run ended (completed). Add one: halting --resume ${id} -p "PROMPT"\n`,
    )
  })

  test('carries the counters of a run that ended at a limit into a new run, which names it', async () => {
    const replies = [{ content: [call('Glob', { pattern: '*.a' })] }, { content: [call('Glob', { pattern: '*.b' })] }]
    const first = await ask('count', replies, '--session-id', id, '--max-turns', '2', '--output-format', 'json')
    expect(resultOf(first)).toMatchObject({ terminal_reason: 'max_turns', num_turns: 2 })
    const second = await resumeSession([{ content: 'done' }], id, '--max-turns', '3', '--output-format', 'json')
    expect(resultOf(second)).toMatchObject({ result: 'done', num_turns: 3, session_id: id })
    expect(said()).toContain('"continues":"run1"')
    // The first run is counted once.
    const { total_cost_usd: cost } = resultOf(second)
    const { sessions } = JSON.parse((await run(['sessions', '--json'])).stdout)
    expect(sessions[0]).toMatchObject({ session_id: id, num_turns: 3, runs: 2, ended: 'completed' })
    expect(sessions[0].total_cost_usd).toBeCloseTo(cost, 9)
    expect(cost).toBeGreaterThan(resultOf(first).total_cost_usd)
    const third = resultOf(await ask('more', [{ content: 'again' }], '--resume', id, '--output-format', 'json'))
    expect(third.num_turns).toBe(1)
    expect(third.total_cost_usd).toBeGreaterThan(cost)
  })

  test('starts a copy with --fork-session, and leaves the session unchanged', async () => {
    await ask(long, [{ content: 'I do.' }], '--session-id', id)
    const before = said()
    const replies = [{ content: 'It was 7.' }]
    const forked = resultOf(
      await ask('which?', replies, '--resume', id, '--fork-session', '--session-id', other, '--output-format', 'json'),
    )
    expect(forked).toMatchObject({ result: 'It was 7.', session_id: other })
    expect(isShown(forked)).toBe(true)
    expect(said()).toBe(before)
    expect(said(other)).not.toContain(id)
    const again = resultOf(await ask('which?', replies, '--resume', other, '--output-format', 'json'))
    expect(isShown(again)).toBe(true)
  })
})

describe('a run that was killed', () => {
  /** Killed in the middle of its second tool; the first is done. */
  const killed = async (): Promise<void> => {
    rmSync(join(here(), 'ledger'), { force: true })
    rmSync(join(here(), 'begun'), { force: true })
    const replies = [
      { content: [call('Bash', { command: 'echo first >> ledger' })] },
      { content: [call('Bash', { command: 'echo second >> ledger; echo $$ > begun; sleep 60' })] },
    ]
    const args = [
      '-p',
      'do both',
      '--session-id',
      id,
      '--allowedTools',
      'Bash',
      '--script',
      script(replies, 'claude-haiku-4-5'),
    ]
    const { child, ended } = start(args)
    const shell = Number(await waitForFileText(join(here(), 'begun')))
    child.kill('SIGKILL')
    try {
      process.kill(-shell, 'SIGKILL')
    } catch {
      process.kill(shell, 'SIGKILL')
    }
    expect((await ended).status).toBe('SIGKILL')
  }

  test('resumes from its last record: repeats and pays nothing twice, and informs the model of what is unknown', async () => {
    await killed()
    expect((await run(['sessions'])).stdout).toContain('did not end')
    // The reply that requested the interrupted call is on record, but in no iteration yet.
    expect((await run(['sessions', 'show', id])).stdout).toContain('echo second >> ledger')
    expect((await run(['sessions', 'search', 'sleep 60'])).stdout).toContain(id)
    const replies = [{ expect: 'unknown', content: 'I looked: both are done.' }]
    const { status, stdout } = await resumeSession(replies, id, '--allowedTools', 'Bash', '--output-format', 'json')
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ result: 'I looked: both are done.', num_turns: 3, session_id: id })
    expect(readFileSync(join(here(), 'ledger'), 'utf8')).toBe('first\nsecond\n')
  })

  test('is closed first if there is a new prompt', async () => {
    await killed()
    const replies = [{ expect: 'something else', content: 'Fine.' }]
    const { status, stdout, stderr } = await ask(
      'something else',
      replies,
      '--resume',
      id,
      '--output-format',
      'stream-json',
      '--verbose',
      '--allowedTools',
      'Bash',
    )
    expect(status).toBe(0)
    expect(stderr).toContain('halting: the previous run was interrupted. It is closed first')
    const lines = linesOf(stdout)
    expect(lines.filter(({ type }) => type === 'result')).toMatchObject([{ result: 'Fine.', num_turns: 1 }])
    expect(readFileSync(join(here(), 'ledger'), 'utf8')).toBe('first\nsecond\n')
    const { messages } = JSON.parse((await run(['sessions', 'show', id, '--json'])).stdout)
    expect(JSON.stringify(messages)).toMatch(/unknown/)
    const { sessions } = JSON.parse((await run(['sessions', '--json'])).stdout)
    expect(sessions).toMatchObject([{ runs: 2, ended: 'completed' }])
  })

  test('also resumes with a torn last line', async () => {
    await killed()
    appendFileSync(sessionPath(), '{"type":"halting","rec')
    expect((await resumeSession([{ content: 'ok' }], id, '--allowedTools', 'Bash')).stdout).toBe('ok\n')
    truncateSync(sessionPath(), statSync(sessionPath()).size - 5)
    expect((await run(['sessions'])).stdout).toContain('did not end')
  })
})

test('prints the ID of a session on its own line in a narrow terminal, and nothing wider', () => {
  const summary = {
    sessionId: id,
    path: 'x',
    project: 'x',
    changedAt: new Date(0),
    cwd: '/x',
    firstPrompt: 'do it '.repeat(20),
    runs: 1,
    turns: 12,
    costUsd: 1.25,
    ended: 'max_output_tokens',
  }
  const printedLines = (width: number): readonly string[] => textOf([summary], width).trimEnd().split('\n')
  expect(printedLines(120)).toHaveLength(2)
  expect(printedLines(40)[0]).toBe(id)
  for (const width of [40, 60, 80, 84, 120])
    expect(printedLines(width).filter((line) => line.length > width)).toEqual([])
})

test('R-SESS-8b: shows in halting sessions show who wrote each message', () => {
  const user = (origin: 'prompt' | 'steer' | 'hook' | 'loop', content: string) => {
    return { kind: 'user', id: content, message: { role: 'user', content }, origin } as const
  }
  const kept = user('prompt', 'fix it').message
  const shown = transcriptLines(
    Transcript.of([
      user('prompt', 'fix it'),
      user('hook', 'lost in the compaction'),
      {
        kind: 'compact_boundary',
        id: 'b',
        messages: [{ role: 'user', content: 'So far: all.' }, { ...kept }],
        trigger: 'auto',
        preTokens: 9,
        postTokens: 1,
      },
      user('loop', 'bash_1 has ended.'),
      user('hook', 'The tests fail.'),
      user('steer', 'hurry'),
    ]),
    24,
  )
  expect(shown).toEqual([
    '[summary] So far: all.',
    '> fix it',
    '[loop] bash_1 has ended.',
    '[hook] The tests fail.',
    '> hurry',
  ])
  expect(transcriptLines(Transcript.of([user('loop', 'bash_1 has ended in a fire.')]), 24)[0]).toHaveLength(24)
})

describe('halting sessions', () => {
  test('reports damage in the middle of a session that is shown or searched', async () => {
    await ask('hay', [{ content: [call('Bash', { command: 'echo gold' })] }, { content: 'Seen.' }], '--session-id', id)
    writeFileSync(sessionPath(), said().replace('echo gold', 'echo geld'))
    const searched = await run(['sessions', 'search', 'seen'])
    expect(searched).toMatchObject({ status: 1, stdout: '' })
    expect(searched.stderr).toMatch(/not searched: .* is damaged in line \d+/)
    expect(await run(['sessions', 'show', id])).toMatchObject({ status: 2, stdout: '' })
  })

  test('shows, searches and deletes sessions', async () => {
    await ask('find the needle', [{ content: 'Here is hay.' }], '--session-id', id)
    await ask('nothing', [{ content: 'x' }], '--session-id', other)
    expect((await run(['sessions', 'show', id])).stdout).toMatch(
      /\n {2}find the needle\n\n> find the needle\nHere is hay\.\n$/,
    )
    const found = await run(['sessions', 'search', 'HAY'])
    expect(found.stdout).toContain(id)
    expect(found.stdout).not.toContain(other)
    expect(await run(['sessions', 'search', 'gold'])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: 'halting: no session contains "gold".\n',
    })
    expect(await run(['sessions', 'delete', id])).toMatchObject({ status: 2 })
    expect(existsSync(sessionPath())).toBe(true)
    expect(await run(['sessions', 'delete', id, '--yes'])).toMatchObject({ status: 0, stdout: `Deleted: ${id}\n` })
    expect(kept()).toEqual([expect.stringMatching(`${other}.jsonl$`)])
    expect((await run(['sessions', 'shwo'])).stderr).toContain('Did you mean show?')
  })

  test('lists sessions of all folders with --all', async () => {
    mkdirSync(join(here(), 'elsewhere'), { recursive: true })
    await run(['-p', 'far', '--script', script([{ content: 'x' }]), '--session-id', id], {
      cwd: join(here(), 'elsewhere'),
    })
    expect(await run(['sessions'])).toMatchObject({
      status: 0,
      stdout: '',
      stderr: 'halting: no sessions found in this folder.\n',
    })
    expect(JSON.parse((await run(['sessions', '--all', '--json'])).stdout)).toMatchObject({
      sessions: [{ session_id: id, cwd: join(here(), 'elsewhere'), first_prompt: 'far' }],
    })
  })
})

describe('--on-ask defer', () => {
  const wants = (name: string) => call('Bash', { command: `touch ${name}` })
  const defer = (...flags: readonly string[]): Promise<Ended> =>
    ask('touch both', [{ content: [wants('one'), wants('two')] }], '--session-id', id, '--on-ask', 'defer', ...flags)
  const waiting = (stdout: string) => resultOf({ stdout }).stop.context.pending

  beforeEach(() => ['one', 'two'].forEach((name) => rmSync(join(here(), name), { force: true })))

  test('ends with pending permission requests, whose answers apply in another process', async () => {
    const asked = await defer('--output-format', 'json')
    expect(asked.status).toBe(5)
    expect(resultOf(asked)).toMatchObject({ terminal_reason: 'needs_approval', is_error: true })
    const [first, ...others] = waiting(asked.stdout)
    expect(first.message).toContain('touch one')
    // Calls that write are asked about one after another.
    expect(others).toEqual([])
    expect((await resumeSession([{ content: 'x' }], id)).stderr).toContain(`halting approve ${id} ${first.id}`)

    const unknown = await run(['approve', id, 'toolu_nobody'])
    expect([unknown.status, unknown.stderr]).toEqual([
      2,
      `halting: No call toolu_nobody is waiting in session ${id}. Waiting calls: ${first.id}.\n`,
    ])
    const approved = await run(['approve', id, first.id])
    expect(approved.stdout).toBe(`Approved: Bash: ${first.message}\nResume: halting -p --resume ${id} --on-ask defer\n`)
    const again = await resumeSession([{ content: 'x' }], id, '--on-ask', 'defer', '--output-format', 'json')
    expect(again.status).toBe(5)
    expect(existsSync(join(here(), 'one'))).toBe(true)
    const [second] = waiting(again.stdout)
    await run(['deny', id, second.id, '--message', 'Not that one.'])
    const last = await resumeSession([{ expect: 'Not that one', content: 'One of them.' }], id, '--on-ask', 'defer')
    expect([last.status, last.stdout]).toEqual([0, 'One of them.\n'])
    expect(existsSync(join(here(), 'two'))).toBe(false)
    expect((await run(['approve', id, first.id])).stderr).toBe(
      `halting: No tool call of session ${id} is waiting for an answer.\n`,
    )
  })

  test('is abandoned by a new prompt: no pending call runs', async () => {
    await defer()
    const { stdout } = await ask('leave it', [{ expect: 'leave it', content: 'Left.' }], '--resume', id)
    expect(stdout).toBe('Left.\n')
    expect([existsSync(join(here(), 'one')), existsSync(join(here(), 'two'))]).toEqual([false, false])
  })

  test('says what to type', async () => {
    const { stderr } = await defer()
    expect(stderr).toContain('needs_approval: Waiting for approval: Bash (')
    expect(stderr).toMatch(new RegExp(`\n {2}halting approve ${id} \\S+\n`))
    expect(stderr).toMatch(new RegExp(`\n {2}halting -p --resume ${id} --on-ask defer\n$`))
  })
})

test.each([
  [['--resume', id, '--continue'], 'Give --resume or --continue, not both.'],
  [['--fork-session'], '--fork-session needs --resume ID or --continue.'],
  [
    ['--resume', id, '--session-id', other],
    '--session-id sets the ID of a new session. With --resume or --continue, add --fork-session.',
  ],
  [
    ['--continue', '--no-session-persistence'],
    '--no-session-persistence stores nothing, so it cannot be combined with --resume or --continue.',
  ],
  [
    ['--on-ask', 'defer', '--no-session-persistence'],
    '--on-ask defer needs a stored session. Remove --no-session-persistence.',
  ],
  [['--yes'], '--yes belongs to halting cluster dev, sessions, setup, trust, undo and rewind.'],
  [['--message', 'm'], '--message belongs to halting deny.'],
])('refuses %j together', async (flags, stderr) => {
  expect(await run(['-p', 'hi', ...flags])).toEqual({ status: 2, stdout: '', stderr: `halting: ${stderr}\n` })
})
