// The GitHub action: its script runs here as a runner starts it, with the real program and a scripted model. No input is interpolated into a script.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { programPath } from './support/program.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const action = readFileSync(join(root, 'action/action.yml'), 'utf8')

interface Step {
  readonly name: string
  readonly env: Readonly<Record<string, string>>
  readonly script: string
}

/** The fields of the action's steps that a runner needs. */
const steps: readonly Step[] = action
  .split(/^    - name: /m)
  .slice(1)
  .map((text) => ({
    name: text.split('\n')[0] ?? '',
    env: Object.fromEntries(
      [...text.matchAll(/^        (\w+): (.+)$/gm)].map(([, name = '', value = '']) => [name, value] as const),
    ),
    script: (/^      run: \|\n((?: {8}.*\n|\n)+)/m.exec(text)?.[1] ?? '').replaceAll(/^ {8}/gm, ''),
  }))

const defaults = Object.fromEntries(
  [...action.matchAll(/^  ([\w-]+):\n    description: .*\n(?:    required: true\n|    default: '?(.*?)'?\n)/gm)].map(
    ([, name = '', value = '']) => [name, value] as const,
  ),
)

const home = realpathSync(mkdtempSync(join(tmpdir(), 'halting-action-')))
const folder = join(home, 'project')
beforeAll(() => {
  for (const path of ['project', 'bin']) spawnSync('mkdir', ['-p', join(home, path)])
  writeFileSync(join(home, 'bin', 'halting'), `#!/bin/sh\nexec "${process.execPath}" "${programPath()}" "$@"\n`)
  chmodSync(join(home, 'bin', 'halting'), 0o755)
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Runs a step as a runner does: expressions become environment variables, and nothing else. */
function run(replies: readonly unknown[], inputs: Readonly<Record<string, string>>) {
  const script = join(home, 'script.json')
  writeFileSync(script, JSON.stringify({ model: 'claude-sonnet-5-5', replies }))
  const [output, summary] = [join(home, 'output'), join(home, 'summary')]
  for (const path of [output, summary]) writeFileSync(path, '')
  const step = steps.find(({ name }) => name === 'Run halting')
  const given: Readonly<Record<string, string>> = {
    ...defaults,
    ...inputs,
    arguments: [`--script=${script}`, inputs['arguments'] ?? ''].join('\n'),
  }
  const env = Object.entries(step?.env ?? {}).map(([name, value]) => [
    name,
    given[/^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(value)?.[1] ?? ''] ?? '',
  ])
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step?.script ?? ''],
    {
      cwd: folder,
      encoding: 'utf8',
      env: {
        PATH: `${join(home, 'bin')}:${process.env['PATH']}`,
        HOME: home,
        XDG_CACHE_HOME: inject('codeCache'),
        GITHUB_OUTPUT: output,
        GITHUB_STEP_SUMMARY: summary,
        ...Object.fromEntries(env),
      },
    },
  )
  return {
    status,
    stdout,
    stderr,
    outputs: outputsIn(readFileSync(output, 'utf8')),
    summary: readFileSync(summary, 'utf8'),
  }
}

/** Parses outputs as a runner does: a name, a delimiter, and all lines up to the delimiter. */
function outputsIn(text: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  const lines = text.split('\n')
  for (let at = 0; at < lines.length;) {
    const [, name = '', delimiter = ''] = /^([\w-]+)<<(.+)$/.exec(lines[at] ?? '') ?? []
    const end = lines.indexOf(delimiter, at + 1)
    if (name === '' || end < 0) break
    found[name] = lines.slice(at + 1, end).join('\n')
    at = end + 1
  }
  return found
}

test('outputs the result, the cost, the reason and the session of a run', () => {
  const outcome = run([{ content: 'All is green.' }], { prompt: 'Is the build green?' })
  expect({ status: outcome.status, stderr: outcome.stderr }).toEqual({ status: 0, stderr: '' })
  expect(outcome.outputs).toEqual({
    result: 'All is green.',
    'cost-usd': expect.stringMatching(/^0\.0\d+$/),
    reason: 'completed',
    verified: 'nothing changed',
    'session-id': expect.stringMatching(/^[\da-f-]{36}$/),
    'exit-code': '0',
  })
  expect(outcome.stdout).toMatch(/^halting: completed\. The model gave its answer \(\$0\.0\d{3}\)\n$/)
  expect(outcome.summary).toContain('halting: completed. The model gave its answer')
})

