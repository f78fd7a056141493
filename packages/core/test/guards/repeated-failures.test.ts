// Tests R-PROG-7 to R-PROG-7b: repeated failures and answers lead to reminders, and stop nothing.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { noProgress, type StopHook } from '../../src/index.ts'
import { equalAnswersReminder, equalErrorsReminder, failingEditsReminder } from '../../src/limits/guard-texts.ts'
import { afterCalls, afterAnswerSentBack, repeatedIn, type RepetitionProgress } from '../../src/limits/repetition.ts'
import { tool as makeTool } from '../../src/tools/define-tool.ts'
import type { ScriptedReply } from '../../src/testing/index.ts'
import { begin, calls, json, reader, run, loopMessages, tool } from '../support/harness.ts'

const stopWhen = noProgress()
const failing = (text: (call: number) => string) => {
  let call = 0
  return () => {
    throw new Error(text(call++))
  }
}
/** A tool that edits files, and fails each time with another error. */
const edit = () =>
  makeTool({ name: 'Edit', description: '', editsFiles: true, execute: failing((call) => 'no '.repeat(call + 1)) })
/** Calls this tool with other input each time, and answers after this many calls. */
const callingModel = (name: string, times: number) => (_request: unknown, index: number) =>
  index < times ? calls({ name, input: { at: 'x'.repeat(index) } }) : 'done'

describe('edits that fail', () => {
  test('reminds once of three turns in a row, and the run continues', async () => {
    const ended = await run(callingModel('Edit', 12), { tools: [edit()], stopWhen })
    expect([ended.terminal.reason, loopMessages(ended), ended.transitions.indexOf('no_progress_nudge')]).toEqual([
      'completed',
      [['loop', failingEditsReminder('Edit')]],
      2,
    ])
  })

  test('ignores reads in between, and starts anew after an edit that works', async () => {
    const looks = (_request: unknown, index: number): ScriptedReply =>
      index < 6 ? calls({ name: index % 2 === 0 ? 'Edit' : 'Look', input: { at: 'x'.repeat(index) } }) : 'done'
    const looking = await run(looks, { tools: [edit(), reader('Look')], stopWhen })
    expect(looking.transitions.indexOf('no_progress_nudge')).toBe(4)
    let call = 0
    const sometimes = makeTool({
      name: 'Edit',
      description: '',
      editsFiles: true,
      execute: () => {
        call++
        if (call % 3 !== 0) throw new Error('no '.repeat(call))
        return 'edited'
      },
    })
    expect(loopMessages(await run(callingModel('Edit', 12), { tools: [sometimes], stopWhen }))).toEqual([])
  })

  test('ignores failures of a tool that edits nothing, and does nothing without a guard', async () => {
    const other = tool(
      'Edit',
      failing((call) => 'no '.repeat(call + 1)),
    )
    expect(loopMessages(await run(callingModel('Edit', 12), { tools: [other], stopWhen }))).toEqual([])
    const alone = await run(callingModel('Edit', 12), { tools: [edit()] })
    expect([loopMessages(alone), alone.state.spent.repetition]).toEqual([[], undefined])
  })
})

