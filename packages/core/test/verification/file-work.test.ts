// Tests R-VERI-1, R-VERI-1a, R-VERI-4, R-VERI-4a.
import { describe, expect, test } from 'vitest'
import { Transcript, type TranscriptEntry } from '../../src/index.ts'
import { fileWorkOf } from '../../src/verification/file-work.ts'
import { isAnswerValid, endOfAnswer } from '../../src/conversation/verified-answer.ts'
import { afterAgent, afterWork, carriedVerification, verifiedOf } from '../../src/verification/progress.ts'

describe("a tool's report about files", () => {
  test.each<[unknown, unknown]>([
    [{ changedLines: 3 }, { changedLines: 3 }],
    [{ changedLines: 3, more: 1 }, { changedLines: 3 }],
    [{ check: { command: ' npm test ', passed: true } }, { check: { command: 'npm test', passed: true } }],
    [
      { changedLines: 1, check: { command: 'make', passed: false } },
      { changedLines: 1, check: { command: 'make', passed: false } },
    ],
    ...[undefined, null, 3, 'x', [], {}, { changedLines: 0 }, { changedLines: -1 }, { changedLines: 1.5 }].map(
      (each) => [each, undefined] as [unknown, unknown],
    ),
    ...[{ changedLines: Number.NaN }, { changedLines: '3' }, { check: true }, { check: { command: 'x' } }].map(
      (each) => [each, undefined] as [unknown, unknown],
    ),
    ...[{ check: { command: ' ', passed: true } }, { check: { command: 'x', passed: 1 } }].map(
      (each) => [each, undefined] as [unknown, unknown],
    ),
  ])('%j is read as %j', (value, read) => expect(fileWorkOf(value)).toEqual(read))

  test('has its command cut', () => {
    expect(
      fileWorkOf({ check: { command: 'x'.repeat(9_000), passed: true } })?.check?.command.length,
    ).toBeLessThanOrEqual(501)
  })
})

describe('the verification state', () => {
  const passes = { command: 'npm test', passed: true }
  test('adds what was changed, and is reset by a check that passes', () => {
    const changed = afterWork(afterWork(undefined, { changedLines: 2 }), { changedLines: 3 })
    expect([changed, verifiedOf(changed)]).toEqual([{ unchecked: 5, changed: 5, check: null, hasPassed: false }, false])
    const failed = afterWork(changed, { check: { command: 'make', passed: false } })
    expect(failed).toEqual({ unchecked: 5, changed: 5, check: 'make', hasPassed: false })
    const passed = afterWork(failed, { changedLines: 4, check: passes })
    expect([passed, verifiedOf(passed)]).toEqual([
      { unchecked: 0, changed: 9, check: 'npm test', hasPassed: true },
      true,
    ])
  })

  test('keeps that the model was asked', () => {
    const asked = { unchecked: 3, changed: 3, check: null, hasPassed: false, askedAt: 2 } as const
    expect(afterWork(asked, { changedLines: 1 })).toEqual({ ...asked, unchecked: 4, changed: 4 })
    const agent = { unchecked: 2, changed: 2, check: 'make', hasPassed: false }
    expect(afterAgent(asked, agent, 0)).toEqual({
      unchecked: 5,
      changed: 5,
      check: 'make',
      hasPassed: false,
      askedAt: 2,
    })
  })

  test('ignores a check of an agent for parallel changes', () => {
    const before = { unchecked: 3, changed: 7, check: null, hasPassed: false }
    const agent = { unchecked: 0, changed: 2, check: 'make', hasPassed: true }
    const uncheckedAfter = [7, 6, 0, 9].map((changedAtStart) => afterAgent(before, agent, changedAtStart).unchecked)
    expect(uncheckedAfter).toEqual([0, 1, 3, 0])
    expect(afterAgent(undefined, { ...agent, unchecked: 1 }, 0).unchecked).toBe(1)
  })

  test('is known to a run that carries it on, where results are counted anew', () => {
    const before = { unchecked: 3, changed: 3, check: null, hasPassed: false }
    expect([carriedVerification(undefined), carriedVerification(before)]).toEqual([undefined, before])
    expect(carriedVerification({ ...before, askedAt: 2 })).toEqual({ ...before, askedAt: null })
  })

  test('contains no change when there was none, whatever was checked', () => {
    expect([verifiedOf(undefined), verifiedOf(afterWork(undefined, { check: passes }))]).toEqual([
      'nothing changed',
      'nothing changed',
    ])
  })
})

