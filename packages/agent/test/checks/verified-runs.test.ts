// Spec R-VERI-3, R-VERI-13, R-VERI-14: a session over a scripted model, with real files and real commands.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SdkResult } from '@halting/core'
import { scriptedModel, type ScriptedModel, type ScriptedReply } from '@halting/core/testing'
import { codingAgent, type CodingAgentOptions } from '@halting/agent'

let base = ''
let cwd = ''
const opened: { dispose(): Promise<void> }[] = []

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'halting-verified-')))
  cwd = join(base, 'project')
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ scripts: { test: 'node --test' } }))
  writeFileSync(
    join(cwd, 'sum.test.mjs'),
    "import { sum } from './sum.mjs'\nimport { equal } from 'node:assert'\nequal(sum(1, 2), 3)\n",
  )
})
afterEach(async () => {
  for (const builder of opened.splice(0)) await builder.dispose()
  rmSync(base, { recursive: true, force: true })
})

type Script = readonly ScriptedReply[]

async function run(
  script: Script,
  options: Partial<CodingAgentOptions> = {},
): Promise<{ readonly model: ScriptedModel; readonly result: SdkResult }> {
  const model = scriptedModel(script)
  const env = { HOME: base, PATH: process.env['PATH'] }
  const builder = await codingAgent({
    cwd,
    env,
    model,
    permissionMode: 'bypassPermissions',
    verification: 'ask',
    ...options,
  })
  opened.push(builder)
  const engine = await builder.engine()
  let result: SdkResult | undefined
  for await (const message of engine.submit('Work.')) if (message.type === 'result') result = message
  if (result === undefined) throw new Error('There is no result.')
  return { model, result }
}

const call = (name: string, input: object): ScriptedReply => ({ toolCalls: [{ name, input }] })
const write = (path: string, content: string): ScriptedReply => call('Write', { file_path: path, content })
const bash = (command: string): ScriptedReply => call('Bash', { command })
const says = (text: string): ScriptedReply => ({ text })

const good = 'export function sum(one, other) {\n  return one + other\n}\n'
const bad = 'export function sum(one, other) {\n  return one - other\n}\n'
const asked = (model: ScriptedModel): boolean => JSON.stringify(model.requests.at(-1)?.messages).includes('npm test')

test('asks once to verify an edit with the check that the project declares, which verifies it', async () => {
  const { model, result } = await run([write('sum.mjs', good), says('Done.'), bash('npm test'), says('It passes.')])
  expect(model.requests).toHaveLength(4)
  expect(JSON.stringify(model.requests[2]?.messages)).toContain('npm test')
  expect(result).toMatchObject({ subtype: 'success', result: 'It passes.', verified: true })
})

test('accepts the answer of a model that only explains why not', async () => {
  const { model, result } = await run([write('sum.mjs', good), says('Done.'), says('I cannot run it.')])
  expect(model.requests).toHaveLength(3)
  expect(result).toMatchObject({ subtype: 'success', result: 'Done.', verified: false })
})

test('asks nothing if the model ran the check by itself', async () => {
  const { model, result } = await run([write('sum.mjs', good), bash('npm test 2>&1 | tail -20'), says('Done.')])
  expect(model.requests).toHaveLength(3)
  expect(result).toMatchObject({ verified: true })
})

test('asks if the check failed', async () => {
  const { model, result } = await run([write('sum.mjs', bad), bash('npm test'), says('Done.'), says('It fails.')])
  expect(model.requests).toHaveLength(4)
  expect(result).toMatchObject({ verified: false })
})

test('does not ask about a change of two lines, but reports it', async () => {
  const { model, result } = await run([write('sum.mjs', 'export const sum = () => 3\n'), says('Done.')])
  expect(model.requests).toHaveLength(2)
  expect(result).toMatchObject({ verified: false })
})

test('accepts a run of the changed program as a check', async () => {
  const { model, result } = await run([
    write('main.mjs', 'const a = 1\nconst b = 2\nconsole.log(a + b)\n'),
    bash('node main.mjs'),
    says('Done.'),
  ])
  expect(model.requests).toHaveLength(3)
  expect(result).toMatchObject({ verified: true })
})

test('ignores lines of documents', async () => {
  const { model, result } = await run([write('notes.md', 'one\ntwo\nthree\nfour\n'), says('Done.')])
  expect(model.requests).toHaveLength(2)
  expect(result).toMatchObject({ verified: 'nothing changed' })
})