describe('errors that are the same', () => {
  const timed = () =>
    reader(
      'Look',
      failing((call) => `connection refused after ${call} ms`),
    )

  test('reminds of four turns, whatever is done in between', async () => {
    const script = (_request: unknown, index: number): ScriptedReply =>
      index < 10 ? calls({ name: index % 2 === 0 ? 'Look' : 'See', input: { at: 'x'.repeat(index) } }) : 'done'
    const ended = await run(script, { tools: [timed(), reader('See')], stopWhen })
    expect([ended.terminal.reason, loopMessages(ended), ended.transitions.indexOf('no_progress_nudge')]).toEqual([
      'completed',
      [['loop', equalErrorsReminder]],
      6,
    ])
  })

  test('counts those of one message once, and starts anew with a person', async () => {
    const many = (_request: unknown, index: number): ScriptedReply =>
      index < 3 ? calls(...Array.from({ length: 5 }, (_, n) => ({ name: 'Look', input: { at: index, n } }))) : 'done'
    expect(loopMessages(await run(many, { tools: [timed()], stopWhen }))).toEqual([])
    const going = begin(
      (request, index) => {
        if (index === 2) going.loop.steer('go on')
        return callingModel('Look', 6)(request, index)
      },
      { tools: [timed()], stopWhen },
    )
    const { transitions } = await going.end()
    expect(transitions).not.toContain('no_progress_nudge')
  })

  test('sends one such reminder in a run, and another for cycles', async () => {
    const script = (_request: unknown, index: number): ScriptedReply =>
      index < 8 ? calls({ name: 'Edit', input: { at: index } }) : calls('Look')
    const ended = await run(script, { tools: [edit(), timed()], stopWhen })
    expect([ended.terminal.reason, ended.transitions.filter((name) => name === 'no_progress_nudge').length]).toEqual([
      'no_progress',
      2,
    ])
    expect(ended.state.spent.reminded).toEqual(['failing_edits', 'same_turns'])
  })

  test('treats those of a cycle as that cycle', async () => {
    const ended = await run(() => calls('Look'), { tools: [timed()], stopWhen })
    expect([ended.terminal.summary.turns, ended.state.spent.reminded]).toEqual([5, ['same_turns']])
  })

  test('sends no reminder at the last turn', async () => {
    const ended = await run(callingModel('Look', 9), { tools: [timed()], maxTurns: 4, stopWhen })
    expect([ended.terminal.reason, loopMessages(ended)]).toEqual(['max_turns', []])
  })
})

describe('answers that are sent back', () => {
  const blocking = (times: number): StopHook => {
    let left = times
    return { id: 'gate', handle: () => (left-- > 0 ? { block: `not yet, ${'still '.repeat(left)}` } : undefined) }
  }
  const hookTexts = (ended: Parameters<typeof loopMessages>[0]) =>
    loopMessages(ended).map(([origin, text]) => (origin === 'hook' ? origin : text))

  test('are sent back with a reminder at the third repetition, without an extra iteration', async () => {
    const ended = await run(() => 'It is done.', { stopWhen, stopHooks: [blocking(5)] })
    expect(hookTexts(ended)).toEqual(['hook', 'hook', 'hook', equalAnswersReminder, 'hook', 'hook'])
    expect(ended.transitions).toEqual(Array.from({ length: 5 }, () => 'stop_hook_blocking'))
    expect(ended.terminal.reason).toBe('completed')
  })

  test('ignore other answers, and calls in between', async () => {
    const others = await run((_request, index) => 'word '.repeat(index + 1), { stopWhen, stopHooks: [blocking(5)] })
    expect(hookTexts(others)).not.toContain(equalAnswersReminder)
    const script = (_request: unknown, index: number): ScriptedReply =>
      index % 3 === 2 ? calls({ name: 'Look', input: { at: index } }) : 'It is done.'
    const between = await run(script, { tools: [reader('Look')], stopWhen, stopHooks: [blocking(5)] })
    expect(hookTexts(between)).not.toContain(equalAnswersReminder)
  })
})

test('keep a small JSON count, which names only what the newest turn repeats', () => {
  const call = fc.record({ editedBy: fc.constantFrom('Edit', 'Write'), error: fc.nat(20) }, { requiredKeys: [] })
  const steps = fc.array(fc.oneof(fc.array(call, { maxLength: 4 }), fc.nat(2)), { maxLength: 60 })
  fc.assert(
    fc.property(steps, (drawnSteps) => {
      let progress: RepetitionProgress | undefined
      const turns = new Map<number, number>()
      for (const step of drawnSteps) {
        const isAnswer = typeof step === 'number'
        progress = isAnswer ? afterAnswerSentBack(progress, step) : afterCalls(progress, step)
        const errors = new Set(isAnswer ? [] : step.flatMap(({ error }) => error ?? []))
        for (const error of errors) turns.set(error, (turns.get(error) ?? 0) + 1)
        const repeated = repeatedIn(progress)
        expect(repeated.equalErrors).toBeLessThanOrEqual(
          Math.max(0, ...[...errors].map((error) => turns.get(error) ?? 0)),
        )
        expect(repeated.equalErrors > 0).toBe(errors.size > 0)
        expect(repeated.equalAnswers > 0).toBe(isAnswer)
        expect(JSON.stringify(progress ?? null).length).toBeLessThan(600)
        expect(json(progress ?? null)).toEqual(progress ?? null)
      }
    }),
  )
})
