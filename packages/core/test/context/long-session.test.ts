// Tests R-CTX-8a, R-CTX-13, R-CTX-14, R-CTX-14a: a session far longer than its window keeps its binding rules.
import { describe, expect, test } from 'vitest'
import { contextLayers, type ContextLayersOptions } from '../../src/context/layers.ts'
import {
  streamRun,
  resume,
  startRun,
  Transcript,
  type RunOptions,
  type ModelMessage,
  type ModelRequest,
  type RunState,
} from '../../src/index.ts'
import { hashText } from '../../src/values/hash.ts'
import type { LearnedContext } from '../../src/state/state.ts'
import { createFakeClock, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, reader } from '../support/harness.ts'
import { plainTokensOf } from '../support/conversations.ts'
import { killedAfter } from '../support/kill-process.ts'
import { isQuestion, windowedModel, type WindowedModel, type WindowOptions } from '../support/windowed-model.ts'
import { isDeep, isWhole, sampled } from '../support/deep.ts'

const turns = isWhole ? 2_000 : isDeep ? 1_000 : 200
const timeout = isDeep ? 540_000 : 60_000

/** The rules that must survive: ten by prompt, ten by steer. */
const bindingRules = Array.from(
  { length: 20 },
  (_, index) =>
    `Rule ${index}: whatever happens, never touch "vendor/${index}" — ça reste tel quel ✓ (${hashText(`rule ${index}`).toString(36)}).`,
)

/** From 1 to 20,000 characters, mostly long; the same for the same file. */
const lengthOf = (of: string): number => 1 + (hashText(of) % 20_000)

function script(wanted: number) {
  return (_request: unknown, number: number): ScriptedReply => {
    if (number > wanted) return 'done'
    const parallel = 1 + (number % 3 === 0 ? 1 : 0)
    const looks = Array.from({ length: parallel }, (_, index) => ({
      name: 'Look',
      input: { of: `file ${number}.${index}` },
    }))
    return { ...calls(...looks), text: `Turn ${number}.`, thinking: `thought ${number}` }
  }
}

interface Service extends Partial<WindowOptions> {
  /** What its usage reports: its own count, or our estimate. */
  readonly reports?: 'its count' | 'our estimate'
}

function world(wanted: number, { reports = 'its count', ...service }: Service, layers: ContextLayersOptions = {}) {
  const model: WindowedModel = windowedModel(
    (request, number) => {
      const reply = script(wanted)(request, number)
      return typeof reply === 'object' && reports === 'our estimate'
        ? { ...reply, usage: { input_tokens: Math.round((model.acceptedTokens.at(-1) ?? 0) / 1.4) } }
        : reply
    },
    // The summary contains nothing: the code pins binding instructions.
    { window: 30_000, factor: 1.4, summary: () => 'Nothing to say.', ...service },
  )
  const options: RunOptions = {
    model,
    maxTurns: 10_000,
    tools: [reader('Look', ({ of }) => 'r'.repeat(lengthOf(String(of))))],
    context: contextLayers(layers),
    clock: createFakeClock({ autoAdvance: true }),
  }
  return { model, options }
}

async function runOn(
  { options }: Pick<ReturnType<typeof world>, 'options'>,
  start: { readonly prompt: string; readonly transcript: Transcript; readonly learned?: LearnedContext },
  steers: readonly string[] = [],
): Promise<RunState> {
  const running = streamRun(startRun(start), options)
  const waiting = [...steers]
  for await (const event of running) {
    if (event.type !== 'turn_start' || waiting.length === 0) continue
    running.steer(waiting.shift() ?? '')
  }
  const { terminal, state } = await running.ended
  expect(terminal.reason).toBe('completed')
  return state
}

const learnedOf = ({ spent: { tokenRatio, windows } }: RunState): LearnedContext => ({ tokenRatio, windows })

/** Ten short runs with a rule each, and a long one with ten more rules during the run. */
async function session(
  service: Service,
): Promise<{ readonly models: readonly WindowedModel[]; readonly state: RunState }> {
  const models: WindowedModel[] = []
  let state: RunState | undefined
  for (let index = 0; index < 10; index++) {
    const each = world(2, service)
    models.push(each.model)
    const before = state
    state = await runOn(each, {
      prompt: bindingRules[index] ?? '',
      transcript: before?.transcript ?? Transcript.empty(),
      ...(before !== undefined && { learned: learnedOf(before) }),
    })
  }
  const last = world(turns - 20, service)
  models.push(last.model)
  if (state === undefined) throw new Error('no run')
  state = await runOn(
    last,
    { prompt: 'Now all of it.', transcript: state.transcript, learned: learnedOf(state) },
    bindingRules.slice(10),
  )
  return { models, state }
}

const lastRequest = (model: WindowedModel): string =>
  JSON.stringify(model.requests.findLast((request) => !isQuestion(request))?.messages)