test('counts what a command changed, as detected on disk', async () => {
  const script = "node -e \"require('fs').writeFileSync('sum.mjs', 'a\\nb\\nc\\nd\\n'.replaceAll('b','x'))\""
  const { model } = await run([bash(script), says('Done.'), says('No.')])
  expect(model.requests).toHaveLength(3)
  expect(asked(model)).toBe(true)
  const reading = await run([bash('node -e "process.exit(0)"'), says('Done.')])
  expect(reading.result).toMatchObject({ verified: 'nothing changed' })
})

test('counts a background check that ended before further changes', async () => {
  const start = {
    toolCalls: [{ name: 'Bash', input: { command: 'npm test', run_in_background: true } }],
  }
  const wait = call('Wait', { task_id: 'bash_1' })
  const passed = await run([write('sum.mjs', good), start, wait, says('Done.')])
  expect(passed.result).toMatchObject({ verified: true })
})

test('counts a background check whose end the run itself reports', async () => {
  const start = {
    toolCalls: [{ name: 'Bash', input: { command: 'npm test', run_in_background: true } }],
  } as Script[number]
  const { result } = await run([write('sum.mjs', good), start, says('It runs.'), says('It has passed.')], {
    verification: 'tell',
  })
  expect(result).toMatchObject({ result: 'It has passed.', verified: true })
})

test('counts what a background command changes, by its text', async () => {
  const start = {
    toolCalls: [{ name: 'Bash', input: { command: 'sed -i s/sum/sam/ sum.test.mjs', run_in_background: true } }],
  }
  const { result } = await run([start, call('Wait', { task_id: 'bash_1' }), says('Done.')])
  expect(result).toMatchObject({ verified: false })
})

test.each([
  ['a file of the project, by whatever name', 'test.mjs', [bash('npm test')], false],
  ['a file of the project that was edited', 'test.mjs', [write('test.mjs', 'let a\n'), bash('npm test')], false],
  ['what the run made to try something out', 'probe.mjs', [write('probe.mjs', good), bash('npm test')], true],
  [
    'what the run made and another file of it loads',
    'part.mjs',
    [write('part.mjs', good), write('more.mjs', "import './part.mjs'\n"), bash('npm test')],
    false,
  ],
] as const)('knows whether deleting %s is a change', async (_, name, before, isVerified) => {
  writeFileSync(join(cwd, 'sum.mjs'), good)
  writeFileSync(join(cwd, 'test.mjs'), '')
  const read = call('Read', { file_path: 'test.mjs' })
  const steps = [read, write('other.mjs', good), ...before, bash(`rm ${name}`), says('Done.')]
  const { result } = await run(steps, { verification: 'tell' })
  expect(result).toMatchObject({ verified: isVerified })
})

test('ignores a check of another project', async () => {
  const other = join(base, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'package.json'), JSON.stringify({ scripts: { test: 'true' } }))
  const { result } = await run([write('sum.mjs', bad), bash(`cd ${other} && npm test`), says('Done.'), says('No.')])
  expect(result).toMatchObject({ verified: false })
})

test('ignores a background check for changes made meanwhile', async () => {
  const start = {
    toolCalls: [{ name: 'Bash', input: { command: 'npm test', run_in_background: true } }],
  }
  const { result } = await run([
    write('sum.mjs', good),
    start,
    write('more.mjs', 'a\nb\nc\n'),
    call('TaskOutput', { task_id: 'bash_1' }),
    says('Done.'),
    says('No.'),
  ])
  expect(result).toMatchObject({ verified: false })
})

test('offers no project check if the model has no Bash', async () => {
  const { model, result } = await run([write('sum.mjs', good), says('Done.')], { disallowedTools: ['Bash'] })
  expect(model.requests).toHaveLength(2)
  expect(result).toMatchObject({ verified: false })
})

test('only reports by default, and inspects nothing when it is off', async () => {
  const builder = { verification: undefined } as Partial<CodingAgentOptions>
  const outcome = await run([write('sum.mjs', good), says('Done.')], builder)
  expect(outcome.model.requests).toHaveLength(2)
  expect(outcome.result).toMatchObject({ verified: false })
  const off = await run([write('other.mjs', good), says('Done.')], { verification: 'off' })
  expect(off.result).not.toHaveProperty('verified')
})
