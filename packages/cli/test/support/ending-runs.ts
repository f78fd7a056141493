import { createSession, type Session } from '@halting/core/session'
import {
  AgentStopException,
  CallableHook,
  noProgress,
  type QueryOptions,
  StopSignal,
  type EndingReason,
} from '@halting/core'
import { FinishReasonHook } from '@halting/core/compat'
import { plainContext } from '@halting/core/adapters'
import { createFakeClock, type FakeClock, type ScriptedReply, scriptedModel } from '@halting/core/testing'

// One run for each ending of the table: real ones, with a scripted model and a clock that the test moves.

/** How a run can affect its surroundings. */
export interface RunControls {
  readonly session: Session
  readonly clock: FakeClock
  /** The user ends the run, in the way of each frontend. */
  readonly cancel: () => void
  /** The reader of the run disconnects. */
  readonly leave: () => void
}

export interface EndingRun {
  readonly replies: readonly ScriptedReply[] | (() => ScriptedReply)
  readonly options?: Partial<QueryOptions>
  readonly model?: Parameters<typeof scriptedModel>[1]
  /** What happens when the model writes `waits`, or a tool starts. */
  readonly meanwhile?: (around: RunControls) => void
}

type Tool = NonNullable<QueryOptions['tools']>[number]

/** Each request takes this long, and costs at most its reservation. */
const requestMs = 10_000
const prices = { cost: () => 0.25, worstCase: () => 0.3 }
const waits = 'I wait'

function tool(name: string, execute: Extract<Tool, { execute: unknown }>['execute']): Tool {
  return { name, description: name, inputSchema: { type: 'object', properties: {} }, readOnly: true, execute }
}

const calls = (name: string): ScriptedReply => ({
  toolCalls: [{ name }],
  usage: { input_tokens: 400, output_tokens: 50 },
})
const forever = (): ScriptedReply => calls('Look')
const waitsForever: ScriptedReply = { hang: true, text: waits }
const fails = (kind: 'prompt_too_long' | 'image' | 'overloaded', status: number, message: string): ScriptedReply => ({
  error: { kind, status, message },
})

/** A pause ends once the stop was requested, whichever comes first: the run sees it at the cancellation point after that call. */
function restUntilStopped(): { readonly over: () => Promise<string>; readonly end: () => void } {
  let ended = 0
  const resting: (() => void)[] = []
  return {
    over: () =>
      new Promise((resolve) => {
        if (ended === 0) resting.push(() => resolve('rested'))
        else {
          ended--
          resolve('rested')
        }
      }),
    end() {
      const first = resting.shift()
      if (first === undefined) ended++
      else first()
    },
  }
}

const rest = restUntilStopped()

