// Holds R-FOR-2, R-FOR-6 and R-FOR-10 for arbitrary files: nothing throws, the API accepts what is sent, and limits see the same without records.
import { readFileSync, truncateSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { HaltingError } from '@halting/core'
import { foldSession } from '@halting/core/steps'
import { recordsOfForeign } from '../../src/foreign/foreign-run.ts'
import { transcriptProblems } from '@halting/core/testing'
import { accountOf } from '../../src/account/account.ts'
import { trajectoryOf } from '../../src/what-if/trajectory.ts'
import { trajectoryOfForeign } from '../../src/what-if/foreign-trajectory.ts'
import { whatIf } from '../../src/what-if/what-if.ts'
import { expect, test } from 'vitest'
import { eachLine } from '../../src/foreign/lines.ts'
import { readForeignSession } from '../../src/foreign/read-foreign.ts'
import { sendableRuns } from '../../src/foreign/take-over.ts'
import { drawn } from '../../../core/test/support/deep.ts'
import { fileOf, prices, samplePath, useFolder } from './support.ts'

useFolder()

/** Reads a file in every way and returns what is wrong with the result, or with what would be sent. */
async function problemsOf(content: string | Uint8Array): Promise<readonly string[]> {
  const path = fileOf(content, 'drawn.jsonl')
  const problems: string[] = []
  for (const which of ['all', 'newest_branch'] as const) {
    const session = await readForeignSession(path, which).catch((error: unknown) => {
      if (error instanceof HaltingError && error.message.includes('is not a session of')) return undefined
      throw error
    })
    if (session === undefined) continue
    for (const run of session.runs) {
      const { records, unpriced } = recordsOfForeign(run, prices)
      const [made, expected] = [trajectoryOfForeign(run, prices), { trajectory: trajectoryOf(records), unpriced }]
      if (!isDeepStrictEqual(made, expected)) problems.push(`${JSON.stringify(made)}, not ${JSON.stringify(expected)}`)
      const { totals } = accountOf(records)
      if (Object.values(totals).some((figure) => !(figure >= 0 && figure < Infinity)))
        problems.push(JSON.stringify(totals))
      const { kept, saved } = whatIf(trajectoryOf(records), { maxTurns: 2, maxBudgetUsd: 0.001, noProgress: true })
      if (kept.tokens + saved.tokens !== totals.tokens) problems.push(`${kept.tokens} and ${saved.tokens}`)
    }
    const runs = sendableRuns(session)
    const { transcript, open } = foldSession(runs.map((run) => recordsOfForeign(run, prices).records))
    if (open !== undefined) problems.push('a run is open')
    if (runs.length > 0) problems.push(...transcriptProblems(transcript.messages()))
  }
  return problems
}

const id = fc.constantFrom('a', 'b', 'c', '', 'd/e')
const anything = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(undefined))
const some = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<unknown> => fc.oneof({ weight: 9, arbitrary: value }, anything)
const word = fc.constantFrom('', ' ', 'hi', '[Request interrupted by user]', '<local-command-stdout>x')
const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text: some(word) }),
  fc.record({ type: fc.constant('tool_use'), id: some(id), name: some(fc.constantFrom('Bash', '')), input: anything }),
  fc.record({
    type: fc.constant('tool_result'),
    tool_use_id: some(id),
    content: anything,
    is_error: some(fc.boolean()),
  }),
  fc.record({ type: fc.constant('thinking'), thinking: some(word), signature: some(word) }),
  fc.record({ type: fc.constant('server_tool_use'), id: some(id) }),
  fc.record({ type: fc.constant('web_search_tool_result'), tool_use_id: some(id) }),
  fc.record({ type: fc.constant('image'), source: some(fc.constant({ type: 'base64' })) }),
)
const content = some(fc.oneof(word, fc.array(some(block), { maxLength: 4 })))
const count = some(fc.constantFrom(0, 5, 100, -1, 1e300))
const usage = some(fc.record({ input_tokens: count, output_tokens: count, cache_creation_input_tokens: count }))
const uuid = fc.constantFrom('u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7', null)
const timestamp = some(fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:09Z', '1999-01-01T00:00:00Z', 'never'))
const claudeLine = fc
  .record({
    type: fc.constantFrom('user', 'assistant', 'assistant', 'user', 'attachment', 'system', 'cost-state', 'other'),
    message: some(
      fc.record({
        id: some(id),
        role: fc.constant('user'),
        model: some(fc.constantFrom('claude-sonnet-4-5', '<synthetic>', 'constructor')),
        content,
        usage,
        stop_reason: some(fc.constantFrom('end_turn', 'tool_use', 'refusal')),
      }),
    ),
    attachment: fc.oneof(
      fc.record({ type: fc.constant('queued_command'), prompt: content }),
      fc.record({ type: fc.constant('max_turns_reached'), maxTurns: anything }),
    ),
    subtype: some(fc.constant('compact_boundary')),
    uuid: some(uuid),
    parentUuid: some(uuid),
    sessionId: fc.constant('s'),
    isSidechain: some(fc.constantFrom(false, false, true)),
    isMeta: some(fc.constantFrom(false, false, true)),
    isApiErrorMessage: some(fc.constantFrom(false, false, false, true)),
    totalCostUSD: anything,
    timestamp,
  })
  .map((line) => JSON.stringify(line))
const codexPart = fc.record({ type: fc.constantFrom('input_text', 'output_text'), text: some(word) })
const codexLine = fc
  .record({
    timestamp,
    type: fc.constantFrom('response_item', 'response_item', 'response_item', 'event_msg', 'turn_context', 'compacted'),
    payload: some(
      fc.record({
        type: fc.constantFrom(
          'message',
          'message',
          'function_call',
          'function_call_output',
          'custom_tool_call',
          'local_shell_call',
          'reasoning',
          'task_started',
          'task_complete',
          'turn_aborted',
          'token_count',
          'thread_rolled_back',
          'error',
        ),
        role: some(fc.constantFrom('user', 'assistant')),
        content: some(fc.array(some(codexPart), { maxLength: 3 })),
        name: some(fc.constantFrom('shell', '')),
        arguments: some(fc.constantFrom('{}', '{"a":1}', 'no json', '[]')),
        call_id: some(id),
        output: anything,
        num_turns: some(count),
        message: some(word),
        model: some(fc.constant('claude-sonnet-4-5')),
        info: some(fc.record({ last_token_usage: usage, total_token_usage: some(fc.record({ total_tokens: count })) })),
        replacement_history: some(fc.constant([{ type: 'message', role: 'user', content: 'x' }])),
      }),
    ),
  })
  .map((line) => JSON.stringify(line))

test.each([
  ['Claude Code', claudeLine],
  ['Codex', codexLine],
])('arbitrary records of %s are read without problems', { timeout: 120_000 }, async (_name, line) => {
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 25 }), async (lines) => {
      expect(await problemsOf(lines.join('\n'))).toEqual([])
    }),
    { numRuns: drawn(600) },
  )
})

