// Holds rules of docs/spec: R-TERM-24, R-TERM-25, R-TERM-26.
import { endings, type EndingReason } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { actionFor, endingShown } from '../../src/terminal/view/ending-block.ts'
import { noLimits, plainStyle, renderBlocks, terminal } from './view-support.ts'

const limits = {
  maxTurns: 40,
  maxBudgetUsd: 1,
  maxTotalTokens: null,
  maxDurationMs: null,
  maxRunUsd: null,
  maxToolCalls: null,
}
const todos = [
  { content: 'fix the test', status: 'completed' },
  { content: 'update the changelog', status: 'pending' },
] as const

function ending(reason: EndingReason, context: object = {}, message = '', more: object = {}) {
  const input = {
    terminal: { ...terminal(reason, context, message), ...more },
    changes: '2 files changed +12 −3',
    todos,
    limits,
  }
  return endingShown({ ...input, canResume: true, canUndo: true }, plainStyle)
}

const text = (...given: Parameters<typeof ending>): string => renderBlocks([ending(...given).block], 100)

describe('the ending of a run', () => {
  test('of a success is one line, with what was left undone', () => {
    const done = endingShown(
      { terminal: terminal('completed'), changes: '', todos: [], limits: noLimits, canResume: false },
      plainStyle,
    )
    expect(renderBlocks([done.block])).toBe('✓ done · 7 turns · $0.31 · 2:10')
    expect(done.actions).toEqual([])
    expect(text('completed')).toBe(
      '✓ done · 7 turns · $0.31 · 2:10 · 2 files changed +12 −3\n  Not done: "update the changelog".',
    )
  })

  test('names an unchecked last change in one quiet line, except after an interruption (spec R-VERI-23)', () => {
    const reminder = 'No check has passed since the last change.'
    expect(text('completed', {}, '', { verified: false })).toBe(
      `✓ done · 7 turns · $0.31 · 2:10 · 2 files changed +12 −3\n  ${reminder}\n  Not done: "update the changelog".`,
    )
    expect(text('max_turns', { used: 40, limit: 40 }, '', { verified: false }).replaceAll(/\s+/g, ' ')).toContain(
      reminder,
    )
    for (const reason of ['aborted_streaming', 'needs_approval'] as const)
      expect(text(reason, {}, '', { verified: false })).not.toContain('No check')
    for (const verified of [true, 'nothing changed', undefined])
      expect(text('completed', {}, '', { verified })).not.toContain('No check')
  })

  test('at a limit shows figures, unfinished todos, and how to continue', () => {
    const context = { used: 0.97, limit: 1, neededUsd: 0.08, limitNeededUsd: 1.05 }
    expect(text('max_budget_usd', context, '', { costUsd: 0.92, committedUsd: 0.97 })).toBe(
      `■ Stopped: the dollar budget is used up. $0.97 of $1.00, the next request could cost $0.08.
  [max_budget_usd]
  7 turns, $0.92, up to $0.97, up to 12,345 tokens, 2:10, 2 files changed +12 −3. Not done: "update
  the changelog".
  ↵ +$0.50 and continue   t↵ the same, and +20 turns   w↵ final answer   y↵ /why   or type a prompt`,
    )
  })

  test('at the dollar limit of the run says what Enter does, and where to set it (spec R-LIM-8)', () => {
    const context = { used: 9.97, limit: 10, neededUsd: 0.08, limitNeededUsd: 10.05, of: 'run' }
    const limitText = (given: object): string => {
      const { block } = endingShown(
        {
          terminal: { ...terminal('max_budget_usd', given), costUsd: 9.97, committedUsd: 9.97 },
          changes: '',
          todos: [],
          limits: { ...noLimits, maxRunUsd: 10 },
          canResume: true,
        },
        plainStyle,
      )
      return renderBlocks([block], 110)
    }
    expect(limitText(context)).toBe(
      `■ Stopped: the dollar limit of the run is reached. $9.97 of $10.00, the next request could cost $0.08.
  [max_budget_usd]
  7 turns, $9.97, 12,345 tokens, 2:10.
  Enter raises the limit to $15.00 a run in this session and continues. For another value: /limits run-usd N
  (none: no limit). For all sessions: limits.maxRunUsd in your settings.
  ↵ +$5.00 and continue   w↵ final answer   y↵ /why   or type a prompt`,
    )
    expect(limitText({ ...context, neededUsd: 30, limitNeededUsd: 39.97 })).toContain(
      'Enter raises the limit to $39.97',
    )
  })

  test('at a standing budget shows its name and reset, and raises nothing (spec R-LIM-8)', () => {
    const used = { used: 19.99, limit: 20, neededUsd: 0.5 }
    const context = { ...used, budget: '$20 a day', resetsAt: '2026-11-30T00:00:00+01:00' }
    const { block, actions } = endingShown(
      {
        terminal: terminal('max_budget_usd', context, 'It says why', 'standing'),
        changes: '',
        todos: [],
        limits: { ...noLimits, maxRunUsd: 10 },
        canResume: true,
      },
      plainStyle,
    )
    const rendered = renderBlocks([block], 200)
    expect(rendered).toContain(
      '■ Stopped: the budget of $20 a day has too little left for the next request. $19.99 of $20.00, the next request could cost $0.50.',
    )
    expect(rendered).toContain(
      'It resets at 2026-11-30T00:00:00+01:00. Wait for the reset, raise the budget in your settings, or ignore it with --ignore-standing-budgets. halting budget shows what is left.',
    )
    // Neither more work nor a last answer is possible, so no action is left.
    expect(actions.map(({ typed }) => typed)).toEqual(['y'])
  })

  test('keeps each action whole at 33 columns', () => {
    const { block } = ending('max_turns', { used: 40, limit: 40 })
    expect(renderBlocks([block], 33)).toBe(`■ Stopped: the turn limit is
  reached. 40 of 40 turns.
  [max_turns]
  7 turns, $0.31, 12,345 tokens,
  2:10, 2 files changed +12 −3.
  Not done: "update the
  changelog".
  ↵ +20 turns and continue
  w↵ final answer   y↵ /why
  or type a prompt`)
  })

  test('has a sentence and actions for every reason', () => {
    // Typical figures for each limit.
    const contexts: Partial<Record<EndingReason, object>> = {
      max_turns: { used: 40, limit: 40 },
      max_tool_calls: { used: 40, limit: 40 },
      max_budget_usd: { used: 1, limit: 1 },
      token_limit: { used: 95_000, limit: 100_000, needed: 9_000, limitNeeded: 104_000 },
      time_limit: { used: 600_000, limit: 600_000 },
      needs_approval: { pending: [{ id: 'c1', name: 'Bash', message: 'no rule allows it' }] },
      blocking_limit: { used: 199_000, limit: 197_000 },
      goal_unmet: { used: 10, limit: 10, cause: 'tries' },
    }
    const rows = (Object.keys(endings) as EndingReason[]).map((reason) => {
      const { block, actions } = ending(reason, contexts[reason] ?? {}, 'It says why')
      const [first = ''] = block.render(200)
      return `${first} | ${actions.map(({ typed, label }) => `${typed}↵ ${label}`).join(', ')}`
    })
    expect(rows).toEqual([
      '✓ done · 7 turns · $0.31 · 2:10 · 2 files changed +12 −3 | ',
      '✓ done (It says why) · 7 turns · $0.31 · 2:10 · 2 files changed +12 −3 | ',
      '■ Stopped: a hook, a guard or a tool requested it. It says why.  [stop_requested] | y↵ /why',
      '■ Stopped: the turn limit is reached. 40 of 40 turns.  [max_turns] | ↵ +20 turns and continue, w↵ final answer, y↵ /why',
      '■ Stopped: the tool call limit is reached. 40 of 40 tool calls.  [max_tool_calls] | ↵ +50 tool calls and continue, t↵ the same, and +20 turns, w↵ final answer, y↵ /why',
      '■ Stopped: the dollar budget is used up. $1.00 of $1.00.  [max_budget_usd] | ↵ +$0.50 and continue, t↵ the same, and +20 turns, w↵ final answer, y↵ /why',
      '■ Stopped: the token limit is reached. 95,000 of 100,000 tokens, the next request could need 9,000.  [token_limit] | ↵ +50,000 tokens and continue, t↵ the same, and +20 turns, w↵ final answer, y↵ /why',
      '■ Stopped: replies kept hitting the output token limit.  [max_output_tokens] | ↵ continue the reply, y↵ /why',
      '■ Stopped: the time limit is reached. 10:00 of 10:00.  [time_limit] | ↵ +10:00 and continue, t↵ the same, and +20 turns, w↵ final answer, y↵ /why',
      '■ Stopped: the agent made no progress. It says why.  [no_progress] | ↵ try another approach, w↵ final answer, y↵ /why',
      '■ Stopped: compaction cannot free enough space. It says why.  [compaction_thrash] | y↵ /why',
      '■ Stopped: the context window is full. 199,000 of 197,000 tokens.  [blocking_limit] | ↵ /compact, y↵ /why',
      '■ Stopped: no answer matched the output schema. It says why.  [structured_output_retry_exhausted] | y↵ /why',
      '■ Stopped: a hook stopped the run after a tool call. It says why.  [hook_stopped] | ↵ continue, y↵ /why',
      '■ Stopped: a stop hook ended the run. It says why.  [stop_hook_prevented] | y↵ /why',
      '■ Stopped: the goal is not met. It says why.  [goal_unmet] | ↵ +10 tries and continue, t↵ the same, and +20 turns, m↵ another model, u↵ undo its file changes, y↵ /why',
      '■ Stopped: a stop hook is not satisfied. It says why.  [stop_hook_unmet] | ↵ continue, y↵ /why',
      '■ Stopped: a tool call is waiting for approval. It says why.  [needs_approval] | allow↵ allow it and continue, deny↵ deny and continue, y↵ /why',
      '■ Stopped: a stop was requested. It says why.  [user_requested] | ↵ continue, y↵ /why',
      '■ Stopped: interrupted while the model was replying. It says why.  [aborted_streaming] | ↵ continue, y↵ /why',
      '■ Stopped: interrupted while tools were running. It says why.  [aborted_tools] | ↵ continue, y↵ /why',
      '■ Stopped: the program reading the output disconnected.  [abandoned] | ↵ continue, y↵ /why',
      '■ Stopped: the conversation is too long for the model. It says why.  [prompt_too_long] | ↵ /compact, y↵ /why',
      '■ Stopped: the model request failed. It says why.  [model_error] | ↵ try again, y↵ /why',
      '■ Stopped: the model refused to answer.  [refusal] | y↵ /why',
      '■ Ended: the model returned no answer.  [no_answer] | ↵ ask for an answer, y↵ /why',
      '■ Stopped: the model rejected an image or a document. It says why.  [image_error] | y↵ /why',
      '■ Stopped: an internal step failed. It says why.  [error] | ↵ try again, y↵ /why',
    ])
  })

  const check = { name: 'npm test', met: true, exitCode: 0, durationMs: 10, tail: '' }
  const goal = {
    met: true,
    tries: 1,
    baseline: false,
    checks: [check],
    tampered: [],
    changedTests: [],
    flaky: false,
  } as const

  test('names a met goal, with remarks', () => {
    expect(text('completed', {}, '', { goal })).toContain('✓ done · goal met: npm test · 7 turns')
    const held = { ...goal, heldFromStart: true, judged: true }
    expect(text('completed', {}, '', { goal: held })).toContain('already met at the start, judged by a model')
    const tested = text('completed', {}, '', { goal: { ...goal, changedTests: ['a.test.js', 'b.test.js'] } })
    expect(tested).toContain('The agent changed 2 test files: a.test.js, b.test.js.')
    expect(text('completed', {}, '', { goal: { ...goal, flaky: true } })).toContain('--until-stable 3')
  })

  test('of an unmet goal names changed check files, and says if the result is unknown', () => {
    const unmetGoal = { ...goal, met: false, tampered: ['package.json (scripts.test)'] }
    expect(text('goal_unmet', { used: 3, limit: 10 }, 'The goal is not met: x', { goal: unmetGoal })).toContain(
      'Protected files of the check changed: package.json (scripts.test).',
    )
    expect(text('aborted_tools', {}, 'x', { goal: { ...goal, met: 'unknown' } })).toContain('is unknown')
  })

  test('names what did not react to an abort', () => {
    expect(text('aborted_tools', {}, 'Interrupted by the user', { stillRunning: ['call_7'] })).toContain(
      'Still running, because they did not react to the abort: call_7.',
    )
  })
})

