// Holds rules of docs/spec: R-CLU-10b.
import { expect, test } from 'vitest'
import { findOpenRun, unreportedResults } from '../../src/service/sessions-of-process.ts'
import { recordSession } from '../support/record-session.ts'

test('the result of a run whose process was lost before its report is restored from the records', async () => {
  const { events, records } = await recordSession()
  const [reported] = events.flatMap((event) => (event.type === 'run_end' ? [event.result] : []))
  const [made] = unreportedResults('s', [], records, new Set())
  // The records do not have the context windows of models.
  const { modelUsage: _, ...result } = { ...reported }
  expect(made).toMatchObject({ runId: 'run1', result })
  expect(unreportedResults('s', [], records, new Set(['run1']))).toEqual([])
  expect(findOpenRun(records)).toBe(undefined)
})

test('an open run lists the messages in it', async () => {
  const { records } = await recordSession()
  const open = records.filter(({ type }) => type !== 'end')
  expect(findOpenRun(open)).toEqual({ runId: 'run1', ids: ['p'], isWithoutMessage: false })
  expect(unreportedResults('s', [], open, new Set())).toEqual([])
})
