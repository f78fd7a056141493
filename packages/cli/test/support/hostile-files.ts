import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal } from '@halting/journal'
import { contextLayers } from '@halting/core/adapters'
import { foldSession, rewindRecord, type StepRecord } from '@halting/core/steps'
import {
  calls,
  hostileSession,
  hostileText,
  says,
  scriptedSession,
  scriptedWorld,
} from '../../../analysis/test/support/sessions.ts'

/** Fields that identify a record or refer to another one: with other text there, it would be a different record, or an invalid one. */
const structural: ReadonlySet<string> = new Set(
  [
    'type kind scope key role origin reason transition category status outcome behavior phase trigger unit code',
    'id tool_use_id callId call_id turn_id runId uuid parentUuid leafUuid timestamp payload_type agentPath after',
    'stop_reason media_type messageId',
  ].flatMap((line) => line.split(' ')),
)

/** A text that is longer than anybody reads, stored in a file next to the session. */
const huge = `${hostileText} `.repeat(4_000)

/** The same value with a hostile text in every text field, some of them huge. Objects for programs get field names with a special meaning. */
function hostileValue(value: unknown, field = ''): unknown {
  if (typeof value === 'string')
    return structural.has(field) ? value : (field === 'text' || field === 'content' ? huge : hostileText) + value
  if (Array.isArray(value)) return value.map((each) => hostileValue(each, field))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([name, each]) => [name, hostileValue(each, name)] as const)
  const strange = field === 'input' || field === 'details' ? Object.entries(strangeNames) : []
  return Object.fromEntries([...fields, ...strange])
}

/** As JSON creates them: `__proto__` is an ordinary field. */
const strangeNames = JSON.parse(
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":"no","length":-1,"then":"no"}',
) as object

/** A session of halting with records of every kind, and such text in each of their fields. Its last run has no end. */
export async function hostileJournal(path: string, sessionId: string): Promise<void> {
  const runs = [...hostileSession().runs, ...(await manyKinds())]
  const journal = await openJournal({ path, sessionId, cwd: hostileText, version: hostileText, title: hostileText })
  for (const record of runs.flat())
    // True: JSON keeps the types, since the types of these fields are texts.
    journal.log?.append(hostileValue(JSON.parse(JSON.stringify(record))) as StepRecord)
  await journal.close()
}

/** Runs with agents, hooks, retries, a compaction, messages in between, a stage after them and a rewind; then an unfinished one. */
async function manyKinds(): Promise<readonly (readonly StepRecord[])[]> {
  const world = scriptedWorld()
  const overloaded = { error: { kind: 'overloaded', message: 'busy', status: 529 } } as const
  const long = { text: 'x'.repeat(4_000), usage: { input_tokens: 90_000, output_tokens: 1_000 } }
  const scripts = [
    [overloaded, calls(world, 'Look', 'Find', 'Fail'), calls(world, 'Agent'), calls(world, 'Look'), says(world, 'sub')],
    [calls(world, 'Write'), { ...long, toolCalls: [{ name: 'Write', input: {} }] }, 'a summary', says(world, 'done')],
  ]
  const { runs } = await scriptedSession(world, scripts, {
    maxTurns: 4,
    hooks: [{ id: 'guard', triggers: ['beforeToolUse', 'afterToolUse'], handle: () => {} }],
    context: contextLayers({ clearResults: false, collapse: false, contextThreshold: 50_000 }),
    prompt: 'y'.repeat(10_000),
  })
  const [first = [], second = []] = runs
  const control = { messages: [{ id: 'inbox', kind: 'steer' as const, content: 'meanwhile' }] }
  const stage = {
    id: 'run1/after/memory',
    runId: 'run1',
    name: 'memory',
    phase: 'began',
    most: { tokens: 1, nanos: 1 },
  }
  const more = [{ type: 'stage', stage }, rewindRecord(foldSession([first]), 1)] as readonly StepRecord[]
  const steered: StepRecord = { type: 'control', key: 'run1/control:1', control, at: 1 }
  return [[...first.slice(0, -1), steered, ...first.slice(-1), ...more], second.slice(0, -3)]
}

const samples = join(import.meta.dirname, '../../../analysis/test/foreign/samples')

/** A session of another program with such text in every field. */
export function hostileCopy(sample: string, path: string): void {
  const lines = readFileSync(join(samples, sample), 'utf8').trimEnd().split('\n')
  writeFileSync(path, lines.map((line) => `${JSON.stringify(hostileValue(JSON.parse(line)))}\n`).join(''))
}