describe('the answer stays the same', () => {
  const answer: TranscriptEntry = assistantEntry('Fixed.')
  const question: TranscriptEntry = { ...user('check', 'loop'), keepsAnswer: true }
  const call: TranscriptEntry = {
    kind: 'assistant',
    id: 'c',
    message: { ...assistantEntry('').message, content: [{ type: 'tool_use', id: 'c1', name: 'Do', input: {} }] },
  }

  function assistantEntry(text: string): Extract<TranscriptEntry, { kind: 'assistant' }> {
    const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
    const content = [{ type: 'text', text }] as const
    return {
      kind: 'assistant',
      id: text,
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'x',
        content,
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage,
      },
    } as unknown as Extract<TranscriptEntry, { kind: 'assistant' }>
  }
  function user(
    text: string,
    origin: 'loop' | 'hook' | 'steer' | 'prompt' | 'tool_results' | 'interruption',
    hook?: string,
  ) {
    const message = { role: 'user', content: text } as const
    return { kind: 'user', id: text, message, origin, ...(hook !== undefined && { hook }) } as const
  }

  test.each<[string, readonly TranscriptEntry[], boolean]>([
    ['before the reply', [], true],
    ['after a reply', [assistantEntry('No.')], true],
    ['after a reply in two pieces', [assistantEntry('N'), assistantEntry('o.')], true],
    [
      'after one that was cut and finished',
      [assistantEntry('N'), { ...question, id: 'q2' }, assistantEntry('o.')],
      true,
    ],
    ['after a failure that people are shown', [{ ...assistantEntry('failed'), error: 'unknown' }], true],
    ['after an interruption', [assistantEntry('N'), user('cut', 'interruption')], true],
    ['when limits are reported before the reply', [user('left', 'loop'), assistantEntry('No.')], true],
    ['when a hook adds a message before the reply', [user('noon', 'hook', 'clock'), assistantEntry('No.')], true],
    ['when a hook adds a message after the reply', [assistantEntry('No.'), user('noon', 'hook', 'clock')], true],
    ['and not after a tool call', [call], false],
    ['and not after results', [call, user('done', 'tool_results'), assistantEntry('Checked.')], false],
    ['and not after a message of a person', [user('which?', 'steer'), assistantEntry('That.')], false],
    ['and not after the next prompt', [assistantEntry('No.'), user('and?', 'prompt')], false],
    [
      'and not when a hook got another reply',
      [assistantEntry('No.'), user('sum', 'hook', 'h'), assistantEntry('Sum.')],
      false,
    ],
    ['and not when a stop hook sent it back', [assistantEntry('No.'), user('3 failed', 'hook')], false],
    ['and not when the loop sent it back', [assistantEntry('No.'), user('goal', 'loop')], false],
  ])('%s', (_name, behind, isUnchanged) => {
    const transcript = Transcript.of([user('go', 'prompt'), answer, question, ...behind])
    expect(isAnswerValid(transcript)).toBe(isUnchanged)
    expect(endOfAnswer(transcript)).toBe(isUnchanged ? 2 : transcript.length)
  })

  test('and none does without a question, or with one before the start position', () => {
    const transcript = Transcript.of([user('go', 'prompt'), answer, question, assistantEntry('No.')])
    expect([isAnswerValid(transcript, 3), isAnswerValid(Transcript.empty())]).toEqual([false, false])
    expect(isAnswerValid(Transcript.of([user('go', 'prompt'), answer]))).toBe(false)
  })
})
