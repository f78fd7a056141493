// Holds rules of docs/spec: R-PAUSE-14.
import type { LimitAnswer, LimitRequest } from '@halting/core'
import { checkedLimitAnswer } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { limitQuestionView } from '../../src/terminal/view/limit-question.ts'
import { answerDelay, key, startApp } from './app-support.ts'
import { plainStyle, renderBlocks } from './view-support.ts'

const request: LimitRequest = {
  id: 'q',
  limit: 'maxRunUsd',
  used: 9.98,
  of: 10,
  needed: 10.4,
  most: 30,
  offers: [{ to: 15 }, { to: 20 }],
  message: 'Reached the dollar limit of the run ($10)',
  sinceMs: 0,
  untilMs: null,
}

function showQuestion(more: Partial<LimitRequest> = {}, wallTime = () => 0) {
  const answers: LimitAnswer[] = []
  const view = limitQuestionView({
    request: { ...request, ...more },
    answer: (answer) => void answers.push(checkedLimitAnswer(request, answer)),
    wallTime,
    changed: () => undefined,
    style: plainStyle,
  })
  return {
    answers,
    press: (...data: readonly string[]) => data.forEach((each) => view.handleInput?.(each)),
    screen: () => renderBlocks([view], 80),
  }
}

describe('the question at a limit', () => {
  test('shows what is used and needed, and offers higher limits', () => {
    const { screen } = showQuestion()
    expect(screen()).toBe(
      [
        '─'.repeat(80),
        '? Raise the dollar limit of this run? $9.98 of $10.00 used; the next request',
        '  needs $10.40.',
        ' 1 Raise to $15.00 · 2 Raise to $20.00 · o another value · n stop here',
      ].join('\n'),
    )
  })

  test('counts down if the wait for an answer is limited', () => {
    expect(showQuestion({ untilMs: 90_000 }, () => 30_000).screen()).toContain('the run stops in 1:00.')
  })

  test.each<[string, readonly string[], readonly LimitAnswer[]]>([
    ['a number raises it', ['2'], [{ raise: { maxRunUsd: 20 } }]],
    ['n ends the run', ['n'], [{ end: true }]],
    ['Esc ends the run', [key.escape], [{ end: true }]],
    ['Enter does nothing', [key.enter], []],
    ['o takes another value', ['o', '1', '2', key.enter], [{ raise: { maxRunUsd: 12 } }]],
    ['Esc leaves the other value', ['o', '1', key.escape, '1'], [{ raise: { maxRunUsd: 15 } }]],
  ])('%s', (_what, keys, expected) => {
    const { press, answers } = showQuestion()
    press(...keys)
    expect(answers).toEqual(expected)
  })

  test('reports an invalid value, and stays open', () => {
    const { press, screen, answers } = showQuestion()
    press('o', '9', key.enter)
    expect(screen()).toContain('maxRunUsd must be above 10, as it was')
    press(key.backspace, 'x', key.enter)
    expect(screen()).toContain('Enter a number of US dollars')
    expect(answers).toEqual([])
  })
})

test('the interactive program asks during the run, and continues when the limit is raised', async () => {
  const read = (offset: number) => ({
    content: [{ type: 'tool_use', name: 'Read', input: { file_path: 'a.txt', offset, limit: 1 } }],
  })
  const {
    terminal,
    say,
    type,
    settled,
    sessions: opened,
  } = await startApp({
    files: { 'a.txt': 'line\n'.repeat(9) },
    replies: [read(1), read(2), read(3), { content: 'Done.' }],
    flags: { maxTurns: 2, onLimit: 'pause' },
  })
  say('go')
  await terminal.waitFor('Raise the turn limit of this run?')
  await answerDelay()
  type('2')
  await settled()
  await terminal.waitFor('Done.')
  expect(opened[0]?.session.snapshot).toMatchObject({ last: { reason: 'completed' }, limits: { maxTurns: 4 } })
})
