// Spec R-PLAN-3, R-PLAN-4: a plan is approved in another process, and ends plan mode.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Flags } from '../src/flags/flags.ts'
import { flagOf } from '../src/flags/session-ports.ts'
import { openToolbox } from '@halting/agent/open-session'
import { call, here, installProgram, run, script } from './support/program.ts'

installProgram()

const id = '5f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
const writing = call('Write', { file_path: 'planned.txt', content: 'x' })

test('waits for the approval of a plan, which ends plan mode', async () => {
  const plan = call('ExitPlanMode', { plan: 'Write planned.txt.' })
  const flags = ['--on-ask', 'defer', '--output-format', 'json']
  const first = script([{ content: [writing] }, { content: [plan] }])
  const asked = await run(['-p', 'go', '--permission-mode', 'plan', '--session-id', id, '--script', first, ...flags])
  expect([asked.status, existsSync(join(here(), 'planned.txt'))]).toEqual([5, false])
  const [waiting] = JSON.parse(asked.stdout).stop.context.pending
  expect(waiting).toMatchObject({ name: 'ExitPlanMode', message: 'the user decides whether the plan is approved.' })
  expect((await run(['approve', id, waiting.id])).status).toBe(0)
  const rest = script([{ expect: 'approved the plan', content: [writing] }, { content: 'Done.' }])
  const allowed = ['--permission-mode', 'plan', '--allowedTools', 'Write']
  const last = await run(['-p', '--resume', id, '--script', rest, '--on-ask', 'defer', ...allowed])
  expect([last.status, last.stdout]).toEqual([0, 'Done.\n'])
  expect(readFileSync(join(here(), 'planned.txt'), 'utf8')).toBe('x')
})

test('keeps plan mode on resume as halting suggests: a denial keeps it, an approval ends it', async () => {
  const plan = call('ExitPlanMode', { plan: 'Write late.txt.' })
  const late = call('Write', { file_path: 'late.txt', content: 'x' })
  const flags = ['--on-ask', 'defer', '--allowedTools', 'Write', '--output-format', 'json']
  const asked = await run([
    '-p',
    'go',
    '--permission-mode',
    'plan',
    '--script',
    script([{ content: [plan] }]),
    ...flags,
  ])
  const first = JSON.parse(asked.stdout)
  const session = first.session_id
  await run(['deny', session, first.stop.context.pending[0].id, '--message', 'Keep the API'])
  const again = { content: [{ ...plan, id: 'second' }] }
  const denied = script([{ expect: 'Keep the API', content: [late] }, again])
  const second = await run(['-p', '--resume', session, '--script', denied, ...flags])
  expect([second.status, existsSync(join(here(), 'late.txt'))]).toEqual([5, false])
  await run(['approve', session, 'second'])
  const approved = script([{ expect: 'approved the plan', content: [late] }, { content: 'Done.' }])
  expect((await run(['-p', '--resume', session, '--script', approved, ...flags])).status).toBe(0)
  expect(existsSync(join(here(), 'late.txt'))).toBe(true)
})

test('keeps an approved plan mode in the process that resumes the run', async () => {
  const enter = call('EnterPlanMode', {})
  const early = call('Write', { file_path: 'early.txt', content: 'x' })
  const flags = ['--on-ask', 'defer', '--allowedTools', 'Write', '--output-format', 'json']
  const asked = await run(['-p', 'go', '--script', script([{ content: [enter] }]), ...flags])
  const { session_id: session, stop } = JSON.parse(asked.stdout)
  expect([asked.status, stop.context.pending[0].name]).toEqual([5, 'EnterPlanMode'])
  await run(['approve', session, stop.context.pending[0].id])
  const approved = script([{ expect: 'ExitPlanMode', content: [early] }, { content: 'Planned.' }])
  expect((await run(['-p', '--resume', session, '--script', approved, ...flags])).status).toBe(0)
  expect(existsSync(join(here(), 'early.txt'))).toBe(false)
})

test('keeps the mode after a denied plan mode', async () => {
  const enter = call('EnterPlanMode', {})
  const flags = ['--on-ask', 'defer', '--allowedTools', 'Write', '--output-format', 'json']
  const asked = await run(['-p', 'go', '--script', script([{ content: [enter] }]), ...flags])
  const { session_id: session, stop } = JSON.parse(asked.stdout)
  await run(['deny', session, stop.context.pending[0].id, '--message', 'Small change'])
  const at = call('Write', { file_path: 'at-once.txt', content: 'x' })
  const denied = script([{ expect: 'Small change', content: [at] }, { content: 'Done.' }])
  expect((await run(['-p', '--resume', session, '--script', denied, ...flags])).status).toBe(0)
  expect(existsSync(join(here(), 'at-once.txt'))).toBe(true)
})

test('offers no tool that asks a person, except with --on-ask defer', () => {
  const personal = ['AskUserQuestion', 'EnterPlanMode', 'ExitPlanMode']
  const offered = (flags: Flags): readonly string[] =>
    openToolbox(
      { choices: flags, settings: {} },
      { cwd: here(), env: {}, hiddenVariables: [], nameOf: flagOf, wordNotice: () => '' },
    ).tools.flatMap(({ name }) => (personal.includes(name) ? [name] : []))
  expect([offered({}), offered({ onAsk: 'defer' })]).toEqual([[], personal])
})
