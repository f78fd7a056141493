// Holds R-WHYW-1 to R-WHYW-4 of docs/spec: waits for services in accounts, on the timeline, in transcripts and replays.
import { replay, tool, type StepRecord } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { accountOf } from '../../src/account/account.ts'
import { serviceWaits } from '../../src/account/service-waits.ts'
import { htmlOf, markdownOf } from '../../src/export/index.ts'
import { ReportCollector } from '../../src/report/report-collector.ts'
import { reportHtml } from '../../src/report/report-html.ts'
import { transcriptParts } from '../../src/view/parts.ts'
import { replayLines } from '../../src/view/replay-lines.ts'
import { sessionTranscript } from '../../src/view/session-transcript.ts'
import { viewOf } from '../../src/view/view.ts'
import { elapsed } from '../../src/words/figures.ts'
import { openWaitText, retryAtText, serviceWaitFacts } from '../../src/words/service-words.ts'
import {
  begunAt,
  calls,
  hour,
  isWaitBegun,
  limited,
  newClock,
  outage,
  resumedRun,
  says,
  serviceRun,
  tools,
} from '../support/service-runs.ts'
import { sessionOf } from '../support/sessions.ts'

const totalWaitMs = (records: readonly StepRecord[]): number =>
  records.reduce((ms, record) => {
    if (record.type !== 'result' || !record.key.endsWith('.service')) return ms
    return ms + (record.value as { readonly waitedMs: number }).waitedMs
  }, 0)

test('an account has the waits of a run by model and cause, separate from active time', async () => {
  const records = await serviceRun([limited(), limited(), outage, outage, calls('Look'), says('done')], {
    maxRetries: 1,
  })
  const { serviceWaits: waits, totals, phases, ending } = accountOf(records)
  expect(ending).toMatchObject({ reason: 'completed' })
  expect(ending).not.toHaveProperty('retryAt')
  expect(waits).toMatchObject({
    waits: 4,
    ms: totalWaitMs(records),
    maxMs: 8 * hour,
    ends: { over: 4, retried: 0, model: 0, stopped: 0, aborted: 0 },
    causes: [
      { model: 'claude-x', kind: 'rate_limit', status: 429, waits: 2 },
      { model: 'claude-x', kind: 'server_error', status: 503, waits: 2 },
    ],
  })
  expect(waits?.ms).toBeGreaterThan(2 * hour)
  expect(totals.activeMs).toBeLessThan(60_000)
  expect(phases.reduce((sum, { ms }) => sum + ms, 0)).toBe(totals.activeMs)
  expect(serviceWaitFacts(waits)).toEqual([
    `Waited ${elapsed(waits?.ms ?? 0)} of at most 8 h for services, 4 times. This does not count as active time.`,
    `claude-x (429 rate_limit): ${elapsed(waits?.causes[0]?.ms ?? 0)}, twice.`,
    `claude-x (503 server_error): ${elapsed(waits?.causes[1]?.ms ?? 0)}, twice.`,
  ])
})

test('a run without waits has none', async () => {
  const records = await serviceRun([says('done')])
  expect(accountOf(records)).not.toHaveProperty('serviceWaits')
  expect(serviceWaitFacts(undefined)).toEqual([])
})

test('an ending at a service says when it accepts requests again, and whether that is past', async () => {
  const { ending } = accountOf(await serviceRun([limited()], { waitForLimitsMs: 0 }))
  expect(ending).toMatchObject({ reason: 'model_error', retryAt: '2026-11-28T13:00:00.000Z' })
  const text = (now: number) => (ending === null ? undefined : retryAtText(ending, now))
  expect(text(begunAt)).toMatch(/^The service accepts requests again at 2026-11-\d\d \d\d:00, in 1 h\.$/)
  expect(text(begunAt + hour)).toMatch(/^The service accepts requests again since 2026-11-\d\d \d\d:00\.$/)
  expect(retryAtText({}, begunAt)).toBeUndefined()
})

