import {
  certificate,
  type Certificate,
  type Prices,
  type AbortCause,
  noProgress,
  type Guard,
  type HookTrigger,
  type Json,
  type MessageContent,
  type ModelMessage,
  type Model,
  type ModelReply,
  type ModelRequest,
  type RunOptions,
  type SettingsChange,
  StopSignal,
  AgentStopException,
  type Permissions,
  type AnyTool,
} from '@halting/core'
import { type Background, roughTokens } from '@halting/core/adapters'
import type { Clock } from '@halting/core/steps'
import { transcriptProblems } from '@halting/core/testing'
import { createInbox, type OpenInbox, estimateMessages, garbage } from './core-internals.ts'
import {
  askLimitOf,
  contextOf,
  guardOf,
  hooksOf,
  outputOf,
  permissionsOf,
  precheckOf,
  stopHooksOf,
  type PathContext,
  type HookAnswers,
  type LimitAnswerName,
  fileWorkAt,
  verificationOf,
  type ScenarioVerification,
} from './answers.ts'
import { toolsOfBackground, VirtualCommands } from './background-world.ts'
import type { Choices } from './choices.ts'
import { goalOf, goalOptions, type ScenarioGoals } from './goal-answers.ts'
import type { OtherProgram } from './other-programs.ts'
import { agentOf, replyOf, type ReplyKind } from './replies.ts'
import type { Snapshots } from './snapshots.ts'
import { ExploredStandingBudgets, type ScenarioStanding } from './standing-budgets.ts'
import { isHanging, overbilling } from './malformed-replies.ts'
import { requiredPorts, withUntrustedPorts, type UntrustedPort } from './hostile-ports.ts'
import { createVirtualTime } from './virtual-time.ts'

/** What a scenario lets happen. */
export interface Scenario {
  readonly name: string
  /** Options of every run in it. */
  readonly options?: Partial<RunOptions>
  /** What the model may answer to each request; the first is the plain answer while there are turns to go. */
  readonly replies: readonly ReplyKind[]
  /** What it answers once `depth` requests were made. */
  readonly last?: ReplyKind
  /** From this request on the model gives its last answer; 5 when absent. */
  readonly depth?: number
  /** What it may answer to the first request of a subagent; when absent, one by one `text` and a `read` before it. */
  readonly agents?: readonly ReplyKind[]
  /** Causes of an abort that may come at every await. */
  readonly aborts?: readonly (AbortCause | OddReason)[]
  /** Answers that hooks on these triggers may give. */
  readonly hooks?: readonly HookTrigger[]
  /** `replacing`: these answers replace what the model is shown. `all` when absent. */
  readonly hookAnswers?: HookAnswers
  readonly stopHooks?: boolean
  readonly permissions?: boolean
  /** The tool that writes may know beforehand that it cannot succeed. */
  readonly prechecks?: boolean
  /** Messages and stop requests that may come in. */
  readonly inbox?: boolean
  /** Something waits: a tool, or requests for their service. Messages, stops, settings and retries may come in during waits, too. */
  readonly waits?: boolean
  /** What a person may set while it runs, by a name for the path. The rules then know a mode `closed`, and there is a model `other`. */
  readonly settings?: { readonly [name: string]: SettingsChange }
  /** The run pauses at its limits for this long, in milliseconds, and these are what a person may say. */
  readonly pauses?: { readonly forMs: number; readonly answers: readonly LimitAnswerName[] }
  readonly context?: boolean
  readonly fallback?: boolean
  readonly noProgress?: boolean
  /** A guard that may fire at every checkpoint. */
  readonly guards?: boolean
  /** An output schema that an answer may not fit. */
  readonly output?: boolean
  /** What must hold before a run is done, and what its checks may come to. */
  readonly goals?: ScenarioGoals
  /** The same for each subagent. */
  readonly agentGoals?: ScenarioGoals
  /** The model may be asked to verify its last change: what calls did to files, and who names checks. */
  readonly verification?: ScenarioVerification
  /** What the model may say when it is asked for its last answer. */
  readonly closings?: readonly ReplyKind[]
  readonly contextWindow?: number
  /** The service counts what it is sent, so that a window fills up; when absent, it says the same of every request. */
  readonly counts?: boolean
  /** The consumer may leave at every await. */
  readonly abandons?: boolean
  /** What the person says; `do it` unless said otherwise. */
  readonly prompt?: MessageContent
  /** Whose answers may be garbage. */
  readonly untrustedPorts?: readonly UntrustedPort[]
  /** Of what strangers may do, only this; all of it when absent. */
  readonly misbehaviors?: readonly string[]
  /** Garbage that may be handed in as a message or a stop, by what it is. */
  readonly oddMessages?: readonly string[]
  /** What a person may answer to a call that waits, by a name for the path. */
  readonly oddApprovals?: { readonly [name: string]: Json }
  /** Programs that may go on with the run after a kill. */
  readonly otherPrograms?: { readonly [name: string]: OtherProgram }
  /** There are standing budgets, and what they may answer. */
  readonly standing?: ScenarioStanding
  /** There is work in the background, and this is done with it at the end. */
  readonly background?: Background['atEnd']
  /** Deviations of a path. */
  readonly deviations: number
}

