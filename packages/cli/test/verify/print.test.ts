// Holds R-VERI-21 to R-VERI-24 with the real program: who asks a model to verify its last change, and what is printed of it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { call, type Ended, installProgram, type Line, linesOf, run, script, start } from '../support/program.ts'

installProgram()

const lines = 'export const a = 1\nexport const b = 2\nexport const c = 3\nexport const d = 4\n'
const write = { content: ['I write it.', call('Write', { file_path: '{{cwd}}/src.mjs', content: lines })] }
const answer = { content: 'It is written.' }
const question = 'no check has passed since'
const refuses = { expect: question, content: 'There is no need.' }
const checks = { expect: question, content: ['I test it.', call('Bash', { command: 'npm test' })] }
const asked = '↻ asked the model to verify its last change'

interface World {
  readonly cwd: string
  readonly run: (replies: readonly unknown[], ...flags: readonly string[]) => Promise<Ended>
  readonly start: (replies: readonly unknown[], ...flags: readonly string[]) => ReturnType<typeof start>
  readonly settings: (settings: object) => void
}

/** A project whose package.json names a check, with a separate home. */
function world({ isPassing = true } = {}): World {
  const home = mkdtempSync(join(tmpdir(), 'halting-verify-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const cwd = join(home, 'project')
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ scripts: { test: 'node check.mjs' } }))
  writeFileSync(join(cwd, 'check.mjs'), `process.exitCode = ${isPassing ? 0 : 1}\n`)
  const tools = ['--allowedTools', 'Write', '--allowedTools', 'Bash']
  const begin: World['start'] = (replies, ...flags) =>
    start(['-p', 'Write it.', ...tools, ...flags, '--script', script(replies)], { cwd, env: { HOME: home } })
  return {
    cwd,
    start: begin,
    run: (...given) => begin(...given).ended,
    settings(settings) {
      mkdirSync(join(home, '.halting'), { recursive: true })
      writeFileSync(join(home, '.halting', 'settings.json'), JSON.stringify(settings))
    },
  }
}

const json = ['--output-format', 'json'] as const
const resultOf = ({ stdout }: Ended): Line | undefined => linesOf(stdout).at(-1)

describe('halting -p', () => {
  test('asks once, and the run is verified if a check passes then', async () => {
    const { run: print } = world()
    const ended = await print([write, answer, checks, { content: 'The tests pass.' }], ...json)
    expect(resultOf(ended)).toMatchObject({ result: 'The tests pass.', verified: true, num_turns: 4, is_error: false })
    expect(ended.status).toBe(0)
  })

  test("keeps the model's earlier answer, prints it once, and names a command that would check it", async () => {
    const ended = await world().run([write, answer, refuses])
    expect(ended).toMatchObject({ status: 0, stdout: 'It is written.\n' })
    expect(ended.stderr).toBe(
      `${asked}\n! Not checked: 1 file changed +4 −0, and no check has passed since. Check with: npm test\n`,
    )
    const result = resultOf(await world().run([write, answer, refuses], ...json))
    expect(result).toMatchObject({
      result: 'It is written.',
      verified: false,
      is_error: false,
      terminal_reason: 'completed',
    })
  })

  test('is not verified by a failing check, which does not fail the run', async () => {
    const { run: print } = world({ isPassing: false })
    const ended = await print([write, answer, checks, { content: 'The tests fail.' }])
    expect(ended).toMatchObject({ status: 0, stdout: 'The tests fail.\n' })
    expect(ended.stderr).toContain('! Not checked: ')
  })

  test('does not ask in a run that changed nothing, or checked it already', async () => {
    expect(resultOf(await world().run([{ content: 'Hello.' }], ...json))).toMatchObject({ verified: 'nothing changed' })
    const by = { content: [call('Bash', { command: 'npm test' })] }
    expect(resultOf(await world().run([write, by, answer], ...json))).toMatchObject({ verified: true, num_turns: 3 })
  })

  test('reports it in why and report', async () => {
    const { cwd, run: print } = world()
    await print([write, answer, refuses])
    const env = { HOME: join(cwd, '..') }
    const why = await run(['why'], { cwd, env })
    expect(why.stdout.replaceAll(/\s+/g, ' ')).toContain(
      'Last change Not checked: no check has passed since the last change (4 changed lines). No check ran. The model was asked to verify it and called no tool: its answer before that was kept.',
    )
    const report = await run(['report'], { cwd, env })
    expect(report.stdout).toContain('1 of 1 run that changed files ended unchecked')
  })
})