test('fails at a limit unless configured otherwise, and names the limit', () => {
  const prompt = 'Look around.'
  const costly = { 'max-budget-usd': '0.0001' }
  const failed = run([{ content: 'Done.' }], { prompt, ...costly })
  expect({ status: failed.status, reason: failed.outputs['reason'], cost: failed.outputs['cost-usd'] }).toEqual({
    status: 3,
    reason: 'max_budget_usd',
    cost: '0',
  })
  const passed = run([{ content: 'Done.' }], { prompt, ...costly, fail: 'false' })
  expect({ status: passed.status, code: passed.outputs['exit-code'] }).toEqual({ status: 0, code: '3' })
})

test('reports a run that could not start', () => {
  const outcome = run([], { prompt: 'Begin.', 'max-budget-usd': 'a lot' })
  expect({ status: outcome.status, reason: outcome.outputs['reason'] }).toEqual({ status: 2, reason: 'not_started' })
  expect(outcome.outputs['verified']).toBe('')
  expect(outcome.stderr).toContain('--max-budget-usd')
})

describe('treats text of others as data', () => {
  const hostile =
    '--permission-mode=bypassPermissions "; touch pwned; $(touch pwned) `touch pwned`\n\' || touch pwned\n${{ github.token }}'

  test('treats a prompt neither as a flag nor as part of the script', () => {
    const outcome = run([{ expect: hostile, content: 'I will not.' }], { prompt: hostile })
    expect(outcome.outputs).toMatchObject({ result: 'I will not.', reason: 'completed' })
    expect(existsSync(join(folder, 'pwned'))).toBe(false)
  })

  test.each(['max-turns', 'max-duration', 'model', 'permission-mode', 'max-budget-usd'])(
    'treats the input %s the same way',
    (name) => {
      const outcome = run([{ content: 'Hello.' }], {
        prompt: 'Hello?',
        [name]: '1" ; touch pwned; $(touch pwned) --trust',
      })
      expect(existsSync(join(folder, 'pwned'))).toBe(false)
      expect(Object.keys(outcome.outputs)).toEqual([
        'result',
        'cost-usd',
        'reason',
        'verified',
        'session-id',
        'exit-code',
      ])
    },
  )

  test('does not let an answer become another output', () => {
    const content = 'Yes.\nreason<<EOF\nforged\nEOF\n::set-output name=reason::forged\n'
    const { outputs } = run([{ content }], { prompt: 'Well?' })
    expect(outputs).toMatchObject({ result: content, reason: 'completed' })
  })

  test('contains no expression in any script of the action or a workflow', () => {
    const workflows = readdirSync(join(root, '.github/workflows')).map((name) =>
      readFileSync(join(root, '.github/workflows', name), 'utf8'),
    )
    const scripts = [action, ...workflows].flatMap((text) => [
      ...[...text.matchAll(/^( *)(?:- )?run: (?!\|)(.+)$/gm)].map(([, , line = '']) => line),
      ...[...text.matchAll(/^( *)run: \|\n((?:\1 {2}.*\n|\n)+)/gm)].map(([, , lines = '']) => lines),
    ])
    expect(scripts.length).toBeGreaterThan(4)
    expect(scripts.filter((script) => script.includes('${{'))).toEqual([])
  })

  test('passes every input as a variable, and names no input that does not exist', () => {
    const named = steps.flatMap(({ env }) => Object.values(env).map((value) => /inputs\.([\w-]+)/.exec(value)?.[1]))
    expect(new Set([...named, 'working-directory'])).toEqual(new Set(Object.keys(defaults)))
  })
})

test('runs checks on every supported Node, and publishes releases with provenance', () => {
  const ci = readFileSync(join(root, '.github/workflows/ci.yml'), 'utf8')
  expect(ci).toContain("node: ['20', '22', '24']")
  expect(ci).toContain('- run: .ci/run\n')
  const release = readFileSync(join(root, '.github/workflows/release.yml'), 'utf8')
  expect(release).toContain('id-token: write')
  expect(release).toContain('console.log(publishCommand(name, process.argv[1])')
  expect(release).toContain('npm $parameters --provenance')
  const texts = readFileSync(join(root, 'scripts/release-texts.mjs'), 'utf8')
  expect(texts).toContain("return ['publish', `--workspace=packages/${name}`, '--access', 'public'")
})