test.each(['claude-code-polling', 'claude-code-short', 'codex-rollout-0'])(
  '%s: cut at any byte, with any byte another, its lines in any order',
  { timeout: 120_000 },
  async (name) => {
    const whole = readFileSync(samplePath(name))
    const lines = whole.toString('utf8').split('\n')
    const place = fc.nat({ max: whole.length - 1 })
    await fc.assert(
      fc.asyncProperty(place, fc.nat({ max: 255 }), fc.integer({ min: 1, max: 3 }), async (at, value, how) => {
        const changed = Buffer.from(whole)
        changed[at] = value
        expect(await problemsOf(how === 1 ? whole.subarray(0, at) : changed)).toEqual([])
      }),
      { numRuns: drawn(150) },
    )
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(lines), async (part) => {
        expect(await problemsOf(part.join('\n'))).toEqual([])
      }),
      { numRuns: drawn(100) },
    )
  },
)

test('a file that is truncated while it is being read is rejected, because the rest would look complete', async () => {
  const path = fileOf(`{"uuid":"u1"}\n`.repeat(100_000), 'cut.jsonl')
  await expect(eachLine(path, () => truncateSync(path, 20))).rejects.toThrow('it was truncated while it was being read')
  expect(await eachLine(path, () => undefined)).toEqual({ bytes: 20, tooLong: [] })
})
