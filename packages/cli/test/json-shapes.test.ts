// The --json output about sessions: its fields are frozen here, and documented in the guides.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFakeClock } from '@halting/core/testing'
import { beforeAll, expect, test } from 'vitest'
import { toolReply, storeSession, textReply } from './support/store-session.ts'
import { installProgram, runHere } from './support/program.ts'

installProgram()

const id = 'aaaaaaaa-0000-4000-8000-00000000000a'
const guide = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../../../docs/guide', `${name}.md`), 'utf8')

beforeAll(async () => {
  // Every step takes some milliseconds, however fast the machine is.
  let calls = 0
  const fake = createFakeClock({ autoAdvance: true })
  const clock = {
    now: () => fake.now() + 5 * ++calls,
    after: (ms: number, callback: () => void) => fake.after(ms, callback),
  }
  await storeSession(id, [toolReply(['Edit', { file_path: 'a' }]), textReply('done')], { maxBudgetUsd: 50, clock })
})

type Json = { readonly [field: string]: Json } | readonly Json[] | string | number | boolean | null

/** Names of fields at every depth, `runs[].totals.turns`; the first element of a list represents all. */
function fieldsOf(value: Json, path = ''): readonly string[] {
  if (Array.isArray(value))
    return value.length === 0 ? [] : fieldsOf((value as readonly Json[])[0] ?? null, `${path}[]`)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, field]) => {
    const place = path === '' ? name : `${path}.${name}`
    return [place, ...fieldsOf(field, place)]
  })
}

async function printedFields(...args: readonly string[]): Promise<readonly string[]> {
  const { status, stdout } = await runHere([...args, '--json'])
  expect(status).toBe(0)
  return fieldsOf(JSON.parse(stdout.split('\n')[0] ?? '') as Json)
}

/** The last part of each name is in the guide, as code. */
function missingIn(fields: readonly string[], text: string): readonly string[] {
  const names = new Set(fields.map((field) => field.replaceAll('[]', '').split('.').at(-1) ?? ''))
  return [...names].filter((name) => !text.includes(`\`${name}\``))
}

const spent = ['turns', 'tokens', 'costUsd', 'activeMs']
const whatIfSpent = ['turns', 'tokens', 'costUsd', 'unknownUsd', 'activeMs']
const below = (place: string, names: readonly string[]): readonly string[] => [
  place,
  ...names.map((name) => `${place}.${name}`),
]

test('sessions', async () => {
  const own = [
    'session_id',
    'cwd',
    'path',
    'changed_at',
    'first_prompt',
    'runs',
    'num_turns',
    'total_cost_usd',
    'ended',
  ]
  const fields = await printedFields('sessions')
  expect(fields).toEqual(['sessions', ...own.map((name) => `sessions[].${name}`)])
  expect((await printedFields('sessions', 'show', id)).filter((field) => !field.startsWith('messages[]'))).toEqual([
    ...own,
    'messages',
  ])
  expect(await printedFields('sessions', 'search', 'done')).toEqual([...fields, 'sessions[].line'])
  expect(missingIn([...fields, 'messages', 'line', 'problem', 'held_by'], guide('sessions'))).toEqual([])
})

test('why', async () => {
  const fields = await printedFields('why', id)
  expect(fields).toEqual([
    'sessionId',
    'cwd',
    'file',
    'runs',
    ...below('runs[].run', ['sessionId', 'runId', 'agentPath', 'depth']),
    'runs[].ending',
    'runs[].ending.reason',
    ...below('runs[].ending.signal', ['reason', 'message', 'context', 'source']),
    'runs[].ending.others',
    'runs[].ending.error',
    'runs[].ending.stillRunning',
    'runs[].overridden',
    ...below('runs[].limits', []),
    ...['limit', 'unit', 'used', 'max', 'isReached'].map((name) => `runs[].limits[].${name}`),
    'runs[].laps',
    ...['transition', 'laps', 'used', 'allowed'].map((name) => `runs[].laps[].${name}`),
    ...below('runs[].ranking', ['turns', 'others']),
    ...below('runs[].totals', ['turns', 'requests', 'tokens', 'costUsd', 'committedUsd', 'activeMs']),
    ...below('runs[].carried', spent),
    'runs[].phases',
    ...['phase', 'ms', 'requests', 'tokens', 'costUsd'].map((name) => `runs[].phases[].${name}`),
    'runs[].tools',
    ...[
      'tool',
      'calls',
      'failed',
      'open',
      'ms',
      'tokens',
      'unknownTokens',
      'resultCharacters',
      'costUsd',
      'unknownUsd',
    ].map((name) => `runs[].tools[].${name}`),
    ...['slowest', 'dearest'].flatMap((list) => [
      `runs[].${list}`,
      ...['phase', 'scope', 'request', 'what', 'ms', 'tokens', 'costUsd', 'unknownUsd'].map(
        (name) => `runs[].${list}[].${name}`,
      ),
    ]),
    'runs[].open',
    'goOn',
    'goOn.says',
    'unpriced',
  ])
  const ofRuns = ['executionCount', 'continues', 'isCopy', 'heldBy', 'command']
  const more = [...ofRuns, 'stages', 'most', 'ended', 'program', 'skipped', 'recordedUsd']
  expect(missingIn([...fields, ...more], guide('why'))).toEqual([])
})

