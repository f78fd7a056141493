// No content of a conversation is exported unless it is requested, whichever component repeats it, and however a run
// ends.
import {
  AgentStopException,
  CallableHook,
  type AgentTool,
  type AnyTool,
  type HookContext,
  type RunOptions,
  type StartOptions,
  type StopHook,
  type Tool,
} from '@halting/core'
import { contextLayers, outputSchemaFromCheck } from '@halting/core/adapters'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { metricNames } from '../src/index.ts'
import { collector, listenerOf, prices, runToEnd, type Collector } from './support.ts'

/** In every text of a conversation, but in no name. */
const secret = 'canary'

const tool = (name: string, execute: Tool['execute']): Tool => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  readOnly: true,
  execute,
})
const agent: AgentTool = {
  name: 'Agent',
  description: 'a subagent',
  inputSchema: { type: 'object' },
  readOnly: true,
  spawn: () => ({ prompt: `${secret} of a task`, agentType: 'scout', description: `${secret} of a description` }),
}
const tools = [
  tool('Look', () => `${secret} seen`),
  tool('Breaks', () => {
    throw new Error(`${secret} in an error`)
  }),
  tool('Stops', () => {
    throw new AgentStopException({ message: `${secret} of a tool that stops` })
  }),
  agent,
  // Created only for this list.
] as readonly AnyTool[]

const input = { path: `/home/${secret}/notes.md`, [secret]: true }
const calls = (...names: readonly string[]): ScriptedReply => ({
  thinking: `${secret} of a thought`,
  text: `${secret} of a reply`,
  toolCalls: names.map((name) => ({ name, input })),
})
const answer: ScriptedReply = { thinking: `${secret} again`, text: `${secret} of the answer` }
const saying = (text: string): Error => new Error(`${secret} ${text}`)

const prevents: StopHook = { id: 'checks', handle: () => ({ prevent: `${secret} of a stop hook` }) }
const sendsBack: StopHook = {
  id: 'sends-back',
  handle: () => ({ block: `${secret} of what is missing`, systemMessage: `${secret} to a person` }),
}
const hook = (trigger: 'beforeToolUse' | 'afterToolUse' | 'beforeCompact', handle: CallableHookHandler): CallableHook =>
  new CallableHook(handle, { triggers: [trigger], id: 'watches' })
type CallableHookHandler = ConstructorParameters<typeof CallableHook>[0]

/** Blocks the first compaction of each run with its own message. */
const skipped = new WeakSet<AbortSignal>()
function skipsFirst(context: HookContext): HookContext {
  if (skipped.has(context.signal)) return context
  skipped.add(context.signal)
  return context.withBlocked(`${secret} of what is to stay`)
}

interface Case {
  readonly what: string
  readonly ends: string
  readonly replies: readonly ScriptedReply[]
  readonly options?: Partial<Omit<RunOptions, 'steps' | 'clock' | 'model'>>
  readonly start?: StartOptions
  /** Whether the ending has the secret if content is exported. */
  readonly isEndingExported?: boolean
}

const cases: readonly Case[] = [
  {
    what: 'calls, failures and a subagent',
    ends: 'completed',
    replies: [calls('Look', 'Breaks', 'Agent'), answer, answer],
  },
  {
    what: 'a denied call',
    ends: 'completed',
    replies: [calls('Look'), answer],
    options: {
      permissions: {
        denies: () => undefined,
        decide: () => ({ behavior: 'deny', message: `${secret} of a person who says no` }),
      },
    },
  },
  {
    what: 'a call that waits for approval',
    ends: 'needs_approval',
    replies: [calls('Look')],
    options: {
      permissions: { denies: () => undefined, decide: () => ({ behavior: 'ask', message: `${secret}: may it?` }) },
    },
  },
  {
    what: 'a tool that stops the run',
    ends: 'stop_requested',
    replies: [calls('Stops')],
    isEndingExported: true,
  },
  {
    what: 'a hook that stops the run',
    ends: 'hook_stopped',
    replies: [calls('Look')],
    options: {
      hooks: [hook('afterToolUse', (context) => context.withContinuationPrevented(`${secret} of a hook`))],
    },
    isEndingExported: true,
  },
  {
    what: 'a hook that blocks a call, and one that throws',
    ends: 'completed',
    replies: [calls('Look'), answer],
    options: {
      hooks: [
        hook('beforeToolUse', (context) => context.withBlocked(`${secret} of a block`)),
        hook('beforeToolUse', () => {
          throw saying('of a hook that fails')
        }),
      ],
    },
  },
  {
    what: 'a stop hook that prevents going on',
    ends: 'stop_hook_prevented',
    replies: [answer],
    options: { stopHooks: [prevents] },
    isEndingExported: true,
  },
  {
    what: 'a stop hook that sends back as often as it may',
    ends: 'stop_hook_unmet',
    replies: Array.from({ length: 20 }, () => answer),
    options: { stopHooks: [sendsBack] },
    isEndingExported: true,
  },
  {
    what: 'a goal with a failing check, and one that a model judges',
    ends: 'goal_unmet',
    replies: Array.from({ length: 4 }, () => answer),
    options: {
      maxGoalTries: 1,
      until: [
        { name: 'npm test', check: () => ({ met: true, exitCode: 0, report: `${secret} of a report` }) },
        { name: `${secret} of a wish`, judged: true, check: () => Promise.reject(saying('of a judge')) },
      ],
    },
    isEndingExported: true,
  },
  {
    what: 'an error policy that ends the run',
    ends: 'error',
    replies: [calls('Breaks')],
    options: { errorPolicy: () => true },
    isEndingExported: true,
  },
  {
    what: 'answers that fit no schema',
    ends: 'structured_output_retry_exhausted',
    replies: Array.from({ length: 7 }, () => answer),
    options: { output: outputSchemaFromCheck({ type: 'object' }, () => ({ fits: false, message: '' })) },
    isEndingExported: true,
  },
  {
    what: 'a compaction that a hook skips, and the summary of one',
    ends: 'completed',
    replies: [...Array.from({ length: 2 }, () => calls('Look')), answer, calls('Look'), answer],
    options: {
      context: contextLayers({ collapse: false, clearResults: false, compactAt: 150 }),
      hooks: [hook('beforeCompact', skipsFirst)],
    },
  },
]

async function exportedTexts(to: Collector): Promise<string> {
  const metrics = await Promise.all(Object.values(metricNames).map(async ([name]) => to.points(name)))
  const spans = to.spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status }))
  return JSON.stringify([spans, metrics])
}

async function runOf(each: Case, content: boolean) {
  const to = collector()
  const { onEvent } = await listenerOf(to, { content })
  const model = scriptedModel(each.replies, { contextWindow: 60_000, maxOutputTokens: 500 })
  const start = each.start ?? { prompt: `${secret} of a person` }
  const { terminal } = await runToEnd({ tools, prices, model, ...each.options }, onEvent, start)
  const ending = to.spans().at(-1)?.attributes['halting.stop.message']
  return { reason: terminal.reason, texts: await exportedTexts(to), ending: String(ending) }
}

test.each(cases)('$what', async (each) => {
  const without = await runOf(each, false)
  expect(without.reason).toBe(each.ends)
  expect(without.texts).not.toContain(secret)
  const { texts, ending } = await runOf(each, true)
  expect(texts).toContain(secret)
  expect(ending.includes(secret)).toBe(each.isEndingExported === true)
})