describe('asks nobody', () => {
  test.each<[string, readonly string[], unknown]>([
    ['with --verify-changes tell', ['--verify-changes', 'tell'], false],
    ['with --verify-changes off', ['--verify-changes', 'off'], undefined],
    ['under a goal, which is a check', ['--until', 'true'], true],
    ['with too few turns', ['--max-turns', '3'], false],
  ])('%s', async (_why, flags, verified) => {
    const ended = await world().run([write, answer], ...flags, ...json)
    expect(ended.status).toBe(0)
    expect(resultOf(ended)).toMatchObject({ result: 'It is written.', num_turns: 2 })
    expect(resultOf(ended)?.['verified']).toBe(verified)
  })

  test('if the answer has to match a schema', async () => {
    const schema = JSON.stringify({ type: 'object', properties: { done: { type: 'boolean' } }, required: ['done'] })
    const ended = await world().run([write, { content: '{"done":true}' }], '--json-schema', schema, ...json)
    expect(resultOf(ended)).toMatchObject({ structured_output: { done: true }, verified: false })
  })

  test('if the settings say so; a flag has priority', async () => {
    const printed = async (replies: readonly unknown[], ...flags: readonly string[]) => {
      const { run: print, settings } = world()
      settings({ verifyChanges: 'off' })
      return resultOf(await print(replies, ...flags, ...json))
    }
    expect(await printed([write, answer])).not.toHaveProperty('verified')
    expect(await printed([write, answer, refuses], '--verify-changes', 'ask')).toMatchObject({
      verified: false,
      num_turns: 3,
    })
  })

  test('for a host, whatever the settings say, unless its flag asks', async () => {
    const host = async (settings: object, replies: readonly unknown[], ...flags: readonly string[]) => {
      const { cwd, settings: set } = world()
      set(settings)
      const message = { type: 'user', message: { role: 'user', content: 'Write it.' } }
      const stream = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose']
      const tools = ['--allowedTools', 'Write', '--allowedTools', 'Bash']
      return resultOf(
        await run(['-p', ...stream, ...tools, ...flags, '--script', script(replies)], {
          cwd,
          env: { HOME: join(cwd, '..') },
          stdin: `${JSON.stringify(message)}\n`,
        }),
      )
    }
    const plain = await host({ verifyChanges: 'ask' }, [write, answer])
    expect(plain).toMatchObject({ result: 'It is written.', num_turns: 2 })
    expect(plain).not.toHaveProperty('verified')
    expect(await host({}, [write, answer, refuses], '--verify-changes', 'ask')).toMatchObject({
      result: 'It is written.',
      verified: false,
      num_turns: 3,
    })
  })
})

test('refuses another value as a usage error', async () => {
  const { status, stderr } = await world().run([], '--verify-changes', 'maybe')
  expect(status).toBe(2)
  expect(stderr).toContain('--verify-changes takes one of ask, tell, off, not "maybe".')
})

describe('keeps the answer', () => {
  test('if the service refuses the question', async () => {
    const refused = { error: { status: 400, type: 'invalid_request_error', message: 'not now' } }
    const ended = await world().run([write, answer, refused])
    expect(ended).toMatchObject({ status: 0, stdout: 'It is written.\n' })
  })

  test('if the budget is too low for the question', async () => {
    const usage = { input_tokens: 10_000, output_tokens: 10 }
    const ended = await world().run(
      [{ ...write, usage }, { ...answer, usage }, refuses],
      '--max-tokens',
      '24k',
      ...json,
    )
    expect(ended.status).toBe(0)
    expect(resultOf(ended)).toMatchObject({
      result: 'It is written.',
      verified: false,
      terminal_reason: 'completed',
      stop: { source: 'verification', context: { endedBy: 'token_limit' } },
    })
  })
})

describe('during the question', () => {
  const slow = { ...refuses, delay_ms: 60_000 }

  test('interrupts the run at Ctrl-C', async () => {
    const running = world().start([write, answer, slow])
    await running.waitForOutput(asked)
    running.child.kill('SIGINT')
    const { status, stderr } = await running.ended
    expect(status).toBe(130)
    expect(stderr).not.toContain('Not checked')
  })

  test('resumes a killed run with the question, and keeps its answer', async () => {
    const { cwd, start: begin } = world()
    const running = begin([write, answer, slow], '--session-id', id)
    await running.waitForOutput(asked)
    running.child.kill('SIGKILL')
    await running.ended
    const ended = await run(['-p', '--resume', id, ...json, '--script', script([refuses])], {
      cwd,
      env: { HOME: join(cwd, '..') },
    })
    expect(ended.status).toBe(0)
    expect(resultOf(ended)).toMatchObject({ result: 'It is written.', verified: false, num_turns: 3 })
  })
})

const id = 'aaaaaaaa-0000-4000-8000-0000000000f1'
