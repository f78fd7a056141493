// Holds R-GOAL-81 and R-GOAL-84: the state of the goals of a run is derived from its record alone, the same for every reader.
import { describe, expect, test } from 'vitest'
import { accountOf, goalRounds } from '../../src/index.ts'
import { htmlOf } from '../../src/export/html.ts'
import { markdownOf } from '../../src/export/markdown.ts'
import { keyedParts } from '../../src/view/parts.ts'
import { timelineOf } from '../../src/view/items.ts'
import { viewOf } from '../../src/view/view.ts'
import { partsOfMessages, sessionTranscript, type Part } from '../../src/view/session-transcript.ts'
import { checkTail, checkText, goalFacts, goalName } from '../../src/words/goal-words.ts'
import type { GoalFigures } from '../../src/account/goal.ts'
import { replayLines } from '../../src/view/replay-lines.ts'
import { failed, filesOf, goalOf, goalRun, passed, workingOptions } from '../support/goal-runs.ts'
import { sessionOf } from '../support/sessions.ts'
import { killedAfter } from '../../../core/test/support/kill-process.ts'

const factsOf = async (given: Parameters<typeof goalRun>[0]): Promise<readonly string[]> => {
  const { goal } = accountOf((await goalRun(given)).records)
  return goal === undefined ? [] : goalFacts(goal).filter((fact) => !fact.startsWith('Checked '))
}

