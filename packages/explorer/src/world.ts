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
import { isHanging, overbillingReplies } from './malformed-replies.ts'
import { requiredPorts, withUntrustedPorts, type UntrustedPort } from './hostile-ports.ts'
import { createVirtualTime } from './virtual-time.ts'

/** What may happen in a scenario. */
export interface Scenario {
  readonly name: string
  /** Options of all its runs. */
  readonly options?: Partial<RunOptions>
  /** Possible replies of the model to each request. The first is the plain reply while turns are left. */
  readonly replies: readonly ReplyKind[]
  /** The reply after `depth` requests. */
  readonly last?: ReplyKind
  /** The model gives its last answer after this many requests. Default: 5. */
  readonly depth?: number
  /** Possible replies to the first request of a subagent. Default: alternately `text`, and `read` before it. */
  readonly agents?: readonly ReplyKind[]
  /** Causes of an abort that may come at every await. */
  readonly aborts?: readonly (AbortCause | OddReason)[]
  /** Triggers of hooks that may give any answer. */
  readonly hooks?: readonly HookTrigger[]
  /** `replacing`: hooks replace what the model is shown. Default: `all`. */
  readonly hookAnswers?: HookAnswers
  readonly stopHooks?: boolean
  readonly permissions?: boolean
  /** The writing tool may know beforehand that it cannot succeed. */
  readonly prechecks?: boolean
  /** Messages and stop requests may arrive. */
  readonly inbox?: boolean
  /** A tool or a request waits. Messages, stops, settings and retries may arrive during waits, too. */
  readonly waits?: boolean
  /** Settings that a person may change during the run, by a name for the path. The rules then have a mode `closed`, and there is a model `other`. */
  readonly settings?: { readonly [name: string]: SettingsChange }
  /** The run pauses at its limits for this long, in milliseconds, and a person may give these answers. */
  readonly pauses?: { readonly forMs: number; readonly answers: readonly LimitAnswerName[] }
  readonly context?: boolean
  readonly fallback?: boolean
  readonly noProgress?: boolean
  /** A guard may fire at every checkpoint. */
  readonly guards?: boolean
  /** An answer may not fit the output schema. */
  readonly output?: boolean
  /** Goals of the run, and the possible outcomes of their checks. */
  readonly goals?: ScenarioGoals
  /** The same for each subagent. */
  readonly agentGoals?: ScenarioGoals
  /** The model may be asked to verify its last change: what calls did to files, and the port that names checks. */
  readonly verification?: ScenarioVerification
  /** Possible replies when the model is asked for its last answer. */
  readonly closings?: readonly ReplyKind[]
  readonly contextWindow?: number
  /** The service counts its input tokens, so that a window fills up. Default: the same usage for every request. */
  readonly counts?: boolean
  /** The consumer may leave at every await. */
  readonly abandons?: boolean
  /** The prompt. Default: `do it`. */
  readonly prompt?: MessageContent
  /** Ports whose answers may be malformed. */
  readonly untrustedPorts?: readonly UntrustedPort[]
  /** Allowed misbehaviors of these ports. Default: all. */
  readonly misbehaviors?: readonly string[]
  /** Malformed values that may arrive as a message or a stop, by their names. */
  readonly oddMessages?: readonly string[]
  /** Possible answers of a person to a waiting call, by a name for the path. */
  readonly oddApprovals?: { readonly [name: string]: Json }
  /** Programs that may continue the run after a kill. */
  readonly otherPrograms?: { readonly [name: string]: OtherProgram }
  /** There are standing budgets with these possible answers. */
  readonly standing?: ScenarioStanding
  /** There is background work, and this happens to it at the end. */
  readonly background?: Background['atEnd']
  /** Maximum number of deviations on a path. */
  readonly deviations: number
}

/** Everything that the runs of a path touch, and what they did to it. */
export interface World {
  /** The options of the current program. */
  options: RunOptions
  readonly inbox: OpenInbox
  readonly clock: Clock
  /** How often each side effect began, by idempotency key. */
  readonly effects: ReadonlyMap<string, number>
  /** Requests that the API would refuse. */
  readonly problems: readonly string[]
  /** What subagents' models were shown, by idempotency key. */
  readonly shownToAgents: ReadonlyMap<string, readonly ModelMessage[]>
  /** Values that the loop handed out. */
  readonly snapshots: Snapshots
  /** Inputs that were sent, and how many records there were at that time. */
  readonly externalInputs: readonly ExternalInput[]
  /** Time of the wall clock at each record. */
  readonly wallAt: number[]
  /** A required port may fail, which breaks the run. */
  readonly mayBreak: boolean
  /** More may be billed than was reserved: a service exceeds its cap, or a limit was lowered. */
  mayOverdraw: boolean
  /** The run began with other options. */
  isOtherProgram: boolean
  /** The standing budgets of this process. */
  readonly standing: ExploredStandingBudgets | undefined
  /** Maximum number of tool calls that may begin, whatever is set and whichever program continues; undefined for no limit. */
  readonly maxCalls: number | undefined
  /** What the options promise, without untrusted ports. */
  readonly certificate: Certificate
  /** The person's answer to a waiting call. */
  approval(key: string): Json
  /** Called when the consumer leaves. */
  onLeave?: () => void
  /** Sends the inputs that the path chooses for this moment. */
  moment(label: string, records: number): void
}

