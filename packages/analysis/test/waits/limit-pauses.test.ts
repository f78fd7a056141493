// Holds R-WHYW-7 of docs/spec: pauses at a limit in accounts, on the timeline and in transcripts.
import type { RunOptions, StepRecord } from '@halting/core'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { accountOf } from '../../src/account/account.ts'
import { markdownOf } from '../../src/export/index.ts'
import { transcriptParts } from '../../src/view/parts.ts'
import { replayLines } from '../../src/view/replay-lines.ts'
import { sessionTranscript } from '../../src/view/session-transcript.ts'
import { viewOf } from '../../src/view/view.ts'
import { limitPauseFacts, openPauseText } from '../../src/words/service-words.ts'
import { begunAt, calls, hour, newClock, says, serviceRun } from '../support/service-runs.ts'
import { sessionOf } from '../support/sessions.ts'

/** Pauses at two turns; the answer comes after half an hour. */
async function pausedRun(
  answer: 'raise' | 'end' | 'never',
  more: Omit<Partial<RunOptions>, 'clock'> = {},
  killedBehind?: (record: StepRecord) => boolean,
): Promise<readonly StepRecord[]> {
  const clock = newClock()
  const askLimit: NonNullable<RunOptions['askLimit']> = async () => {
    await new Promise<void>((resolve) => void clock.after(hour / 2, resolve))
    if (answer === 'never') await new Promise(() => {})
    return answer === 'raise' ? { raise: { maxTurns: 4 } } : { end: true }
  }
  return serviceRun([calls('Look'), calls('Look'), calls('Look'), says('done')], {
    clock,
    maxTurns: 2,
    onLimit: 'pause',
    askLimit,
    ...more,
    ...(killedBehind !== undefined && { killedBehind }),
  })
}

test('a pause has its limit, its length and its outcome, and is not active time', async () => {
  const { limitPauses: raised, totals, ending } = accountOf(await pausedRun('raise'))
  expect([ending?.reason, raised?.pauses]).toMatchObject([
    'completed',
    [{ limit: 'maxTurns', used: 2, of: 2, outcome: 'raised', to: 4, waitedMs: hour / 2, sinceMs: begunAt }],
  ])
  expect(totals.activeMs).toBeLessThan(hour / 2)
  expect(limitPauseFacts(raised)).toEqual([
    'Paused 30 min 0 s at the limit of turns (2 of 2): raised to 4.',
    'Pauses took 30 min 0 s in total. This does not count as active time.',
  ])
  const { limitPauses: ended } = accountOf(await pausedRun('end'))
  expect(ended?.pauses).toMatchObject([{ outcome: 'ended', waitedMs: hour / 2 }])
  expect(limitPauseFacts(ended)[0]).toBe(
    'Paused 30 min 0 s at the limit of turns (2 of 2): the answer was to end the run.',
  )
  const { limitPauses: over } = accountOf(await pausedRun('never', { pauseForMs: 2 * hour }))
  expect(over?.pauses).toMatchObject([{ outcome: 'over', waitedMs: 2 * hour }])
  expect(accountOf(await pausedRun('raise', { onLimit: 'end' }))).not.toHaveProperty('limitPauses')
})

test('a run that was killed in a pause is still paused', async () => {
  const isAsked = (record: StepRecord): boolean => record.type === 'intent' && record.key.includes('limit_answer')
  const records = await pausedRun('raise', { pauseForMs: 2 * hour }, isAsked)
  const { limitPauses, ending } = accountOf(records)
  expect(ending).toBeNull()
  expect(limitPauses).toMatchObject({ pauses: [], open: { limit: 'maxTurns', untilMs: begunAt + 2 * hour } })
  const open = limitPauses?.open
  const text = (now: number) => (open === undefined ? '' : openPauseText(open, now))
  expect(text(begunAt)).toMatch(/^Paused at the limit of turns \(2 of 2\) until 2026-11-\d\d \d\d:00\.$/)
  expect(text(begunAt + 3 * hour)).toMatch(/ \(already past\)\.$/)
  const items = viewOf(sessionOf([records])).runs[0]?.items ?? []
  expect(items.filter(({ status }) => status === 'open')).toMatchObject([
    { kind: 'wait', label: 'For an answer at a limit', endMs: null },
  ])
})

test('a pause appears with its length on the timeline, and at its position in the transcript', async () => {
  const records = await pausedRun('raise')
  const session = sessionOf([records])
  const [item, ...others] = viewOf(session).runs[0]?.items.filter(({ waitedMs }) => waitedMs !== undefined) ?? []
  expect(others).toEqual([])
  const text = 'Paused 30 min 0 s at the limit of turns (2 of 2): raised to 4'
  expect(item).toMatchObject({ kind: 'wait', label: text, status: 'raised', waitedMs: hour / 2 })
  expect(item?.endMs).toBe(item?.startMs)
  const parts = transcriptParts(session, 0)
  expect(item?.part).toBe(parts.findIndex((part) => part.kind === 'note' && part.text === `${text}.`))
  const exported = [...markdownOf(sessionTranscript({ sessionId: 's', cwd: '', runs: [records] }), 'x')].join('')
  expect(exported).toContain(`${text}.`)
  expect(exported).toContain('Paused at limits: ` 30 min 0 s, 1 pause `')
  const lines = records.flatMap((record) => replayLines(record, begunAt)).map(({ text: line }) => line)
  expect(lines).toContain('Raise the limit? Reached maximum number of turns (2)')
})

test('arbitrary records of pauses throw nothing and give no negative figure', async () => {
  const recorded = await pausedRun('raise')
  const nonsense = fc.oneof(
    fc.constantFrom(null, -1, 1e300, begunAt, 'maxTurns', 'maxRunUsd', '__proto__', true, {}, [], 'woken', 'settings'),
    fc.integer({ min: -1e13, max: 1e13 }),
  )
  const names = ['limit', 'used', 'of', 'sinceMs', 'untilMs', 'outcome', 'why', 'message']
  const value = fc.oneof(
    nonsense,
    fc.record(Object.fromEntries(names.map((name) => [name, nonsense])), { requiredKeys: [] }),
  )
  const key = fc.constantFrom(...['question', 'answer', 'end'].map((what) => `run1/limit_${what}:2:maxTurns:1`))
  fc.assert(
    fc.property(fc.array(fc.tuple(key, value, fc.nat()), { maxLength: 8 }), fc.boolean(), (added, isOpen) => {
      const records: StepRecord[] = recorded.slice(0, isOpen ? -1 : undefined)
      for (const [name, result, at] of added) {
        const record = { type: 'result', key: name, digest: null, value: result, at: begunAt, durationMs: 0 } as const
        records.splice(1 + (at % (records.length - 1)), 0, record)
      }
      const { limitPauses } = accountOf(records)
      expect((limitPauses?.pauses ?? []).every(({ waitedMs }) => waitedMs >= 0 && Number.isFinite(waitedMs))).toBe(true)
      const open = limitPauses?.open
      const texts = [...limitPauseFacts(limitPauses), ...(open === undefined ? [] : [openPauseText(open, begunAt)])]
      expect(texts.join(' ')).not.toMatch(/NaN|undefined|Infinity/)
      expect(viewOf(sessionOf([records])).runs).toHaveLength(1)
    }),
    { numRuns: 60 },
  )
})
