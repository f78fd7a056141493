// Tests R-CTX-5, R-CTX-13, R-CTX-14, R-CTX-14b, R-CTX-16, R-CTX-16a: the result of a layer is valid and shorter
// for any conversation, and depends only on the record.
import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { contextLayers, type ContextLayersOptions } from '../../src/context/layers.ts'
import type { Compaction, ContextView } from '../../src/context/context-manager.ts'
import type { CompactionReply, CompactionRequest, CompactionTrigger } from '../../src/model/questions.ts'
import { isToolResult, isToolUse, noUsage, textOf, type ModelMessage } from '../../src/model/messages.ts'
import { checkReplacement } from '../../src/conversation/replaced-messages.ts'
import { transcriptProblems } from '../../src/testing/index.ts'
import { project, Transcript, type TranscriptEntry } from '../../src/conversation/transcript.ts'
import {
  answered,
  boundaryOf,
  plainTokensOf,
  refused,
  scopeOf,
  textOfLength,
  transcripts,
  viewOf,
} from '../support/conversations.ts'
import { drawn } from '../support/deep.ts'

// Property tests with HALTING_DEEP take long.
vi.setConfig({ testTimeout: 300_000 })
const numRuns = drawn(300)

/** How full the window is, in percent of the conversation. */
const windows = fc.record({
  percent: fc.integer({ min: 40, max: 400 }),
  ratio: fc.constantFrom(1, 1.4, 3),
  fixedTokens: fc.constantFrom(0, 500, 2_000),
})

function viewIn(
  transcript: Transcript,
  { percent, ratio, fixedTokens }: { readonly percent: number; readonly ratio: number; readonly fixedTokens: number },
): ContextView {
  const tokens = fixedTokens + ratio * plainTokensOf(transcript.messages())
  return viewOf(transcript, {
    contextWindow: Math.max(4_000, Math.floor((tokens * percent) / 100)),
    ratio,
    fixedTokens,
  })
}

const summaries: fc.Arbitrary<readonly CompactionReply[]> = fc.oneof(
  fc.integer({ min: 0, max: 12_000 }).map((length) => [answered(length === 0 ? '' : textOfLength(length, 7))]),
  fc
    .array(
      fc.oneof(
        fc.constant(refused(null, null)),
        fc.integer({ min: 1_000, max: 100_000 }).map((limit) => refused(limit * 2, limit)),
      ),
      { minLength: 1, maxLength: 5 },
    )
    .map((refusals) => [...refusals, answered('a summary')]),
  fc.constant([{ kind: 'over_budget' } as const]),
)

/** A long answer: user text alone rarely exceeds a window. */
const replyOf = (id: string): TranscriptEntry => ({
  kind: 'assistant',
  id,
  message: {
    role: 'assistant',
    id,
    model: 'scripted',
    content: [{ type: 'text', text: 'So be it. '.repeat(8_000) }],
    stop_reason: 'end_turn',
    usage: noUsage,
  },
})

/** The same transcript from a file: no object in it is identical. */
const reread = (transcript: Transcript): Transcript =>
  Transcript.fromJSON(JSON.parse(JSON.stringify(transcript)) as unknown)

/** Whether the newest common messages of both are the same objects, from the end on. */
function keptOf(before: readonly ModelMessage[], after: readonly ModelMessage[]): number {
  let sameMessages = 0
  while (
    sameMessages < Math.min(before.length, after.length) &&
    before.at(-1 - sameMessages) === after.at(-1 - sameMessages)
  )
    sameMessages++
  return sameMessages
}

const checkAfter = (before: Transcript, entry: TranscriptEntry): Transcript => {
  const entries = before.since(0)
  const messagesBefore = [...before.messages()]
  const bytes = JSON.stringify(entries)
  const after = before.append(entry)
  // The transcript contains everything: the same entries, to the byte.
  expect(
    after
      .since(0)
      .slice(0, -1)
      .every((each, index) => each === entries[index]),
  ).toBe(true)
  expect(JSON.stringify(after.since(0).slice(0, -1))).toBe(bytes)
  expect(transcriptProblems(after.messages())).toEqual([])
  expect(plainTokensOf(after.messages())).toBeLessThanOrEqual(plainTokensOf(messagesBefore))
  // The record alone has the same result.
  expect(JSON.stringify(reread(after).messages())).toBe(JSON.stringify(after.messages()))
  expect(JSON.stringify(project(after.since(0)))).toBe(JSON.stringify(after.messages()))
  return after
}

