// Holds rules of docs/spec: R-TERM-23.
import type { SessionEvent } from '@halting/core/session'
import { describe, expect, test } from 'vitest'
import { type StandingFigures, standingBudgetRows } from '../../src/frontends/status-reports.ts'
import { StandingBudgets } from '../../src/terminal/app/open-session.ts'
import { queueLines, statusBar } from '../../src/terminal/app/layout.ts'
import { stopPanel, type PanelSnapshot } from '../../src/terminal/view/stop-panel.ts'
import { noFigures, noLimits, plainStyle, renderBlocks } from './view-support.ts'

const dailyBudget = {
  name: '$20 a day',
  limitUsd: 20,
  settledUsd: 0,
  reservedUsd: 0,
  resetsAt: '2026-11-30T00:00:00+01:00',
}

const running: PanelSnapshot = {
  status: 'running',
  activity: { type: 'asking', model: 'm' },
  limits: { ...noLimits, maxTurns: 40, maxBudgetUsd: 1 },
  figures: {
    ...noFigures,
    turns: 7,
    settledUsd: 0.31,
    sessionUsd: 0.31,
    reservedUsd: 0.05,
    settledTokens: 123_456,
    contextTokens: 92_000,
    contextWindow: 200_000,
    compactsAt: 160_000,
    usedMs: 130_000,
  },
  nextStop: { reason: 'max_budget_usd', turns: 14, isEstimate: true },
  goal: null,
}

function renderPanel(more: Partial<PanelSnapshot> = {}, width = 140): string {
  return renderBlocks(
    [
      stopPanel(
        () => ({ ...running, ...more }),
        plainStyle,
        () => 1_000,
      ),
    ],
    width,
  )
}