describe('the account of goals', () => {
  test('has what the result of the run says about its goals, and more', async () => {
    const { terminal, records } = await goalRun({
      until: [goalOf(failed(), failed('two\nlines'), passed)],
      maxGoalTries: 4,
    })
    const { goal, limits, phases } = accountOf(records)
    expect(goal).toEqual({
      ...terminal.goal,
      goals: [{ name: 'npm test' }],
      maxTries: 4,
      rounds: { made: 3, failed: 2, ms: 0 },
      lastFailed: expect.objectContaining({ exitCode: 1, tail: 'two\nlines' }),
    })
    expect(limits).toContainEqual({ limit: 'maxGoalTries', unit: 'tries', used: 1, max: 4, isReached: false })
    expect(phases.map(({ phase }) => phase)).toContain('checks')
  })

  test('has the number of tries left as the loop reported it, also at each turn', async () => {
    const { records, events } = await goalRun({
      until: [goalOf(failed(), failed('x'), failed('xx'), passed)],
      maxGoalTries: 5,
    })
    const laps = events.flatMap((event) => (event.type === 'lap' ? [event] : []))
    const { ranking, laps: figures } = accountOf(records)
    expect(ranking.others).toBe(laps.at(-1)?.after[2])
    expect(figures).toContainEqual({ transition: 'goal_unmet', laps: 2, used: 2, allowed: 5 })
    const points = viewOf(sessionOf([records])).runs[0]?.points ?? []
    expect(points.slice(1).map(({ allowancesLeft }) => allowancesLeft['goal_unmet'])).toEqual(
      laps.map(({ left }) => left.goal_unmet),
    )
  })

  test('is absent for a run without goals', async () => {
    const { records } = await goalRun({})
    expect(accountOf(records)).not.toHaveProperty('goal')
  })

  test.each([
    [
      { until: [goalOf(failed(), passed)] },
      ['Met; it was not met at the start.', 'Before that, `npm test` failed with exit code 1: 1 failed.'],
    ],
    [{ until: [goalOf(passed)] }, ['Already met at the start; the run may not have caused it.']],
    [
      { until: [goalOf(failed(), failed('1'), failed('x'))], maxGoalTries: 1 },
      ['Not met after 1 of 1 try; it was not met at the start.', '`npm test` failed with exit code 1.'],
    ],
    [
      { until: [goalOf(failed())], maxDurationMs: 100, tools: [] },
      ['Not met after 2 of 10 tries; it was not met at the start.', '`npm test` failed with exit code 1.'],
    ],
    [
      { until: [goalOf(passed)], goalFiles: filesOf(['package.json (scripts.test)']), maxGoalTries: 1 },
      [
        'Not met after 1 of 1 try; it was not met at the start.',
        'The definition of the check changed, so the goal is not met: package.json (scripts.test).',
      ],
    ],
    [
      { until: [goalOf(failed(), passed)], goalFiles: filesOf([], ['a.test.ts', 'b.test.ts']) },
      [
        'Met; it was not met at the start.',
        'Before that, `npm test` failed with exit code 1: 1 failed.',
        'The agent changed 2 test files: a.test.ts, b.test.ts.',
      ],
    ],
    [
      { until: [{ ...goalOf(passed, failed(), passed), stable: 2 }] },
      [
        'Met; it was not met at the start.',
        'Before that, `npm test` failed with exit code 1 in pass 2: 1 failed.',
        'The check is flaky: its verdict changed although no file changed. Use --until-stable 2 to require two passes in a row.',
      ],
    ],
    [
      { until: [{ ...goalOf(failed(), passed), name: 'it is nice', judged: true }] },
      [
        'Met; it was not met at the start.',
        'Before that, it is nice (judged by a model) is not met: 1 failed.',
        'A model judged it, which is less reliable than a program.',
      ],
    ],
  ])('is written as sentences: %#', async (given, sentences) => {
    expect(await factsOf(given as never)).toEqual(sentences)
  })

  test('has what is known so far for a run that was killed after any record', async () => {
    const given = () => ({ ...workingOptions(), until: [goalOf(failed(), failed('x'), passed)], maxGoalTries: 3 })
    const { records: whole } = await goalRun(given())
    for (let count = 1; count < whole.length; count++) {
      const records = await killedAfter(count, given())
      const { goal, limits } = accountOf(records)
      expect([goal?.met, goal?.whyUnknown, goal?.maxTries]).toEqual(['unknown', 'not_ended', 3])
      expect(goal?.rounds.made).toBe(goalRounds(records).length)
      expect(limits.find(({ limit }) => limit === 'maxGoalTries')).toMatchObject({ used: goal?.tries, max: 3 })
      expect(
        sessionTranscript({ sessionId: 's', cwd: '', runs: [records] }).runs[0]?.parts.filter(isCheck),
      ).toHaveLength(goalRounds(records).length)
    }
  })

  test('says why it is unknown whether a goal is met', async () => {
    const slow = async (): Promise<never> => new Promise(() => {})
    const { records, terminal } = await goalRun({ until: [goalOf(failed(), slow)], maxDurationMs: 5_000 })
    expect(terminal.reason).toBe('time_limit')
    // The result of the running check is unknown.
    const rounds = { made: 1, failed: 1 }
    expect(accountOf(records).goal).toMatchObject({ met: 'unknown', whyUnknown: 'changed', rounds })
    expect(kindsOf(partsOfMessages([records], 0)).filter((kind) => kind === 'aborted')).toHaveLength(1)
  })
})

const isCheck = (part: Part): boolean => part.kind === 'check'
const kindsOf = (parts: readonly Part[]): readonly string[] =>
  parts.map((part) => (part.kind === 'check' ? part.status : part.kind === 'person' ? part.by : part.kind))