describe('pruning of old results', () => {
  test('leaves a valid, shorter conversation with the rest in place, and a second pass changes nothing', () => {
    fc.assert(
      fc.property(transcripts, windows, (drawnTranscript, window) => {
        const transcript = drawnTranscript.fork()
        const view = viewIn(transcript, window)
        const layers = contextLayers()
        const cleared = layers.clear?.(view)
        if (cleared === undefined) return
        const before = [...transcript.messages()]
        const after = checkAfter(transcript, { kind: 'results_cleared', id: 'cleared', ...cleared })
        const clearedCalls = new Set(cleared.calls)
        for (const [index, message] of after.messages().entries()) {
          const content = before[index]?.content ?? ''
          const isTouched =
            typeof content !== 'string' &&
            content.some((block) => isToolResult(block) && clearedCalls.has(block.tool_use_id))
          expect(message === before[index]).toBe(!isTouched)
        }
        const last = before.findLast(({ content }) => typeof content !== 'string' && content.some(isToolResult))
        expect(after.messages()).toContain(last)
        // The reported savings are the real ones, except for the rounding of each.
        const freed = view.tokensOf(before) - view.tokensOf(after.messages())
        expect(Math.abs(cleared.freedTokens - freed)).toBeLessThanOrEqual(2 * cleared.calls.length + 2)
        expect(layers.clear?.({ ...view, state: { ...view.state, transcript: after } })).toBeUndefined()
        expect(contextLayers().clear?.({ ...view, state: { ...view.state, transcript: reread(transcript) } })).toEqual(
          cleared,
        )
      }),
      { numRuns },
    )
  })
})

/** The result of a compaction: the entry, or nothing. */
async function boundaryBy(
  compaction: Compaction,
  transcript: Transcript,
  replies: readonly CompactionReply[],
  asked: CompactionRequest[] = [],
): Promise<TranscriptEntry | undefined> {
  const result = await compaction.run(scopeOf(replies, asked))
  if (result.kind === 'gave_up') return undefined
  // The loop would take it for a compaction that gave up.
  expect(() => checkReplacement(transcript, result.messages)).not.toThrow()
  return boundaryOf(result.messages)
}

describe('a full compaction', () => {
  const triggers = fc.constantFrom<CompactionTrigger>('auto', 'reactive', 'manual')

  const compactionOf = (
    view: ContextView,
    trigger: CompactionTrigger,
    options?: ContextLayersOptions,
  ): Compaction | undefined => {
    const layers = contextLayers({ collapse: false, ...options })
    const due =
      trigger === 'auto'
        ? layers.beforeRequest(view)
        : layers.compact(view, trigger === 'manual' ? 'manual' : 'reactive')
    return due !== undefined && due !== 'thrash' && 'run' in due ? due : undefined
  }

  test('leaves a valid, shorter conversation, with the newest messages as the same objects', async () => {
    await fc.assert(
      fc.asyncProperty(transcripts, windows, triggers, summaries, async (drawnTranscript, window, trigger, replies) => {
        const transcript = drawnTranscript.fork()
        const view = viewIn(transcript, window)
        const asked: CompactionRequest[] = []
        const compaction = compactionOf(view, trigger)
        if (compaction === undefined) return
        const before = [...transcript.messages()]
        const entry = await boundaryBy(compaction, transcript, replies, asked)
        expect(asked.length).toBeLessThanOrEqual(4)
        for (const { messages } of asked) expect(transcriptProblems(messages)).toEqual([])
        if (entry === undefined) return
        const after = checkAfter(transcript, entry)
        const sameMessages = keptOf(before, after.messages())
        // Everything after the first message is preserved, except long results of a last group that is too long by itself.
        const rest = after.messages().slice(1)
        const newest = before.slice(before.length - rest.length)
        expect(rest.map(({ role }) => role)).toEqual(newest.map(({ role }) => role))
        const hasSameText = (message: ModelMessage, index: number): boolean =>
          JSON.stringify(message) === JSON.stringify(newest[index])
        expect(rest.filter((message, index) => message === newest[index])).toEqual(rest.filter(hasSameText))
        expect(sameMessages).toBeLessThanOrEqual(rest.length)
      }),
      { numRuns },
    )
  })

  test('makes the same requests with the same result from a transcript that was read again', async () => {
    await fc.assert(
      fc.asyncProperty(transcripts, windows, triggers, summaries, async (drawnTranscript, window, trigger, replies) => {
        const transcript = drawnTranscript.fork()
        let live = transcript
        let again = reread(transcript)
        // Twice: the second compaction starts from the result of the first.
        for (const round of [1, 2]) {
          const asked: [CompactionRequest[], CompactionRequest[]] = [[], []]
          const [one, other] = [
            compactionOf(viewIn(live, window), trigger),
            compactionOf(viewIn(again, window), trigger),
          ]
          expect(one === undefined).toBe(other === undefined)
          if (one === undefined || other === undefined) return
          const left = await boundaryBy(one, live, replies, asked[0])
          const leftAgain = await boundaryBy(other, again, replies, asked[1])
          expect(JSON.stringify(asked[1])).toBe(JSON.stringify(asked[0]))
          expect(JSON.stringify(leftAgain)).toBe(JSON.stringify(left))
          if (left === undefined || leftAgain === undefined) return
          const more = {
            kind: 'user',
            id: `more${round}`,
            origin: 'steer',
            message: { role: 'user', content: `more ${round}` },
          } as const
          live = live.append(left).append(more)
          again = reread(again.append(leftAgain).append(more))
        }
      }),
      { numRuns },
    )
  })

  test('pins user text word for word, once, over one compaction and over ten', async () => {
    await fc.assert(
      fc.asyncProperty(transcripts, fc.integer({ min: 1, max: 10 }), async (transcript, times) => {
        const rule = 'Binding: never touch the folder vendor/. ⚠️'
        let session = Transcript.of([
          { kind: 'user', id: 'p', origin: 'prompt', message: { role: 'user', content: rule } },
          { kind: 'user', id: 's', origin: 'steer', message: { role: 'user', content: 'Binding: answer in French.' } },
          ...transcript,
          replyOf('reply'),
          { kind: 'user', id: 'n', origin: 'prompt', message: { role: 'user', content: 'now' } },
        ])
        for (let time = 0; time < times; time++) {
          const compaction = compactionOf(viewOf(session, { contextWindow: 400_000 }), 'reactive')
          const entry =
            compaction === undefined ? undefined : await boundaryBy(compaction, session, [answered('nothing')])
          if (entry !== undefined) session = reread(checkAfter(session, entry))
          session = session.append(replyOf(`reply${time}`)).append({
            kind: 'user',
            id: `t${time}`,
            origin: 'prompt',
            message: { role: 'user', content: `turn ${time}` },
          })
          const finalMessages = session
            .messages()
            .map(({ content }) => textOf(content))
            .join('\n')
          expect(finalMessages.split(rule)).toHaveLength(2)
          expect(finalMessages.split('Binding: answer in French.')).toHaveLength(2)
          for (let before = 0; before <= time; before++)
            expect(finalMessages.split(new RegExp(`turn ${before}(?!\\d)`))).toHaveLength(2)
        }
      }),
      { numRuns: Math.ceil(numRuns / 3) },
    )
  })

  test('keeps the signature of every thinking block next to a call that it keeps', async () => {
    await fc.assert(
      fc.asyncProperty(transcripts, windows, triggers, async (drawnTranscript, window, trigger) => {
        const transcript = drawnTranscript.fork()
        const compaction = compactionOf(viewIn(transcript, window), trigger)
        const entry = compaction === undefined ? undefined : await boundaryBy(compaction, transcript, [answered('so')])
        if (entry === undefined) return
        const before = transcript.messages()
        for (const message of transcript.append(entry).messages()) {
          if (message.role !== 'assistant' || !message.content.some(isToolUse)) continue
          expect(before).toContain(message)
        }
      }),
      { numRuns },
    )
  })
})