describe(`a session of ${turns} turns at a window of 30,000 tokens, and results of up to 20 kB`, () => {
  test.each<[string, Service]>([
    ['the service reports how much was sent and how much fits', { refusalDetail: 'both' }],
    ['it reports what fits', { refusalDetail: 'limit' }],
    ['it reports nothing', { refusalDetail: 'nothing' }],
    ['it reports nothing, and its usage is far from its count', { refusalDetail: 'nothing', reports: 'our estimate' }],
    ['its window is smaller than we assume', { refusalDetail: 'both', believed: 200_000 }],
    ['its window is smaller than we assume, and it reports nothing', { refusalDetail: 'nothing', believed: 200_000 }],
  ])(
    'completes, every request is valid, and binding rules remain word for word: %s',
    { timeout },
    async (_name, service) => {
      const { models, state } = await session(service)
      const model = models.at(-1)
      if (model === undefined) throw new Error('no model')
      expect(models.flatMap(({ problems }) => problems)).toEqual([])
      expect(state.transcript.lastReply()?.content).toEqual([{ type: 'text', text: 'done' }])
      const lastPrompt = lastRequest(model)
      for (const rule of bindingRules) expect(lastPrompt).toContain(JSON.stringify(rule).slice(1, -1))
      // Once each: rules that were pinned repeatedly would fill the window.
      for (const rule of bindingRules) expect(lastPrompt.split(JSON.stringify(rule).slice(1, -1))).toHaveLength(2)
      const refused = models.reduce((sum, each) => sum + each.refused.length, 0)
      const asked = models.reduce((sum, each) => sum + each.requests.length, 0)
      const questions = models.reduce((sum, each) => sum + each.requests.filter(isQuestion).length, 0)
      console.log(`${_name}: ${asked} requests, ${refused} refused, ${questions} questions`)
      // A service that reports its limits refuses once or twice, and is known from then on.
      expect(refused).toBeLessThanOrEqual(service.refusalDetail === 'both' ? 3 : asked / 4)
    },
  )
})

describe('the same, killed in the middle and resumed', () => {
  const layerings: readonly [string, ContextLayersOptions][] = [
    ['with all layers', {}],
    ['with summaries only', { clearResults: false }],
    ['with full summaries only', { clearResults: false, collapse: false }],
  ]
  test.each(sampled(layerings, { deep: 1, quick: 3 }))(
    'reaches its end, and repeats no paid request: %s',
    { timeout },
    async (_name, layers) => {
      const wanted = isDeep ? 150 : 60
      const prompt = bindingRules.join('\n')
      const newWorld = () => world(wanted, { refusalDetail: 'both' }, layers)
      const records = await killedAfter(Infinity, newWorld().options, { prompt })
      const whole = newWorld()
      const state = await runOn(whole, { prompt, transcript: Transcript.empty() })
      expect(state.spent.compactions).toBeGreaterThanOrEqual(layers.clearResults === false ? 3 : 0)
      const kills = isWhole ? 12 : 3
      for (let kill = 1; kill <= kills; kill++) {
        const { model, options } = newWorld()
        const left = await killedAfter(Math.floor((records.length * kill) / (kills + 1)), options, { prompt })
        const paid = new Set(left.flatMap((record) => (record.type === 'result' ? [record.key] : [])))
        const before = model.requests.length
        const { terminal, state: resumed } = await resume(left, options).loop.ended
        expect(terminal.reason).toBe('completed')
        expect(model.problems).toEqual([])
        const keys = model.requests.slice(before).map(({ idempotencyKey: key }) => key.slice(key.indexOf('/') + 1))
        expect(keys.filter((key) => paid.has(key))).toEqual([])
        for (const rule of bindingRules) expect(lastRequest(model)).toContain(JSON.stringify(rule).slice(1, -1))
        // Summaries made before the kill are not made again.
        expect(resumed.spent.compactions).toBe(state.spent.compactions)
      }
    },
  )
})

describe('a session of 300 turns at a window of 200,000 tokens', () => {
  /** Tokens of a request that its service has in its cache: the prefix shared with one of the three previous requests. */
  const cachedIn = (request: ModelRequest, before: readonly ModelRequest[]): number => {
    let most = 0
    for (const other of before) {
      if (other.system !== request.system || JSON.stringify(other.tools) !== JSON.stringify(request.tools)) continue
      const differs = request.messages.findIndex((message, index) => !isSame(message, other.messages[index]))
      most = Math.max(most, plainTokensOf(request.messages.slice(0, differs < 0 ? request.messages.length : differs)))
    }
    return most
  }
  const isSame = (one: ModelMessage, other: ModelMessage | undefined): boolean =>
    one === other || (other !== undefined && JSON.stringify(one) === JSON.stringify(other))

  test(
    'reads more than nine tenths of its input from the cache, although old results are pruned',
    { timeout },
    async () => {
      const { model, options } = world(300, { window: 200_000, factor: 1 })
      const cleared: number[] = []
      const running = streamRun(startRun({ prompt: 'All of it.' }), options)
      for await (const event of running) if (event.type === 'results_cleared') cleared.push(event.calls)
      const { terminal, state } = await running.ended
      expect(terminal.reason).toBe('completed')
      expect(cleared.length).toBeGreaterThanOrEqual(3)
      let cached = 0
      let sent = 0
      for (const [index, request] of model.requests.entries()) {
        cached += cachedIn(request, model.requests.slice(Math.max(0, index - 3), index))
        sent += plainTokensOf(request.messages)
      }
      console.log(
        `${Math.round((cached / sent) * 1_000) / 10} % of ${sent} tokens cached, ${cleared.length} snips, ${state.spent.compactions} compactions`,
      )
      expect(cached / sent).toBeGreaterThan(0.9)
    },
  )
})