test('replay and what-if', async () => {
  const steps = await printedFields('replay', id)
  expect(steps).toEqual(['atMs', 'what', 'text'])
  const fields = await printedFields('what-if', id, '--max-turns', '1', '--suggest')
  expect(fields).toEqual([
    ...below('limits', ['maxTurns']),
    'answers',
    ...['session', 'run', 'file', 'program', 'unpriced', 'isCopy', 'answer'].map((name) => `answers[].${name}`),
    'answers[].answer.verdict',
    'answers[].answer.reason',
    ...below('answers[].answer.by', ['limit', 'used', 'max']),
    'answers[].answer.isAtTheLatest',
    'answers[].answer.unknownFrom',
    'answers[].answer.toldAfterTurn',
    ...below('answers[].answer.kept', whatIfSpent),
    ...below('answers[].answer.saved', whatIfSpent),
    ...below('answers[].answer.lost', ['changes', 'calls', 'answer']),
    'suggested',
    'runs',
    'skipped',
    'notes',
  ])
  expect(missingIn([...steps, ...fields, 'stops'], guide('why'))).toEqual([])
})

test('what-if with a share of solved runs that may be lost', async () => {
  const fields = await printedFields('what-if', id, '--suggest', '--may-lose', '50%')
  const refused = (figure: string): readonly string[] =>
    below(`calibration.groups[].limits.${figure}`, ['kind', 'why', 'solved', 'needed'])
  expect(fields).toEqual([
    'limits',
    'answers',
    'runs',
    'calibration',
    'calibration.mayLose',
    'calibration.needed',
    'calibration.groups',
    ...['model', 'repository', 'runs'].map((name) => `calibration.groups[].${name}`),
    ...below('calibration.groups[].solved', ['all', 'byPerson', 'byGoal', 'guessed', 'sessions']),
    'calibration.groups[].ungraded',
    'calibration.groups[].limits',
    ...['usd', 'tokens', 'activeMs', 'turns'].flatMap(refused),
    'calibration.groups[].together',
    'skipped',
    'notes',
  ])
  const more = ['limit', 'quantile', 'rank', 'lost', 'of', 'share', 'interval', 'toExpect', 'stops', 'saved', 'amount']
  expect(missingIn([...fields, ...more, 'path', 'name', 'value', 'before', 'notWritten'], guide('why'))).toEqual([])
})

test('report', async () => {
  const fields = await printedFields('report')
  const spentIn = ['runs', 'turns', 'requests', 'tokens', 'unknownTokens', 'costUsd', 'unknownUsd', 'activeMs']
  expect(fields.filter((field) => !/[.[]/.test(field))).toEqual([
    'of',
    'since',
    'until',
    'madeAt',
    'timeZone',
    'sessions',
    'programs',
    'totals',
    'afterRuns',
    'byDay',
    'byModel',
    'byFolder',
    'byProgram',
    'bySession',
    'endings',
    'limits',
    'budgets',
    'goals',
    'verification',
    'calibration',
    'tried',
    'tools',
    'time',
    'serviceWaits',
    'limitPauses',
    'service',
    'cache',
    'compactions',
    'open',
    'outliers',
    'unpriced',
    'skipped',
    'notes',
  ])
  expect(fields).toEqual(expect.arrayContaining(below('totals', spentIn).slice()))
  expect(fields.filter((field) => field.startsWith('byDay[].'))).toEqual(
    ['name', 'sessions', ...spentIn].map((name) => `byDay[].${name}`),
  )
  expect(
    missingIn(
      fields.filter((field) => !/[.[]/.test(field)),
      guide('report'),
    ),
  ).toEqual([])
})