describe('an offered action', () => {
  test('raises the limit by at least what the next request needs', () => {
    const actionsFor = (reason: EndingReason, context: object): readonly unknown[] =>
      ending(reason, context).actions.map(({ effect }) => effect)
    expect(actionsFor('max_budget_usd', { used: 1, limit: 1, limitNeededUsd: 2.345 })).toEqual([
      { type: 'go_on', limits: { maxBudgetUsd: 2.35 } },
      { type: 'go_on', limits: { maxBudgetUsd: 2.35, maxTurns: 60 } },
      { type: 'last_answer', limits: { maxBudgetUsd: 2.35 } },
      { type: 'why' },
    ])
    expect(actionsFor('max_turns', { used: 40, limit: 40 })[0]).toEqual({ type: 'go_on', limits: { maxTurns: 60 } })
  })

  test('sends an unmet answer back without more tries if some are left, and with more if none are', () => {
    const effects = (context: object): readonly unknown[] =>
      ending('goal_unmet', context).actions.map(({ typed, effect }) => [typed, effect])
    expect(effects({ used: 2, limit: 10, cause: 'asks' })).toEqual([
      ['', { type: 'go_on', limits: {} }],
      ['m', { type: 'another_model', limits: {} }],
      ['u', { type: 'undo' }],
      ['y', { type: 'why' }],
    ])
    expect(effects({ used: 10, limit: 10, cause: 'tries' })).toEqual([
      ['', { type: 'go_on', limits: { maxGoalTries: 20 } }],
      ['t', { type: 'go_on', limits: { maxGoalTries: 20, maxTurns: 60 } }],
      ['m', { type: 'another_model', limits: { maxGoalTries: 20 } }],
      ['u', { type: 'undo' }],
      ['y', { type: 'why' }],
    ])
  })

  test("raises a guard's limit by the amount in the signal, or not at all", () => {
    const input = { changes: '', todos: [], limits: noLimits, canResume: true }
    const offeredActions = (context: object): readonly unknown[] =>
      endingShown({ ...input, terminal: terminal('max_turns', context) }, plainStyle).actions.map(
        ({ effect }) => effect.type,
      )
    expect(offeredActions({ used: 5, limit: 5 })).toEqual(['go_on', 'last_answer', 'why'])
    expect(offeredActions({})).toEqual(['why'])
  })

  test('allows or denies a pending call with a word, not a key', () => {
    const pending = ['c1', 'c2'].map((id) => ({ id, name: 'Bash', message: '' }))
    expect(ending('needs_approval', { pending }).actions.map(({ typed, effect }) => [typed, effect])).toEqual([
      ['allow', { type: 'approve', approvals: { c1: { behavior: 'allow' }, c2: { behavior: 'allow' } } }],
      ['deny', expect.objectContaining({ type: 'approve' })],
      ['y', { type: 'why' }],
    ])
  })

  test('is chosen only if typed alone: a prompt that starts with it is a prompt', () => {
    const { actions } = ending('max_budget_usd', { used: 1, limit: 1 })
    expect(['', ' t ', 'w', 'y', 'try again', 'why', 'x'].map((typed) => actionFor(typed, actions)?.label)).toEqual([
      '+$0.50 and continue',
      'the same, and +20 turns',
      'final answer',
      '/why',
      undefined,
      undefined,
      undefined,
    ])
  })
})