describe('the stop panel', () => {
  test('shows what was used, what may be used, and what stops the run next', () => {
    expect(renderPanel()).toBe(
      ' turn 7/40 · $0.31 of $1.00 (+$0.05 reserved) · ctx 46 % (compacts at 80) · 2:10 · 123.5k tokens · next stop: dollar limit in ~14 turns',
    )
  })

  test('leaves out parts from the right, the next stop last', () => {
    expect(renderPanel({}, 100)).toBe(
      ' turn 7/40 · $0.31 of $1.00 (+$0.05 reserved) · next stop: dollar limit in ~14 turns',
    )
    expect(renderPanel({}, 60)).toBe(' turn 7/40 · next stop: dollar limit in ~14 turns')
    expect(renderPanel({}, 43)).toBe(' next stop: dollar limit in ~14 turns')
    expect(renderPanel({}, 33)).toBe(' dollar limit in ~14 turns')
  })

  test('shows the goal after the turns, and a running check first', () => {
    const last = { met: false, checks: [], tampered: [], changedTests: [], flaky: false }
    const goal = {
      goals: [{ name: 'npm test' }],
      isChecked: true,
      isChecking: false,
      tries: 0,
      maxTries: 10,
      last: null,
    }
    const unmetGoal = { ...goal, tries: 2, last }
    expect(renderPanel({ goal }, 60)).toBe(' turn 7/40 · goal · next stop: dollar limit in ~14 turns')
    expect(renderPanel({ goal: unmetGoal }, 80)).toBe(
      ' turn 7/40 · goal ✗ try 2/10 · next stop: dollar limit in ~14 turns',
    )
    expect(renderPanel({ goal: { ...unmetGoal, last: { ...last, met: true } } }, 80)).toContain('turn 7/40 · goal ✓ ·')
    expect(renderPanel({ goal: { ...unmetGoal, isChecked: false } }, 100)).toContain('goal not checked in plan mode')
    const activity = { type: 'goal_check', goals: ['npm test'], tries: 2, maxTries: 10, sinceMs: -11_000 } as const
    expect(renderPanel({ goal: unmetGoal, activity }, 80)).toBe(
      ' checking npm test 0:12 · turn 7/40 · next stop: dollar limit in ~14 turns',
    )
    expect(renderPanel({ goal: unmetGoal, activity }, 33)).toBe(' dollar limit in ~14 turns')
  })

  test('shows default limits when half of one is used (spec R-LIM-12)', () => {
    const usualLimits = { maxTurns: [1_000, 200], maxRunUsd: [10] }
    const limits = { ...noLimits, maxTurns: 1_000, maxRunUsd: 10 }
    const renderFigures = (figures: object, nextStop: PanelSnapshot['nextStop'], more: object = {}): string =>
      renderPanel({ usualLimits, limits: { ...limits, ...more }, figures: { ...noFigures, ...figures }, nextStop })
    const turns = { reason: 'max_turns', turns: 993, isEstimate: false } as const
    const dollars = { reason: 'max_budget_usd', turns: 9, isEstimate: true } as const
    const spentFigures = (usd: number): object => ({ turns: 7, settledUsd: usd, sessionUsd: usd })
    expect(renderFigures(spentFigures(0), turns)).toBe(' 7 turns · 0:00')
    expect(renderFigures({}, null)).toBe(' 0 turns · 0:00')
    expect(renderFigures(spentFigures(4.99), dollars)).toBe(' 7 turns · $4.99 · 0:00')
    expect(renderFigures(spentFigures(5), dollars)).toBe(
      ' 7 turns · $5.00 of $10.00 · 0:00 · next stop: dollar limit in ~9 turns',
    )
    expect(renderFigures({ turns: 500 }, turns)).toBe(' turn 500/1000 · 0:00 · next stop: in 993 turns')
    // A budget that a person set is shown from the start.
    expect(renderFigures(spentFigures(1), dollars, { maxTurns: 40 })).toBe(
      ' turn 7/40 · $1.00 · 0:00 · next stop: in 33 turns',
    )
    expect(renderFigures(spentFigures(1), dollars, { maxRunUsd: 3 })).toBe(
      ' 7 turns · $1.00 of $3.00 · 0:00 · next stop: dollar limit in ~9 turns',
    )
    expect(renderFigures(spentFigures(1), dollars, { maxBudgetUsd: 2 })).toBe(
      ' 7 turns · $1.00 of $2.00 · 0:00 · next stop: dollar limit in ~9 turns',
    )
    expect(renderFigures({ turns: 7, toolCalls: 12 }, turns, { maxToolCalls: 50 })).toBe(
      ' 7 turns · 0:00 · 12 of 50 tool calls',
    )
  })

  test('shows standing budgets that are half used after the dollars of the run (spec R-LIM-12)', () => {
    const standing = [
      { ...dailyBudget, settledUsd: 12.4 },
      { ...dailyBudget, name: '$30 a day', limitUsd: 30, settledUsd: 14.9 },
    ]
    const figures = { ...noFigures, turns: 7, settledUsd: 1, sessionUsd: 1 }
    expect(renderPanel({ standing, limits: noLimits, figures, nextStop: null })).toBe(
      ' 7 turns · $1.00 · $12.40 of $20 a day · 0:00 · next stop: none',
    )
  })

  test('/limits shows use, reservation and reset of each standing budget', () => {
    const standing = [
      { ...dailyBudget, settledUsd: 12.4, reservedUsd: 0.5 },
      { ...dailyBudget, name: '$200 a month in ~/x' },
    ]
    expect(standingBudgetRows(standing, 80)).toEqual([
      '  $20 a day            $12.40 used (+$0.5000 reserved), resets 2026-11-30 00:00',
      '  $200 a month in ~/x  $0.0000 used, resets 2026-11-30 00:00',
    ])
  })

  test('reads standing budgets first, after a run, and periodically during one', async () => {
    let [now, reads, settledUsd, frames] = [0, 0, 9.99, 0]
    const read = (): Promise<readonly StandingFigures[]> => {
      reads++
      return settledUsd > 90
        ? Promise.reject(new Error('no ledger'))
        : Promise.resolve([{ ...dailyBudget, settledUsd }])
    }
    const view = new StandingBudgets(
      read,
      () => now,
      () => void frames++,
    )
    const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
    // The code does not read their contents.
    const ended = { type: 'run_end' } as SessionEvent
    const figuresEvent = { type: 'loop', event: { type: 'figures' } } as SessionEvent
    await nextTick()
    expect([reads, view.all, frames]).toEqual([1, [{ ...dailyBudget, settledUsd: 9.99 }], 1])
    settledUsd = 10
    view.onEvent(figuresEvent)
    await nextTick()
    expect(reads).toBe(1)
    now = 5_000
    view.onEvent(figuresEvent)
    view.onEvent(figuresEvent)
    await nextTick()
    expect([reads, view.all, frames]).toEqual([2, [{ ...dailyBudget, settledUsd: 10 }], 2])
    settledUsd = 99
    view.onEvent(ended)
    await nextTick()
    expect([reads, view.all]).toEqual([3, []])
  })

  test('shows the remaining turns without limits', () => {
    const nextStop = { reason: 'max_turns', turns: 993, isEstimate: false } as const
    expect(renderPanel({ limits: noLimits, figures: { ...noFigures, turns: 1 }, nextStop })).toBe(
      ' 1 turn · 0:00 · next stop: in 993 turns',
    )
    expect(renderPanel({ limits: noLimits, figures: noFigures, nextStop: null })).toBe(
      ' 0 turns · 0:00 · next stop: none',
    )
  })

  test('shows which recovery is running, and how often it may happen', () => {
    const during = (activity: PanelSnapshot['activity']): string => renderPanel({ activity }, 80)
    expect([
      during({ type: 'retry', attempt: 2, maxRetries: 10, untilMs: 9_000, error: '529' }),
      during({ type: 'recovery', transition: 'max_output_tokens_recovery', used: 1, left: 2, because: null }),
      during({ type: 'recovery', transition: 'stop_hook_blocking', used: 2, left: 6, because: 'lint' }),
      during({ type: 'compacting', tokens: 161_000 }),
      during({ type: 'question' }),
    ]).toEqual([
      ' retry 2/10 in 8 s (529) · turn 7/40 · next stop: dollar limit in ~14 turns',
      ' resuming a truncated reply, 1 of 3 · next stop: dollar limit in ~14 turns',
      ' rejected by stop hook, 2 of 8 (lint) · next stop: dollar limit in ~14 turns',
      ' compacting, 161.0k tokens · turn 7/40 · next stop: dollar limit in ~14 turns',
      ' waiting for you · turn 7/40 · next stop: dollar limit in ~14 turns',
    ])
  })

  test('cuts a recovery without room, and leaves out the figures first', () => {
    const because = 'the linter has 17 complaints'
    const activity = { type: 'recovery', transition: 'stop_hook_blocking', used: 2, left: 6, because } as const
    expect([100, 80, 60, 50].map((width) => renderPanel({ activity }, width))).toEqual([
      ' rejected by stop hook, 2 of 8 (the linter has 17 compl…) · next stop: dollar limit in ~14 turns',
      ' rejected by stop hook, 2 of 8 (the lint… · next stop: dollar limit in ~14 turns',
      ' rejected by stop ho… · next stop: dollar limit in ~14 turns',
      ' rejected… · next stop: dollar limit in ~14 turns',
    ])
  })

  test('advances the time between requests, and not while waiting for a person', () => {
    let [now, snapshot] = [0, running]
    const view = stopPanel(
      () => snapshot,
      plainStyle,
      () => now,
    )
    const time = (): string => /\d+:\d\d/.exec(renderBlocks([view], 140))?.[0] ?? ''
    expect(time()).toBe('2:10')
    now = 5_000
    expect(time()).toBe('2:15')
    snapshot = { ...running, status: 'requires_action' }
    now = 60_000
    expect(time()).toBe('2:15')
    snapshot = { ...running, figures: { ...running.figures, usedMs: 140_000 } }
    expect(time()).toBe('2:20')
    now = 61_000
    expect(time()).toBe('2:21')
  })

  test('shows waiting requests of agents with the reservation, and its own with its reason', () => {
    const waiting = { ...running.figures, waitingRequests: 3 }
    expect(renderPanel({ figures: waiting }, 140)).toContain('$0.31 of $1.00 (+$0.05 reserved, 3 waiting)')
    const activity = { type: 'budget_wait', reservedUsd: 2.1, reservedTokens: 4_000, holders: 3 } as const
    expect(renderPanel({ activity }, 140)).toMatch(/^ waiting for \$2\.10 reserved by 3 requests · /)
    expect(renderPanel({ activity: { ...activity, budget: '$20 a day' } }, 140)).toMatch(
      /^ waiting for \$2\.10 of \$20 a day reserved by 3 requests · /,
    )
    const ofTokens = { ...activity, reservedUsd: 0, holders: 1 }
    expect(renderPanel({ activity: ofTokens }, 140)).toMatch(/^ waiting for 4\.0k tokens reserved by 1 request · /)
  })

  test('shows token and time limits with what is used', () => {
    const limits = { ...noLimits, maxTotalTokens: 500_000, maxDurationMs: 600_000 }
    expect(renderPanel({ limits, figures: { ...running.figures, reservedTokens: 8_000 } }, 120)).toBe(
      ' 7 turns · $0.31 (+$0.05 reserved) · ctx 46 % (compacts at 80) · 2:10 of 10:00 · next stop: dollar limit in ~14 turns',
    )
  })
})