test('a run that was killed in a wait is still waiting, and has waited all the time once it continues', async () => {
  const killed = await serviceRun([limited()], { killedBehind: isWaitBegun })
  const { serviceWaits: waits, ending, open } = accountOf(killed)
  expect(ending).toBeNull()
  expect(waits).toMatchObject({ waits: 0, ms: 0, open: [{ model: 'claude-x', status: 429, sinceMs: begunAt }] })
  expect(open.map(({ what, phase }) => [what, phase])).toEqual([['wait for the service', 'waiting']])
  const [wait] = waits?.open ?? []
  const text = (now: number) => (wait === undefined ? '' : openWaitText(wait, now))
  expect(text(begunAt)).toMatch(
    /^Waiting for claude-x \(429 rate_limit\) until 2026-11-\d\d \d\d:\d\d, for 1 h.* more: too many requests\.$/,
  )
  expect(text(begunAt + 2 * hour)).toMatch(/ \(already past\): too many requests\.$/)
  const records = await resumedRun(killed, [says('done')], { clock: newClock(begunAt + hour / 2) })
  const after = accountOf(records)
  expect(after.serviceWaits).toMatchObject({ waits: 1, ms: (wait?.untilMs ?? 0) - begunAt })
  expect(after.serviceWaits).not.toHaveProperty('open')
})

test('agents that wait at the same time count as one wait', async () => {
  const records = await serviceRun([calls('Agent', 'Agent'), limited(), limited(), says('a'), says('b'), says('done')])
  const { serviceWaits: waits } = accountOf(records)
  expect(waits?.waits).toBe(2)
  expect(waits?.causes).toMatchObject([{ waits: 2 }])
  expect(waits?.ms).toBeLessThan((waits?.causes[0]?.ms ?? 0) - hour / 2)
  expect(waits?.ms).toBeGreaterThanOrEqual(waits?.longestMs ?? Infinity)
  expect(serviceWaits(records).every(({ scope }) => scope.startsWith('agent:'))).toBe(true)
})

test('a wait of a question names the model that was asked', async () => {
  const asking = tool({
    name: 'Ask',
    description: '',
    readOnly: true,
    asksModel: true,
    execute: async (_input, { ask }) => {
      await ask?.({ system: '', messages: [{ role: 'user', content: 'why?' }], maxOutputTokens: 100 })
      return 'asked'
    },
  })
  const records = await serviceRun([calls('Ask'), limited(), says('because'), says('done')], { tools: [asking] })
  expect(serviceWaits(records)).toMatchObject([{ model: 'claude-x', status: 429, outcome: 'over', scope: '' }])
})