export type ExternalInput = {
  readonly label: string
  readonly what: 'steer' | 'follow_up' | 'stop' | 'abort' | 'settings' | 'retry'
  readonly records: number
  /** The changed settings. */
  readonly change?: SettingsChange
  /** Name of the malformed value in the message or the stop. */
  readonly odd?: string
}

/** An abort whose reason is this malformed value. */
type OddReason = `odd: ${string}`

const makeOdd = (what: string): unknown => garbage.find(([name]) => name === what)?.[1]()

const explorerPrices: Prices = Object.freeze<Prices>({
  cost: (_model, usage) => (usage.input_tokens * 3 + usage.output_tokens * 15) / 1e6,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens * 6 + outputTokens * 15) / 1e6,
  leastPerToken: () => 3 / 1e6,
})

/** Inputs that were sent before this process began. */
export interface EarlierInputs {
  readonly labels: ReadonlySet<string>
  /** Not taken yet. */
  readonly waiting: readonly ExternalInput[]
  /** Ids of messages that were taken. They are sent again, and must be ignored. */
  readonly idsTaken: readonly string[]
  /** Time of the wall clock at each record; it continues from there. */
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
    maxCalls: maxCallsOf(scenario),
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

/** Sends an input as the driver of a run does. */
function inputSender(inbox: OpenInbox): (input: Omit<ExternalInput, 'records'>) => void {
  return ({ what, label: id, change, odd }) => {
    // An abort that is not on record went with its process.
    if (what === 'abort') return
    // Plain JavaScript may pass anything.
    const content = (odd === undefined ? undefined : makeOdd(odd)) as string | undefined
    if (what === 'retry') inbox.retryNow()
    else if (what === 'stop') inbox.stop(StopSignal.userRequested(odd === undefined ? 'stop' : content))
    else if (what === 'settings') inbox.set(change ?? {})
    else inbox.put({ id, kind: what, content: odd === undefined ? `a ${what} message` : (content as MessageContent) })
  }
}

/** Messages, stops and settings arrive before steps, and while something waits. */
function mayComeIn(label: string, { waits }: Scenario): boolean {
  if (label.startsWith('before ') || label.includes('/limit_answer:')) return true
  return waits === true && /^in .*(?:tool:|\.service$)/.test(label)
}

/** The inputs of this moment: messages, a stop, settings. */
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

/** What the models of a world are shown, and how they reply. */
interface ModelParts extends PathContext {
  readonly scenario: Scenario
  readonly problems: string[]
  readonly shownToAgents: Map<string, readonly ModelMessage[]>
  /** Triggers an abort, because nothing else would end a wait. */
  readonly abort: (label: string) => void
}

/** The reply of a model to a request, as the path says. `onOverbilling`: called when it bills more than was reserved. */
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
    // A layer sends its question like a request of the run, but its reply is one of the scenario's last answers.
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
      // The first agent asked is the last one answered.
      await time.pass(Math.max(5, 60 - 15 * agent), call.signal)
    }
    problems.push(...transcriptProblems(request.messages).map((problem) => `${idempotencyKey}: ${problem}`))
    const last = requestNumber(idempotencyKey) > (scenario.depth ?? 5)
    const plain = scenario.last ?? 'text'
    const kind = replyKind(request, last ? plain : undefined)
    // A model that does not reply is aborted, because nothing else would end the wait.
    if (kind === 'hang' || kind === 'hang after call' || kind === 'deaf' || isHanging(kind)) {
      abort(`${idempotencyKey} hangs`)
    }
    if (overbillingReplies.has(kind)) onOverbilling()
    const reply = await replyOf(kind, { request, call, model: id, key: idempotencyKey })
    return scenario.counts === true ? withCountedInput(reply, request) : reply
  }
}

function withCountedInput({ message, ...rest }: ModelReply, { system, messages }: ModelRequest): ModelReply {
  const input_tokens = roughTokens.estimate(system) + estimateMessages(roughTokens, messages)
  return { ...rest, message: { ...message, usage: { ...message.usage, input_tokens } } }
}

/** The options of the scenario, of its pauses at limits, and of the verification of changes. */
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

/** The highest limit that any program or person of the scenario may set. */
function maxCallsOf({ options, settings = {}, otherPrograms = {}, pauses }: Scenario): number | undefined {
  const own = options?.maxToolCalls
  if (own === undefined || pauses !== undefined) return undefined
  const set = Object.values(settings).map(({ limits }) =>
    limits?.maxToolCalls === null ? Infinity : limits?.maxToolCalls,
  )
  const others = Object.values(otherPrograms).map((other) => other.options(options as RunOptions).maxToolCalls)
  return Math.max(own, ...[...set, ...others].map((each) => each ?? own))
}

/** Permissions that depend only on the mode. */
const modePermissions: Permissions = {
  modes: ['closed'],
  denies: () => undefined,
  decide: ({ mode }) => (mode === 'closed' ? { behavior: 'deny', message: 'closed' } : { behavior: 'allow' }),
}

/** The reason of an abort. */
function reasonOf(cause: AbortCause | OddReason): unknown {
  return cause.startsWith('odd: ') ? makeOdd(cause.slice('odd: '.length)) : cause
}

function requestNumber(key: string): number {
  return Number(/model:(\d+)\./.exec(key)?.[1] ?? 0)
}

/** Concurrent reading calls end in another order than they began. */
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

/** How long one of its calls waits, in milliseconds. */
const waitMs = 20

/** A tool that waits and reports what ended the wait. */
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