/** One world: everything that a path's runs touch, and what they did to it. */
export interface World {
  /** Those of the program that runs now. */
  options: RunOptions
  readonly inbox: OpenInbox
  readonly clock: Clock
  /** How often each effect with a side effect was begun, by idempotency key. */
  readonly effects: ReadonlyMap<string, number>
  /** What the model was shown that the API would refuse. */
  readonly problems: readonly string[]
  /** What subagents' models were shown, by idempotency key. */
  readonly shownToAgents: ReadonlyMap<string, readonly ModelMessage[]>
  /** What the loop handed out. */
  readonly snapshots: Snapshots
  /** What was handed in, and how many records there were then. */
  readonly externalInputs: readonly ExternalInput[]
  /** What the wall clock showed at each record. */
  readonly wallAt: number[]
  /** A port whose answer is needed may fail: then the run breaks. */
  readonly mayBreak: boolean
  /** More may be billed than was reserved: a service keeps to no cap, or a limit is lower than it was. */
  mayOverdraw: boolean
  /** The run began under other options. */
  isOtherProgram: boolean
  /** What the standing budgets of this process counted. */
  readonly standing: ExploredStandingBudgets | undefined
  /** No more calls of tools than these may begin, whatever is set and whichever program goes on; undefined for no limit. */
  readonly mostCalls: number | undefined
  /** What the options promise, as they are without strangers. */
  readonly certificate: Certificate
  /** The person's answer to a call that waits. */
  approval(key: string): Json
  /** Called when the consumer leaves. */
  onLeave?: () => void
  /** Lets come in what may come in at this moment of this path. */
  moment(label: string, records: number): void
}

export type ExternalInput = {
  readonly label: string
  readonly what: 'steer' | 'follow_up' | 'stop' | 'abort' | 'settings' | 'retry'
  readonly records: number
  /** What was set. */
  readonly change?: SettingsChange
  /** What is in the message, or in the stop: garbage of this name. */
  readonly odd?: string
}

/** An abort whose reason is this garbage. */
type OddReason = `odd: ${string}`

const makeOdd = (what: string): unknown => garbage.find(([name]) => name === what)?.[1]()

const explorerPrices: Prices = Object.freeze<Prices>({
  cost: (_model, usage) => (usage.input_tokens * 3 + usage.output_tokens * 15) / 1e6,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens * 6 + outputTokens * 15) / 1e6,
  leastPerToken: () => 3 / 1e6,
})

/** What was handed in before this process began. */
export interface EarlierInputs {
  readonly labels: ReadonlySet<string>
  /** Not taken yet. */
  readonly waiting: readonly ExternalInput[]
  /** Ids of messages that were taken. They are handed in again, and must be passed over. */
  readonly idsTaken: readonly string[]
  /** What the wall clock showed at each record; it goes on from there. */
  readonly wallAt?: readonly number[]
}