test('a wait appears with its length and cause on the timeline, and precedes the reply in the transcript', async () => {
  const records = await serviceRun([calls('Look'), limited(), says('done')])
  const session = sessionOf([records])
  const [run] = viewOf(session).runs
  const [item, ...others] = run?.items.filter(({ waitedMs }) => waitedMs !== undefined) ?? []
  expect(others).toEqual([])
  expect(item).toMatchObject({
    kind: 'wait',
    label: 'For claude-x (429 rate_limit)',
    status: 'over',
    waitedMs: totalWaitMs(records),
  })
  expect(item?.endMs).toBe(item?.startMs)
  const parts = transcriptParts(session, 0)
  const text = `Waited ${elapsed(totalWaitMs(records))} for claude-x (429 rate_limit).`
  expect(parts.map((part) => (part.kind === 'note' ? part.text : part.kind))).toEqual([
    'person',
    'call',
    text,
    'answer',
  ])
  expect(item?.part).toBe(2)
  const exported = sessionTranscript({ sessionId: 's', cwd: '/a', runs: [records] })
  for (const page of [markdownOf(exported, 'x'), htmlOf(exported, 'x', { says: '' })]) {
    const shown = [...page].join('')
    expect(shown).toContain(text)
    expect(shown).toMatch(/Waited for services(: ` |<\/dt><dd dir="auto">)1 h.*, 1 wait/)
  }
  const lines = records.flatMap((record) => replayLines(record, begunAt))
  expect(lines.filter(({ what }) => what === 'wait').map((line) => line.text)).toEqual([
    `Waited ${elapsed(totalWaitMs(records))} for the service`,
  ])
})

test('a stopped wait is shown, also at the end of a transcript without a reply', async () => {
  const killed = await serviceRun([calls('Look'), limited()], { killedBehind: isWaitBegun })
  const view = viewOf(sessionOf([killed])).runs[0]
  expect(view?.items.filter(({ status }) => status === 'open')).toMatchObject([
    { kind: 'wait', label: 'For claude-x (429 rate_limit)', endMs: null },
  ])
  const asked = accountOf(await resumedRun(killed, [], { signal: AbortSignal.abort() }))
  expect(asked.serviceWaits?.ends).toMatchObject({ over: 0, aborted: 1 })
  expect(serviceWaitFacts(asked.serviceWaits)).toContain('Ended early by an abort: once.')
})

test('a replay does not wait again, and shows each wait with its length and what ended it', async () => {
  const script = [limited(), calls('Look'), limited(2 * hour), says('done')]
  const records = await serviceRun(script)
  const options = { model: scriptedModel(script, { id: 'claude-x' }), tools, waitForLimitsMs: 8 * hour }
  // Its clock does not advance: a wait that really happened would never end.
  const { events, terminal } = await replay(records, options)
  expect(terminal.reason).toBe('completed')
  const waited = events.flatMap((event) => (event.type === 'service_waited' ? [[event.outcome, event.waitedMs]] : []))
  expect(waited).toEqual(serviceWaits(records).map(({ outcome, waitedMs }) => [outcome, waitedMs]))
  expect(waited).toHaveLength(2)
})

// Arbitrary content of a file.

const nonsense = fc.oneof(
  fc.constantFrom(null, -1, 0, 1e300, -1e300, begunAt, 'x', '', true, {}, [], 'over', 'aborted'),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -1e13, max: 1e13 }),
)
const fields = (names: readonly string[]) =>
  fc.record(Object.fromEntries(names.map((name) => [name, nonsense])), { requiredKeys: [] })
const key = fc.constantFrom(
  'run1/retry:1.1.service',
  'run1/retry:2.1.service',
  'run1/retry:.service',
  'run1/hook:x/retry:1.1.service',
  'run1/agent:1:0:a/retry:1.1.service',
  'run1/tool:1:0:a.service',
  'run1/tool:1:0:x/retry:1.1.service',
)
const hostile = fc.oneof(
  fc.tuple(key, fields(['since', 'until']), nonsense).map(([name, moments, at]) => ({
    type: 'intent',
    key: name,
    digest: null,
    intent: moments,
    at: typeof at === 'number' ? at : 0,
  })),
  fc.tuple(key, fields(['outcome', 'why', 'waitedMs', 'endedMs', 'kind']), nonsense).map(([name, value, ms]) => ({
    type: 'result',
    key: name,
    digest: null,
    value,
    at: begunAt,
    durationMs: typeof ms === 'number' ? Math.max(0, ms) : 0,
  })),
  fc.tuple(fields(['kind', 'status', 'message']), fields(['model'])).map(([error, charge]) => ({
    type: 'result',
    key: 'run1/model:1.1',
    digest: null,
    value: { kind: 'failed', error, charge },
    at: begunAt,
    durationMs: 0,
  })),
)

test('arbitrary records of waits throw nothing and give no negative figure', async () => {
  const recorded = await serviceRun([limited(), calls('Look'), limited(), says('done')])
  const before = accountOf(recorded).totals
  fc.assert(
    fc.property(fc.array(fc.tuple(hostile, fc.nat()), { maxLength: 8 }), fc.boolean(), (added, isOpen) => {
      const records: StepRecord[] = recorded.slice(0, isOpen ? -1 : undefined)
      // The content of a file may be anything.
      for (const [record, at] of added)
        records.splice(1 + (at % (records.length - 1)), 0, record as unknown as StepRecord)
      const account = accountOf(records)
      const { ms = 0, longestMs = 0, waits = 0, causes = [] } = account.serviceWaits ?? {}
      const figures = [ms, longestMs, waits, ...causes.flatMap((cause) => [cause.ms, cause.longestMs])]
      expect(figures.every((figure) => figure >= 0 && Number.isFinite(figure))).toBe(true)
      expect(causes.reduce((sum, cause) => sum + cause.ms, 0)).toBeGreaterThanOrEqual(ms)
      const isSame = account.totals.turns === before.turns && account.totals.activeMs === before.activeMs
      expect(isOpen || isSame).toBe(true)
      for (const wait of account.serviceWaits?.open ?? []) expect(openWaitText(wait, begunAt)).not.toContain('NaN')
      const session = sessionOf([records])
      for (const { waitedMs = 0 } of viewOf(session).runs[0]?.items ?? []) expect(waitedMs).toBeGreaterThanOrEqual(0)
      const exported = sessionTranscript({ sessionId: 's', cwd: '', runs: [records] })
      expect([...markdownOf(exported, 'x')].join('')).not.toContain('NaN')
      expect([...htmlOf(exported, 'x', { says: '' })].join('')).not.toContain('undefined')
      const collector = new ReportCollector({ since: null, until: null })
      const plainSession = { sessionId: 's', cwd: '', runs: [records], began: [begunAt], unpriced: [[]] }
      collector.add(plainSession, { file: '/s.jsonl' })
      const report = collector.report('of this folder', [], begunAt)
      expect(report.serviceWaits.ms).toBeGreaterThanOrEqual(0)
      expect([...reportHtml(report)].join('')).not.toContain('NaN')
    }),
    { numRuns: 60 },
  )
})