describe('check rounds', () => {
  test('are between the messages, before the message of the loop about them', async () => {
    const { records } = await goalRun({ until: [goalOf(failed(), failed('why'), passed)] })
    const parts = partsOfMessages([records], 0)
    expect(kindsOf(parts)).toEqual([
      'Prompt',
      'unmet',
      'From the loop',
      'call',
      'answer',
      'unmet',
      'From the loop',
      'call',
      'answer',
      'met',
    ])
    expect(parts[5]).toEqual({
      kind: 'check',
      status: 'unmet',
      text: 'Check of the answer: not met, 0 ms: `npm test` failed with exit code 1',
      more: 'why',
    })
  })

  test('at a limit are last, and checks after a turn follow its results', async () => {
    const limited = await goalRun({ until: [goalOf(failed())], maxTurns: 1 })
    expect(kindsOf(partsOfMessages([limited.records], 0))).toEqual([
      'Prompt',
      'unmet',
      'From the loop',
      'call',
      'note',
      'unmet',
    ])
    const stopped = await goalRun({ until: [goalOf(failed(), passed)], stopWhenMet: true })
    expect(kindsOf(partsOfMessages([stopped.records], 0))).toEqual(['Prompt', 'unmet', 'From the loop', 'call', 'met'])
  })

  test('are timeline items that point to their transcript parts', async () => {
    const { records } = await goalRun({ until: [goalOf(failed(), failed('why'), passed)] })
    const items = timelineOf(records).filter(({ kind }) => kind === 'check')
    expect(items.map(({ label, status }) => [label, status])).toEqual([
      ['goal: npm test', 'unmet'],
      ['goal: npm test', 'unmet'],
      ['goal: npm test', 'met'],
    ])
    const { parts, places } = keyedParts([records], 0)
    expect(items.map(({ partKey: key = '' }) => parts[places.get(key) ?? -1]?.kind)).toEqual([
      'check',
      'check',
      'check',
    ])
    const [view] = viewOf(sessionOf([records])).runs
    const shown = view?.items.filter(({ kind }) => kind === 'check').map(({ part }) => part)
    expect(shown).toEqual([1, 5, 9])
  })

  test('are lines of a replay', async () => {
    const { records } = await goalRun({ until: [goalOf(failed(), passed)] })
    const lines = records.flatMap((record) => replayLines(record, 0)).filter(({ what }) => what === 'goal')
    expect(lines.map(({ text }) => text)).toEqual([
      'Check before the first request: not met, 0 ms: `npm test` failed with exit code 1',
      'Check of the answer: met, 0 ms: `npm test`',
    ])
  })

  test('are in the exports with the verdict, and no report is markup', async () => {
    const report = '</pre><script>alert(1)</script> ``` & <b>'
    const { records } = await goalRun({ until: [goalOf(failed(), failed(report), passed)] })
    const session = sessionTranscript({ sessionId: 's', cwd: '/p', runs: [records] })
    const markdown = [...markdownOf(session, 'title')].join('')
    expect(markdown).toContain('- Goal: `` `npm test` ``')
    expect(markdown).toContain('- Goal met: ` Met after 1 of 10 tries; it was not met at the start. `')
    expect(markdown).toContain('Check of the answer: not met')
    const html = [...htmlOf(session, 'title', { says: '' })].join('')
    expect(html).toContain('Met after 1 of 10 tries; it was not met at the start.')
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(html).not.toContain('<script>alert')
  })

  test('that ask a judge appear once each, with the time of the questions', async () => {
    let asked = 0
    const judge = {
      name: 'it is nice',
      judged: true,
      check: async ({ ask }: Parameters<ReturnType<typeof goalOf>['check']>[0]) => {
        await ask({ system: 'judge', messages: [{ role: 'user', content: 'Is it?' }], maxOutputTokens: 50 })
        return asked++ > 0 ? passed : failed()
      },
    }
    const { records } = await goalRun({ until: [judge] })
    expect(goalRounds(records).map(({ place, met }) => [place, met])).toEqual([
      ['baseline', false],
      ['answer', true],
    ])
    const { phases } = accountOf(records)
    expect(phases.find(({ phase }) => phase === 'checks')).toMatchObject({ requests: 2 })
  })
})

test('a record from an untrusted file is described in bounded length', () => {
  const long = '😀'.repeat(500_000)
  const files = Array.from({ length: 10_000 }, (_, index) => `${index}${long.slice(0, 1_000)}`)
  const check = { name: long, met: false, exitCode: 1, durationMs: 1, tail: long }
  const goal: GoalFigures = {
    goals: [{ name: long }],
    met: false,
    tries: 3,
    maxTries: null,
    baseline: null,
    checks: [check],
    tampered: files,
    changedTests: files,
    flaky: true,
    rounds: { made: 1, failed: 1, ms: 5 },
    lastFailed: check,
  }
  const facts = [...goalFacts(goal), goalName({ name: long }), checkText(check), checkTail(check)]
  expect(facts[0]).toBe('Not met after 3 tries; it was not checked at the start.')
  expect(Math.max(...facts.map(({ length }) => length))).toBeLessThan(3_000)
  expect(facts.filter((fact) => /\p{Surrogate}/u.test(fact))).toEqual([])
})
