// Holds a rule of docs/spec: R-WORK-8
import { expect, test } from 'vitest'
import { sessionFacts } from '../../src/cluster/list-text.ts'

test('removes terminal controls from the names of calls', () => {
  const questions = [{ callId: 'a\u001B[2J\u001B]0;title\u0007\nb', key: 'k' }]
  const session = {
    sessionId: 's',
    state: 'requires_action',
    turns: 1,
    usd: 0,
    tokens: 0,
    questions,
    records: 1,
  } as const
  const line = sessionFacts(session, 0)
  // oxlint-disable-next-line no-control-regex
  expect(line).not.toMatch(/[\u0000-\u001F\u007F-\u009F]/)
})