const tools: readonly Tool[] = [
  tool('Look', () => 'nothing'),
  tool(
    'Wait',
    (_input, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  ),
  tool('Rest', () => rest.over()),
  tool('Submit', () => {
    throw new AgentStopException({ signal: new StopSignal({ reason: 'stop_requested', message: 'Submitted' }) })
  }),
]

/** How each ending happens. A reason without a row does not compile. */
export const endingRuns: { readonly [reason in EndingReason]: EndingRun } = {
  completed: { replies: [calls('Look'), 'Done.'] },
  finish_reason: {
    replies: [{ text: 'Half.', stopReason: 'stop_sequence' }],
    options: { stopWhen: new FinishReasonHook(['stop_sequence']) },
  },
  stop_requested: { replies: [calls('Submit')] },
  max_turns: { replies: forever, options: { maxTurns: 4 } },
  max_tool_calls: { replies: forever, options: { maxToolCalls: 4 } },
  max_budget_usd: { replies: forever, options: { maxBudgetUsd: 1 } },
  token_limit: { replies: forever, options: { maxTotalTokens: 4_000 }, model: { maxOutputTokens: 1_000 } },
  max_output_tokens: {
    replies: () => ({ text: 'part', stopReason: 'max_tokens', usage: { output_tokens: 100 } }),
    model: { maxOutputTokens: 100, defaultOutputTokens: 50 },
  },
  time_limit: {
    replies: [waitsForever],
    options: { maxDurationMs: 600_000 },
    meanwhile: ({ clock }) => void clock.advance(600_000),
  },
  no_progress: { replies: forever, options: { stopWhen: noProgress() } },
  compaction_thrash: {
    replies: ['never'],
    options: { context: { ...plainContext, beforeRequest: () => 'thrash' } },
  },
  blocking_limit: {
    replies: [{ toolCalls: [{ name: 'Look' }], usage: { input_tokens: 19_000, output_tokens: 900 } }],
    model: { contextWindow: 20_000 },
    options: { context: plainContext },
  },
  structured_output_retry_exhausted: {
    replies: () => 'no JSON',
    options: { output: { check: () => ({ fits: false, message: 'it is not JSON' }) } },
  },
  hook_stopped: {
    replies: [calls('Look')],
    options: {
      hooks: [
        new CallableHook((context) => context.withContinuationPrevented('The build is red'), {
          triggers: ['afterToolUse'],
        }),
      ],
    },
  },
  stop_hook_prevented: {
    replies: ['Answer.'],
    options: { stopHooks: [{ id: 'enough', handle: () => ({ prevent: 'Enough for today' }) }] },
  },
  goal_unmet: {
    replies: () => 'Done.',
    options: {
      until: [{ name: 'npm test', check: () => ({ met: false, exitCode: 1, report: '3 failed' }) }],
      maxGoalTries: 2,
    },
  },
  stop_hook_unmet: {
    replies: () => 'Answer.',
    options: { stopHooks: [{ id: 'tests', handle: () => ({ block: 'The tests fail\n3 of 40' }) }] },
  },
  needs_approval: {
    replies: [calls('Look')],
    options: {
      hooks: [new CallableHook((context) => context.withPermission('defer'), { triggers: ['beforeToolUse'] })],
    },
  },
  // No frontend has a key or a request for it, since each ends a run at once; hooks, guards and programs with a session can request it.
  user_requested: {
    replies: () => calls('Rest'),
    meanwhile({ session }) {
      session.stop()
      rest.end()
    },
  },
  aborted_streaming: { replies: [waitsForever], meanwhile: ({ cancel }) => cancel() },
  aborted_tools: { replies: [calls('Wait')], meanwhile: ({ cancel }) => cancel() },
  abandoned: { replies: [waitsForever], meanwhile: ({ leave }) => leave() },
  prompt_too_long: {
    replies: [fails('prompt_too_long', 413, 'prompt is too long: 210000 tokens > 200000 maximum')],
  },
  model_error: { replies: () => fails('overloaded', 529, 'Overloaded'), options: { maxRetries: 3 } },
  refusal: { replies: [{ text: 'No.', stopReason: 'refusal' }] },
  no_answer: { replies: [calls('Look'), '', ''] },
  image_error: {
    replies: () => fails('image', 400, 'The image has more than 8000 pixels in one direction'),
  },
  error: {
    replies: [calls('Look')],
    options: {
      stopWhen: {
        name: 'broken',
        checkpoints: ['after_tools'],
        evaluate: () => {
          throw new Error('guard bug')
        },
      },
    },
  },
}

/** The parts of a session for the run. */
export function sessionPartsOf({ replies, options, model }: EndingRun): {
  readonly options: QueryOptions
  readonly clock: FakeClock
} {
  const clock = createFakeClock()
  const scripted = scriptedModel(typeof replies === 'function' ? () => replies() : replies, model)
  const timed: QueryOptions['model'] = {
    ...scripted,
    async call(request, call) {
      await clock.advance(requestMs)
      return scripted.call(request, call)
    },
  }
  return { options: { model: timed, tools, prices, clock, ...options }, clock }
}

/** Triggers the event that the run is about. */
export function triggerEvent({ meanwhile }: EndingRun, around: RunControls): void {
  around.session.listen((event) => {
    if (event.type !== 'loop') return
    const { event: runEvent } = event
    if (runEvent.type === 'retry') void around.clock.advance(runEvent.delayMs)
    const waitsNow =
      runEvent.type === 'tool_start' ||
      (runEvent.type === 'model_update' && runEvent.update.type === 'text_delta' && runEvent.update.text === waits)
    // When all of them have been emitted.
    if (waitsNow && meanwhile !== undefined) setImmediate(() => meanwhile(around))
  })
}

/** A session of the run, for a frontend that needs nothing else. */
export function openEndingRun(run: EndingRun, cwd: string, ways: Pick<RunControls, 'cancel' | 'leave'>): Session {
  const { options, clock } = sessionPartsOf(run)
  const session = createSession({
    options,
    journal: undefined,
    answersQuestions: true,
    permissions: { mode: 'default' },
    cwd,
    end: async () => undefined,
  })
  triggerEvent(run, { session, clock, ...ways })
  return session
}