const noEarlierInputs: EarlierInputs = { labels: new Set(), waiting: [], idsTaken: [] }

/** What a world is built from: the scenario, the path that decides, and what the path has touched so far. */
interface WorldParts extends PathContext {
  readonly scenario: Scenario
  readonly controller: AbortController
  readonly effects: Map<string, number>
  readonly standing: ExploredStandingBudgets | undefined
}

export function createWorld(
  scenario: Scenario,
  choices: Choices,
  snapshots: Snapshots,
  before: EarlierInputs = noEarlierInputs,
): World {
  const inbox = createInbox(() => before.idsTaken)
  const sendInput = inputSender(inbox)
  for (const each of before.waiting) sendInput(each)
  for (const label of before.idsTaken) sendInput({ what: 'steer', label })
  const time = createVirtualTime(before.wallAt?.at(-1) ?? 1_000)
  const { untrustedPorts: strangers, oddApprovals: answers = {} } = scenario
  const controller = new AbortController()
  const abort = (label: string): void => {
    const cause = choices.choose(`abort while ${label}`, scenario.aborts ?? (['user'] as const))
    void Promise.resolve().then(() => controller.abort(reasonOf(cause)))
  }
  const standing = scenario.standing && new ExploredStandingBudgets(scenario.standing, { choices, time, abort })
  const parts: WorldParts = { scenario, choices, snapshots, time, controller, effects: new Map(), standing }
  const shown: ModelParts = { scenario, choices, snapshots, time, problems: [], shownToAgents: new Map(), abort }
  const replies = repliesOf(shown, () => (world.mayOverdraw = true))
  const plainOptions = plainOptionsOf(parts, replies, abort)
  const externalInputs: ExternalInput[] = []
  const world: World = {
    options:
      strangers === undefined
        ? plainOptions
        : withUntrustedPorts(plainOptions, strangers, choices, scenario.misbehaviors),
    mayBreak: strangers?.some((who) => requiredPorts.has(who)) !== false,
    standing,
    mostCalls: mostCallsOf(scenario),
    certificate: certificate(plainOptions),
    mayOverdraw: false,
    isOtherProgram: false,
    approval: (key) => answers[choices.choose(`approval ${key}`, Object.keys(answers))] ?? null,
    inbox,
    clock: time,
    effects: parts.effects,
    problems: shown.problems,
    shownToAgents: shown.shownToAgents,
    snapshots,
    externalInputs,
    wallAt: [...(before.wallAt ?? [])],
    moment(label, records) {
      mayLeave(world, label, choices)
      mayAbort(parts, label, () => externalInputs.push({ label, what: 'abort', records }))
      if (!mayComeIn(label, scenario) || before.labels.has(label)) return
      for (const each of inputsAt(label, scenario, choices)) {
        sendInput(each)
        externalInputs.push({ ...each, records })
      }
    },
  }
  return world
}

/** Has the consumer leave, if the path says so and it has not left yet. */
function mayLeave(world: World, label: string, choices: Choices): void {
  const { onLeave } = world
  if (onLeave === undefined || !choices.choose(`leave ${label}`, [false, true])) return
  delete world.onLeave
  onLeave()
}

/** Aborts the run, if the path says so and it is not aborted yet. */
function mayAbort({ scenario, choices, controller }: WorldParts, label: string, onAbort: () => void): void {
  if (scenario.aborts === undefined) return
  const cause = choices.choose<'none' | AbortCause | OddReason>(`abort ${label}`, ['none', ...scenario.aborts])
  if (cause === 'none' || controller.signal.aborted) return
  onAbort()
  controller.abort(reasonOf(cause))
}

type Replies = (id: string, request: ModelRequest, call: Parameters<Model['call']>[1]) => Promise<ModelReply>