describe('the queue', () => {
  test('shows when each message is sent', () => {
    const queue = [
      { id: '1', content: 'use port 8080', when: 'next' },
      { id: '2', content: 'then update\nthe changelog', when: 'later' },
      { id: '3', content: 'and push', when: 'later' },
    ] as const
    expect(renderBlocks([queueLines(() => queue, plainStyle)])).toBe(
      ' queued 1 for the next turn: "use port 8080"\n queued 2 after the run: "then update the changelog", "and push"',
    )
    expect(renderBlocks([queueLines(() => queue, plainStyle)], 33)).toBe(
      ' queued 1 for the next turn: "us…\n queued 2 after the run: "then u…',
    )
    expect(renderBlocks([queueLines(() => [], plainStyle)])).toBe('')
  })
})

describe('the status bar', () => {
  const bar = (width: number, permissionMode = 'acceptEdits'): string => {
    const snapshot = {
      status: 'running',
      permissionMode,
      model: 'sonnet-5.5',
      tasks: [{ id: 'b1', kind: 'command', description: 'npm run dev', startedAtMs: 0, status: 'running' }],
    } as const
    const keys = ['Esc stop', 'Enter steer', 'Alt+Enter queue']
    return renderBlocks([statusBar(() => ({ snapshot, branch: 'main*', keys }), plainStyle)], width)
  }

  test('shows mode, model and branch, and leaves out keys without room', () => {
    expect(bar(110)).toBe(
      ' accepts edits · sonnet-5.5 · main* · 1 in the background · Esc stop · Enter steer · Alt+Enter queue',
    )
    expect(bar(96)).toBe(' accepts edits · sonnet-5.5 · main* · 1 in the background · Esc stop · Enter steer')
    expect(bar(80)).toBe(' accepts edits · sonnet-5.5 · main* · 1 in the background · Esc stop')
    expect(bar(33)).toBe(' accepts edits · sonnet-5.5')
    expect(bar(60, 'plan')).toBe(' plans only · sonnet-5.5 · main* · 1 in the background')
  })
})
