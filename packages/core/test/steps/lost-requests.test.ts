// Tests R-RES-10c, R-RES-10d: requests made before a process died, and not repeated after it, are charged in the run that continues.
import { describe, expect, test } from 'vitest'
import { agentTool, CallableHook, replay, resume, type RunOptions, type StepRecord } from '../../src/index.ts'
import { accountOf, recordedWork, trajectoryOf, whatIf } from '@halting/analysis'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { sampled } from '../support/deep.ts'
import { calls, dollarATokenPrices as prices, json, reader, run } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

const verdict = { text: 'fine', usage: { input_tokens: 300, output_tokens: 40 } }

const agent = agentTool({
  name: 'Agent',
  description: 'a subagent',
  readOnly: true,
  spawn: () => ({ prompt: 'look around' }),
})

/** A run that looks and answers, with a subagent that does so too, and a hook that asks a model before each call. */
function world(): RunOptions {
  const judge = scriptedModel(() => verdict, { id: 'judge', maxOutputTokens: 2_000 })
  const model = scriptedModel(
    ({ messages }) => (messages.some(({ role }) => role === 'assistant') ? 'answer' : calls('Look', 'Agent')),
    { maxOutputTokens: 2_000 },
  )
  const question = {
    system: 'Judge.',
    messages: [{ role: 'user', content: 'may it?' }],
    maxOutputTokens: 500,
    model: judge,
  }
  const judging = new CallableHook(
    async (context) => {
      await context.ask(question as never)
    },
    { id: 'judging', triggers: ['beforeToolUse'] },
  )
  return {
    model,
    models: [judge],
    prices,
    clock: createFakeClock({ autoAdvance: true }),
    tools: [reader('Look'), agent],
    hooks: [judging],
  }
}

/** The cost of all recorded attempts, including those whose replies are not recorded. */
const paidIn = (records: readonly StepRecord[]): number =>
  recordedWork(records).requests.reduce((sum, { nanos }) => sum + nanos, 0) / 1e9

interface ResumeCase {
  readonly name: string
  /** The options of the resumed program that differ. */
  readonly overrides: Partial<RunOptions>
  readonly isAborted: boolean
}

const resumeCases: readonly ResumeCase[] = [
  { name: 'the hook that asked is gone', overrides: { hooks: [] }, isAborted: false },
  { name: 'the tools that asked are gone', overrides: { tools: [] }, isAborted: false },
  { name: 'it is aborted at once', overrides: {}, isAborted: true },
  { name: 'the hook is gone and it is aborted at once', overrides: { hooks: [] }, isAborted: true },
]

/** Continues a cut record until its end, or until this many more records. */
async function resumeRun(records: readonly StepRecord[], { overrides, isAborted }: ResumeCase) {
  const options = { ...world(), ...overrides }
  const { loop, steps } = resume(records, options)
  if (isAborted) loop.abort('user')
  const { terminal } = await loop.ended
  return { terminal, options, records: json(steps.records) as never as readonly StepRecord[] }
}

describe.each(resumeCases)('after a kill, where $name', (way) => {
  test('counts everything that was asked in the cost of the run, also after a second kill, and in its replay', async () => {
    const { steps } = await run([], world() as never)
    let lost = 0
    for (const count of sampled([...steps.records.keys()].slice(2), { deep: 6, quick: 6 })) {
      const killed = await killedAfter(count, world())
      const first = await resumeRun(killed, way)
      for (let length = killed.length; length <= first.records.length; length++) {
        const isWhole = length === first.records.length
        const { terminal, options, records } = isWhole ? first : await resumeRun(first.records.slice(0, length), way)
        expect([count, length, terminal.committedUsd]).toEqual([count, length, paidIn(records)])
        const { kept } = whatIf(trajectoryOf(records), {})
        expect([kept.tokens, kept.costUsd + kept.unknownUsd]).toEqual([terminal.totalTokens, terminal.committedUsd])
        expect(accountOf(records).totals.committedUsd).toBe(terminal.committedUsd)
        // A record of two programs is not replayed by either of them.
        const isOfOne = Object.keys(way.overrides).length === 0
        const replayed = isOfOne ? (await replay(records, options)).terminal : terminal
        expect(json(replayed)).toEqual(json(terminal))
        if (terminal.committedUsd > terminal.costUsd) lost++
      }
    }
    // The test can fail: there were such requests.
    expect(lost).toBeGreaterThan(3)
  }, 60_000)
})

const unchanged: ResumeCase = { name: 'the program is the same again', overrides: {}, isAborted: false }
const broken: ResumeCase = {
  name: 'a guard breaks',
  overrides: {
    stopWhen: {
      name: 'broken',
      evaluate() {
        throw new Error('it broke')
      },
    },
  },
  isAborted: false,
}

/** The moments right after a paid record, in order. */
const afterPaying = (records: readonly StepRecord[], from: number): readonly number[] =>
  records.flatMap((record, index) =>
    index >= from && record.type === 'result' && record.key.includes('lost:') ? [index + 1] : [],
  )

// An abort alone skips nothing here: the hook is called again, and its questions are paid with it.
const leaving = [...resumeCases.filter(({ overrides }) => Object.keys(overrides).length > 0), broken]

describe.each(leaving)('after a kill, where $name, and a kill right after that was paid', (way) => {
  test.each([unchanged, ...resumeCases])(
    'pays once where $name, and after one more kill',
    async (next) => {
      const { steps } = await run([], world() as never)
      let paid = 0
      for (let count = 2; count < steps.records.length; count += 2) {
        const killed = await killedAfter(count, world())
        const first = await resumeRun(killed, way)
        for (const length of afterPaying(first.records, killed.length).filter((end) => end < first.records.length)) {
          const second = await resumeRun(first.records.slice(0, length), next)
          expect([count, second.terminal.committedUsd]).toEqual([count, paidIn(second.records)])
          const middle = Math.ceil((length + second.records.length) / 2)
          const third = await resumeRun(second.records.slice(0, Math.min(middle, second.records.length - 1)), way)
          expect([count, third.terminal.committedUsd]).toEqual([count, paidIn(third.records)])
          paid++
        }
      }
      expect(paid).toBeGreaterThan(0)
    },
    60_000,
  )
})