/** The options of a run in this world, with every port well-behaved. */
function plainOptionsOf(parts: WorldParts, replies: Replies, abort: (label: string) => void): RunOptions {
  const { scenario, choices, time, snapshots, controller, effects, standing } = parts
  const context: PathContext = { choices, time, snapshots }
  const model = (id: string): Model => ({
    id,
    contextWindow: scenario.contextWindow ?? 100_000,
    maxOutputTokens: 8_000,
    defaultOutputTokens: 4_000,
    call(request, call) {
      const over = standing?.asked(id, request.idempotencyKey, call.signal)
      const reply = replies(id, request, call)
      return over === undefined ? reply : reply.finally(over)
    },
  })
  const guards: Guard[] = [
    ...(scenario.noProgress === true ? [noProgress()] : []),
    ...(scenario.guards === true ? [guardOf(context)] : []),
  ]
  const commands = scenario.background === undefined ? undefined : new VirtualCommands(time, scenario.background)
  return {
    model: model('primary'),
    ...(scenario.fallback === true ? { fallbackModel: model('fallback') } : {}),
    tools: toolsOf(context, effects, commands, scenario),
    ...(commands !== undefined && { background: commands }),
    prices: explorerPrices,
    graceMs: 0,
    maxRetries: 3,
    // Agents that start agents have scenarios of their own.
    maxSubagentDepth: 1,
    clock: time,
    signal: controller.signal,
    stopWhen: guards,
    ...(scenario.hooks === undefined ? {} : { hooks: hooksOf(scenario.hooks, scenario.hookAnswers ?? 'all', context) }),
    ...(scenario.stopHooks === true ? { stopHooks: stopHooksOf(context) } : {}),
    ...(scenario.permissions === true ? { permissions: permissionsOf(context) } : {}),
    ...(scenario.settings === undefined ? {} : { models: [model('other')], permissions: modePermissions }),
    ...(scenario.output === true ? { output: outputOf(context) } : {}),
    ...(scenario.context === true ? { context: contextOf(context) } : {}),
    ...goalOptions(scenario.goals, context),
    ...(standing !== undefined && { standing }),
    ...optionsOf(scenario, context, abort),
  }
}

/** Hands something in, as whoever drives a run does. */
function inputSender(inbox: OpenInbox): (input: Omit<ExternalInput, 'records'>) => void {
  return ({ what, label: id, change, odd }) => {
    // An abort that nobody recorded went with its process.
    if (what === 'abort') return
    // Plain JavaScript may hand in anything.
    const content = (odd === undefined ? undefined : makeOdd(odd)) as string | undefined
    if (what === 'retry') inbox.retryNow()
    else if (what === 'stop') inbox.stop(StopSignal.userRequested(odd === undefined ? 'stop' : content))
    else if (what === 'settings') inbox.set(change ?? {})
    else inbox.put({ id, kind: what, content: odd === undefined ? `a ${what} message` : (content as MessageContent) })
  }
}

/** Messages, stops and settings come in before steps, and while something waits. */
function mayComeIn(label: string, { waits }: Scenario): boolean {
  if (label.startsWith('before ') || label.includes('/limit_answer:')) return true
  return waits === true && /^in .*(?:tool:|\.service$)/.test(label)
}

/** What is handed in before a step: messages, a stop, settings. */
function inputsAt(
  label: string,
  { inbox, oddMessages, settings, waits }: Scenario,
  choices: Choices,
): readonly Omit<ExternalInput, 'records'>[] {
  const chosen: Omit<ExternalInput, 'records'>[] = []
  if (waits === true && /^in .*\.service$/.test(label) && choices.choose(`retry ${label}`, [false, true]))
    chosen.push({ label, what: 'retry' })
  if (inbox === true) {
    const what = choices.choose(`inbox ${label}`, ['none', 'steer', 'follow_up', 'stop'] as const)
    if (what !== 'none') chosen.push({ label, what })
  }
  if (oddMessages !== undefined) {
    const named = ['steer', 'follow_up', 'stop'].flatMap((what) => oddMessages.map((odd) => `${what}: ${odd}`))
    const [what, odd] = choices.choose(`inbox ${label}`, ['none', ...named]).split(': ')
    if (odd !== undefined && (what === 'steer' || what === 'follow_up' || what === 'stop'))
      chosen.push({ label, what, odd })
  }
  if (settings !== undefined && /^before run1\/(model|tool):|^in .*\.service$/.test(label)) {
    const change = settings[choices.choose(`set ${label}`, ['none', ...Object.keys(settings)])]
    if (change !== undefined) chosen.push({ label, what: 'settings', change })
  }
  return chosen
}

