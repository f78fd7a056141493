// Tests R-RES-12b: a session that another version recorded with other texts is resumed and replayed by this one.
import { expect, test } from 'vitest'
import { replay, resume, type Permissions, type StepRecord } from '../../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { unknownTool } from '../../src/tool-calls/call-texts.ts'
import { lastAnswerPrompt, remainingLimits, runEnding } from '../../src/run/turn-texts.ts'
import { calls, json, reader, run, tool } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

/** Calls a missing tool, one with invalid input and one that is denied, and continues until its turns are used up. */
const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }): ScriptedReply => {
  const turn = messages.filter(({ role }) => role === 'assistant').length
  if (turn === 0) return calls('Missing', 'Strict', 'Look')
  if (turn === 1) return calls('Write', 'Look')
  return turn < 4 ? calls('Look') : 'That is all.'
}

const permissions: Permissions = {
  denies: () => undefined,
  decide: ({ call }) =>
    call.name === 'Write' ? { behavior: 'deny', message: 'A rule denies it.' } : { behavior: 'allow' },
}

const options = () => ({
  model: scriptedModel(script),
  clock: createFakeClock({ autoAdvance: true }),
  tools: [reader('Look'), reader('Strict', 'read', { schema: { type: 'object', required: ['path'] } }), tool('Write')],
  permissions,
  maxTurns: 4,
  wrapUp: true,
  limitReminders: true,
})

/** Texts of this version, and those of another one in their place. */
const others: readonly (readonly [now: string, then: string])[] = [
  [unknownTool('Missing', ['Look', 'Strict', 'Write']), 'Missing is not a tool. Call another one.'],
  ['Invalid input for Strict: ', 'Strict does not take this: '],
  [remainingLimits([{ of: 'turns', left: 2, limit: 4 }]), 'Left of the limits of this run: 2 of 4 turns.'],
  [runEnding('Reached maximum number of turns (4)'), 'The run ends here. Say what is done.'],
]

function asWrittenByAnotherVersion(records: readonly StepRecord[]): readonly StepRecord[] {
  const quoted = (text: string): string => JSON.stringify(text).slice(1, -1)
  const text = others.reduce((all, [now, then]) => all.replaceAll(quoted(now), quoted(then)), JSON.stringify(records))
  return JSON.parse(text) as StepRecord[]
}

test('a record with other texts of the loop is replayed to the same end', async () => {
  const { terminal, steps } = await run(script, options())
  expect(terminal.reason).toBe('max_turns')
  const older = asWrittenByAnotherVersion(json(steps.records) as unknown as StepRecord[])
  for (const [now, then] of others)
    expect([now, JSON.stringify(older).includes(JSON.stringify(then).slice(1, -1))]).toEqual([now, true])
  expect(JSON.stringify(older)).not.toContain(lastAnswerPrompt)
  const again = await replay(older, options())
  expect(json(again.terminal)).toEqual(json(terminal))
})

test('a run that another version started is resumed from every record, and the existing records stay unchanged', async () => {
  const { terminal, steps } = await run(script, options())
  for (let count = 1; count < steps.records.length; count++) {
    const older = asWrittenByAnotherVersion(await killedAfter(count, options()))
    if (older.some(({ type }) => type === 'end')) continue
    const { terminal: ended } = await resume(older, options()).loop.ended
    expect([count, ended.reason, ended.error]).toEqual([count, terminal.reason, undefined])
    expect(ended.summary.turns).toBe(terminal.summary.turns)
  }
})
