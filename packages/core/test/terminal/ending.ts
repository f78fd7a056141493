import { expect } from 'vitest'
import { endings, type EndingReason } from '../../src/index.ts'
import type { AskOutcome } from '../support/engine.ts'
import { attachments, failures, results, loopMessages } from '../support/harness.ts'
import { table, type Row } from './table.ts'

/** The messages and effects of an ending; a missing expectation means empty. */
export interface ExpectedEnding {
  readonly message: string
  readonly source: string | null
  readonly context?: object
  /** For a row whose category has two values. */
  readonly category?: Row['category']
  readonly attachments?: readonly object[]
  readonly loopMessages?: readonly (readonly [string, string])[]
  readonly failures?: readonly (readonly [string, string])[]
  /** Content of every tool result of the run, with `!` before errors. */
  readonly results?: readonly string[]
  /** Text of a success. */
  readonly result?: string
  /** Texts of a failure. */
  readonly errors?: readonly string[]
}

/** Compares a whole ending with its row of the table and with the expectation. */
export function expectEnding(outcome: AskOutcome, reason: EndingReason, expected: ExpectedEnding): void {
  const row = table[reason]
  const { category, manner, toolResults, subtype, exitCode, nextRound } = endings[reason]
  expect({ category, manner, toolResults, subtype, exitCode, nextRound }).toEqual(row)
  const { terminal, result } = outcome
  expect({
    reason: terminal.reason,
    category: terminal.signal.reason,
    message: terminal.signal.message,
    source: terminal.signal.source,
    highest: terminal.signals.highest()?.reason,
    attachments: attachments(outcome),
    loopMessages: loopMessages(outcome),
    failures: failures(outcome),
    results: results(outcome).map(
      ({ content, is_error }) =>
        `${is_error === true ? '!' : ''}${typeof content === 'string' ? content : JSON.stringify(content)}`,
    ),
  }).toEqual({
    reason,
    category: expected.category ?? row.category,
    message: expected.message,
    source: expected.source,
    highest: expected.category ?? row.category,
    attachments: expected.attachments ?? [],
    loopMessages: expected.loopMessages ?? [],
    failures: expected.failures ?? [],
    results: expected.results ?? [],
  })
  if (expected.context !== undefined) expect(terminal.signal.context).toEqual(expected.context)
  const forced = row.category !== 'completed' && row.category !== 'finish_reason'
  const { message, context, source } = terminal.signal
  expect({
    subtype: result.subtype,
    is_error: result.is_error,
    terminal_reason: result.terminal_reason,
    stop: result.stop,
    result: result.result,
    errors: result.errors,
    num_turns: result.num_turns,
    usage: result.usage,
  }).toEqual({
    subtype: row.subtype,
    is_error: row.subtype !== 'success',
    terminal_reason: reason === 'max_budget_usd' ? 'budget_exhausted' : reason,
    stop: { reason, category: expected.category ?? row.category, message, context, source, forced },
    result: row.subtype === 'success' ? (expected.result ?? '') : undefined,
    errors: row.subtype === 'success' ? undefined : (expected.errors ?? [expected.message]),
    num_turns: terminal.summary.turns,
    usage: terminal.summary.usage,
  })
}