/** What the models of a world are shown, and what they answer by. */
interface ModelParts extends PathContext {
  readonly scenario: Scenario
  readonly problems: string[]
  readonly shownToAgents: Map<string, readonly ModelMessage[]>
  /** Has an abort come: nothing else would end a wait. */
  readonly abort: (label: string) => void
}

/** What a model answers to a request, as the path says. `onOverbilling`: one bills more than was reserved. */
function repliesOf(
  { scenario, choices, snapshots, time, problems, shownToAgents, abort }: ModelParts,
  onOverbilling: () => void,
): Replies {
  const agentReply = (agent: number, key: string): ReplyKind => {
    if (!/model:1\.\d+$/.test(key)) return 'text'
    if (scenario.agents !== undefined) return choices.choose(`reply ${key}`, scenario.agents)
    return agent % 2 === 0 ? 'read' : 'text'
  }
  const replyKind = ({ idempotencyKey, toolChoice, tools }: ModelRequest, last: ReplyKind | undefined): ReplyKind => {
    // A question of a layer is asked as the run asks; its own reply is what the scenario says of last answers.
    const isQuestion = tools.length > 0 && /\/(?:compact|stage):/.test(idempotencyKey)
    const isOfHook = idempotencyKey.includes('/asked/')
    if (toolChoice === 'none' || isQuestion || isOfHook)
      return choices.choose(`closing ${idempotencyKey}`, scenario.closings ?? (['text'] as const))
    const agent = agentOf(idempotencyKey)
    if (agent > 0) return agentReply(agent, idempotencyKey)
    return last ?? choices.choose(`reply ${idempotencyKey}`, scenario.replies)
  }
  return async (id: string, request: ModelRequest, call: Parameters<Model['call']>[1]): Promise<ModelReply> => {
    const { idempotencyKey } = request
    for (const message of request.messages) snapshots.freeze(message)
    const agent = agentOf(idempotencyKey)
    if (agent === 0) time.take(1)
    else {
      shownToAgents.set(idempotencyKey, [...request.messages])
      // The first one asked is the last one answered.
      await time.pass(Math.max(5, 60 - 15 * agent), call.signal)
    }
    problems.push(...transcriptProblems(request.messages).map((problem) => `${idempotencyKey}: ${problem}`))
    const last = requestNumber(idempotencyKey) > (scenario.depth ?? 5)
    const plain = scenario.last ?? 'text'
    const kind = replyKind(request, last ? plain : undefined)
    // Whoever does not answer is aborted: nothing else would end the wait.
    if (kind === 'hang' || kind === 'hang after call' || kind === 'deaf' || isHanging(kind)) {
      abort(`${idempotencyKey} hangs`)
    }
    if (overbilling.has(kind)) onOverbilling()
    const reply = await replyOf(kind, { request, call, model: id, key: idempotencyKey })
    return scenario.counts === true ? withCountedInput(reply, request) : reply
  }
}

function withCountedInput({ message, ...rest }: ModelReply, { system, messages }: ModelRequest): ModelReply {
  const input_tokens = roughTokens.estimate(system) + estimateMessages(roughTokens, messages)
  return { ...rest, message: { ...message, usage: { ...message.usage, input_tokens } } }
}

/** Those of the scenario, what happens at a limit, and whether changes are heeded that nobody checked. */
function optionsOf(
  { pauses, options, verification: changes }: Scenario,
  context: PathContext,
  abort: (label: string) => void,
): Partial<RunOptions> {
  const verification = changes === undefined ? {} : { verification: verificationOf(changes, context) }
  if (pauses === undefined) return { ...verification, ...options }
  return {
    ...verification,
    onLimit: 'pause',
    pauseForMs: pauses.forMs,
    askLimit: askLimitOf(pauses.answers, context, abort),
    ...options,
  }
}

