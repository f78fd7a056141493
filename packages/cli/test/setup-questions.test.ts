// Holds rules of docs/spec: R-SETUP-1a, R-SETUP-5, R-SETUP-5a: what a person in a terminal is asked by the first start and by `halting setup`.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { beforeEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import type { Program } from '../src/program.ts'
import { firstStart } from '../src/setup/first-start.ts'
import { setup } from '../src/setup/setup.ts'

let home = ''
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'halting-questions-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  mkdirSync(join(home, 'project'))
})
const settingsPath = (): string => join(home, '.halting/settings.json')

const nobody = { OLLAMA_HOST: 'http://127.0.0.1:1', LLAMACPP_BASE_URL: 'http://127.0.0.1:1', VLLM_BASE_URL: 'http://127.0.0.1:1', LMSTUDIO_BASE_URL: 'http://127.0.0.1:1' } // prettier-ignore

/** A program in a terminal, and a user with these answers; `undefined` is Ctrl-D. */
function terminal(answers: readonly (string | undefined)[], env: Readonly<Record<string, string>>) {
  const stdin = new PassThrough()
  const said = { text: '', asked: [] as string[] }
  const left = [...answers]
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    const question = String(text)
    if (!question.endsWith('] ')) return true
    said.asked.push(question)
    const answer = left.shift()
    if (answer === undefined) stdin.end()
    else stdin.write(`${answer}\n`)
    return true
  })
  onTestFinished(() => void vi.restoreAllMocks())
  const tell = (text: string): void => void (said.text += text)
  const program = {
    argv: [],
    env: { HOME: home, ...nobody, ...env },
    cwd: join(home, 'project'),
    // True: it is read as lines, and asked whether it is a terminal.
    stdin: Object.assign(stdin, { isTTY: true }) as unknown as Program['stdin'],
    output: { isTerminal: { stdout: true, stderr: true }, width: 100, out: tell, err: tell },
    home: new URL('file:///nowhere/'),
  }
  // True for what these functions use of it.
  return { program: program as unknown as Program, said }
}

const keys = { OPENAI_API_KEY: 'k', XAI_API_KEY: 'k' }

describe('halting setup', () => {
  test('numbers the choices, shows the changes, and writes them after a yes', async () => {
    const { program, said } = terminal(['2', 'y'], keys)
    expect(await setup({}, program)).toBe(0)
    expect(said.text).toMatch(/ 1 {2}gpt-6\.1-sol .*\n +2 {2}xai\/grok-4\.7 /)
    expect(said.asked).toEqual(['Use which model? [1-2, Enter for 1, q to quit] ', 'Write these settings? [y/N] '])
    expect(JSON.parse(readFileSync(settingsPath(), 'utf8'))).toEqual({ model: 'xai/grok-4.7' })
  })

  test.each([
    ['no', ['1', 'n']],
    ['nothing', ['', '']],
    ['the end of the input', ['', undefined]],
    ['q', ['q']],
    ['a number that is not a choice', ['3']],
    ['the end at once', [undefined]],
  ])('writes nothing after %s', async (_what, answers) => {
    const { program, said } = terminal(answers, keys)
    expect([await setup({}, program), existsSync(settingsPath()), said.asked.length]).toEqual([1, false, answers.length])
  }) // prettier-ignore

  test('asks nobody with --yes, --dry-run and --json', async () => {
    for (const flags of [{ dryRun: true }, { json: true }, { yes: true }]) {
      const { program, said } = terminal([], keys)
      await setup(flags, program)
      expect(said.asked).toEqual([])
    }
  })
})

describe('the first start', () => {
  const missing = { model: 'claude-x', keyVariables: ['ANTHROPIC_API_KEY'] }
  const question = 'Set up now (s), watch the demo (d), or quit (Enter)? [s/d/Q] '

  test('continues once settings are written', async () => {
    const { program, said } = terminal(['s', '', 'y'], keys)
    expect(await firstStart(missing, {}, program, async () => 42)).toBe(42)
    expect(said.asked[0]).toBe(question)
    expect(existsSync(settingsPath())).toBe(true)
  })

  test.each([
    ['nothing', ['']],
    ['q', ['q']],
    ['the end of the input', [undefined]],
  ])('exits after %s', async (_what, answers) => {
    const { program, said } = terminal(answers, {})
    expect(await firstStart(missing, {}, program, () => Promise.reject(new Error('not again')))).toBe(2)
    expect([said.asked, said.text.trimEnd().split('\n').length]).toEqual([[question], 3])
  })

  test('runs the demo on request: its example is looked up', async () => {
    const { program } = terminal(['d'], {})
    await expect(firstStart(missing, {}, program, async () => 0)).rejects.toThrow('The example was not found')
  })

  test('asks nobody if a prompt follows -p', async () => {
    const { program, said } = terminal([], {})
    expect([await firstStart(missing, { print: true }, program, async () => 0), said.asked]).toEqual([2, []])
  })
})

const hasTmux = spawnSync('tmux', ['-V']).status === 0

test.skipIf(!hasTmux)(
  'asks, sets up, and is ready in a real terminal without a key (needs tmux)',
  async () => {
    const socket = `halting-setup-${process.pid}`
    const tmux = (...args: readonly string[]): string =>
      spawnSync('tmux', ['-u', '-L', socket, '-f', '/dev/null', ...args], { encoding: 'utf8' }).stdout
    const until = async (text: string): Promise<void> => {
      while (!tmux('capture-pane', '-p', '-J', '-S', '-200', '-t', 's').includes(text))
        await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const env = { PATH: process.env['PATH'], HOME: home, TERM: 'screen', LANG: 'C.UTF-8', XAI_API_KEY: 'k', ...nobody }
    const clean = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    const started = ['env', '-i', ...clean, process.execPath, join(inject('program'), 'bin/halting.js')]
    tmux('new-session', '-d', '-s', 's', '-x', '100', '-y', '40', '-c', join(home, 'project'), ...started)
    onTestFinished(() => void tmux('kill-server'))
    await until('or quit (Enter)? [s/d/Q]')
    tmux('send-keys', '-t', 's', 's', 'Enter')
    await until('Write these settings? [y/N]')
    tmux('send-keys', '-t', 's', 'y', 'Enter')
    await until('xai/grok-4.7 · ')
    expect(JSON.parse(readFileSync(settingsPath(), 'utf8'))).toEqual({ model: 'xai/grok-4.7' })
  },
  60_000,
)