describe('summaries of finished work', () => {
  test('replace whole groups without user text, all at once, and the result is valid and shorter', async () => {
    await fc.assert(
      fc.asyncProperty(
        transcripts,
        windows,
        fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 6 }),
        async (drawnTranscript, window, sizes) => {
          const transcript = drawnTranscript.fork()
          const layers = contextLayers()
          let session = transcript
          let staged = 0
          for (const size of sizes) {
            const view = viewIn(session, window)
            const stage = layers.stage?.(view)
            if (stage === undefined) break
            const messages = session.messages()
            expect(transcriptProblems(stage.question.messages)).toEqual([])
            const span = messages.slice(stage.from, stage.to)
            expect(span.length).toBeGreaterThan(0)
            expect(transcriptProblems([{ role: 'user', content: 'before' }, ...span])).toEqual([])
            const isSaid = ({ role, content }: ModelMessage): boolean =>
              role === 'user' && (typeof content === 'string' || !content.some(isToolResult))
            expect(span.filter(isSaid)).toEqual([])
            // The result stays the same until an entry is added, also from a transcript that was read again.
            expect(JSON.stringify(layers.stage?.(viewIn(reread(session), window)))).toBe(JSON.stringify(stage))
            const before = session.messages()
            const { from, to, freedTokens } = stage
            session = session.append({
              kind: 'collapse_staged',
              id: `stage${staged++}`,
              from,
              to,
              summary: textOfLength(size, staged),
              freedTokens,
            })
            // None of it is shown yet.
            expect(session.messages()).toEqual(before)
          }
          const drained = layers.drain(viewIn(session, window))
          if (drained === undefined || !('run' in drained)) return
          expect(staged).toBeGreaterThan(0)
          const before = [...session.messages()]
          const asked: CompactionRequest[] = []
          const entry = await boundaryBy(drained, session, [], asked)
          expect(asked).toEqual([])
          if (entry === undefined) return
          const after = checkAfter(session, entry)
          // Messages that are not replaced stay the same objects, in order.
          const stays = after.messages().filter((message) => before.includes(message))
          expect(stays).toEqual(before.filter((message) => stays.includes(message)))
          expect(after.messages().length - stays.length).toBeLessThanOrEqual(staged)
          expect(layers.drain(viewIn(after, window))).toBeUndefined()
        },
      ),
      { numRuns },
    )
  })
})