/** The widest limit that any program or person of the scenario may set. */
function mostCallsOf({ options, settings = {}, otherPrograms = {}, pauses }: Scenario): number | undefined {
  const own = options?.maxToolCalls
  if (own === undefined || pauses !== undefined) return undefined
  const set = Object.values(settings).map(({ limits }) =>
    limits?.maxToolCalls === null ? Infinity : limits?.maxToolCalls,
  )
  const others = Object.values(otherPrograms).map((other) => other.options(options as RunOptions).maxToolCalls)
  return Math.max(own, ...[...set, ...others].map((each) => each ?? own))
}

/** What is allowed depends on the mode alone. */
const modePermissions: Permissions = {
  modes: ['closed'],
  denies: () => undefined,
  decide: ({ mode }) => (mode === 'closed' ? { behavior: 'deny', message: 'closed' } : { behavior: 'allow' }),
}

/** What an abort is given as its reason. */
function reasonOf(cause: AbortCause | OddReason): unknown {
  return cause.startsWith('odd: ') ? makeOdd(cause.slice('odd: '.length)) : cause
}

function requestNumber(key: string): number {
  return Number(/model:(\d+)\./.exec(key)?.[1] ?? 0)
}

/** Reading calls of one message end in another order than they began. */
const readingMs = [30, 10, 20]

function toolsOf(
  context: PathContext,
  effects: Map<string, number>,
  commands: VirtualCommands | undefined,
  { prechecks, agentGoals, verification, waits }: Scenario,
): readonly AnyTool[] {
  const { choices, time, snapshots } = context
  const inputSchema = { type: 'object', properties: { of: { type: 'string' } }, required: ['of'] } as const
  const begin = (key: string): void => {
    time.take(4)
    effects.set(key, (effects.get(key) ?? 0) + 1)
  }
  return [
    {
      name: 'Read',
      description: '',
      inputSchema,
      readOnly: true,
      async execute(_input, { callId, signal, state }) {
        snapshots.track('a tool', state)
        await time.pass(readingMs[Number(callId.at(-1)) % readingMs.length] ?? 0, signal)
        return `read ${callId}`
      },
    },
    {
      name: 'Write',
      description: '',
      inputSchema,
      readOnly: false,
      ...(prechecks === true && { precheck: precheckOf(context) }),
      execute(_input, { idempotencyKey, state }) {
        snapshots.track('a tool', state)
        begin(idempotencyKey)
        const outcome = choices.choose(`tool ${idempotencyKey}`, ['done', 'throws', 'stops', 'deaf'] as const)
        if (outcome === 'throws') throw new Error('the disk is full')
        if (outcome === 'stops') throw new AgentStopException({ message: 'done with it' })
        if (outcome === 'deaf') return time.pass(500).then(() => 'written late')
        if (verification === undefined) return 'written'
        return { content: 'written', fileWork: fileWorkAt(idempotencyKey, verification, context) }
      },
    },
    {
      name: 'Task',
      description: '',
      inputSchema,
      readOnly: false,
      concurrencySafe: true,
      spawn: () => ({
        prompt: 'a part of it',
        maxTurns: 2,
        ...(agentGoals !== undefined && { until: [goalOf('the part', agentGoals, context)] }),
      }),
    },
    ...(waits === true ? [waitingTool] : []),
    ...(commands === undefined ? [] : toolsOfBackground(commands, begin)),
  ]
}

/** How long a call of it waits, in milliseconds. */
const waitMs = 20

/** Waits, and says what ended that. */
const waitingTool: AnyTool = {
  name: 'Wait',
  description: '',
  inputSchema: { type: 'object' },
  readOnly: true,
  waits: true,
  execute: (_input, { wait, signal }) =>
    new Promise((resolve, reject) => {
      const abort = (): void => {
        stop?.()
        reject(signal.reason as Error)
      }
      const stop = wait?.onEnd(waitMs, (why) => {
        signal.removeEventListener('abort', abort)
        resolve(`waited: ${why}`)
      })
      signal.addEventListener('abort', abort, { once: true })
      if (signal.aborted) abort()
    }),
}
