import { endings, type EndingReason, type TranscriptEntry } from '@halting/core'
import {
  sharedBudgetOf,
  spendsTurn,
  isJsonObject,
  textOf,
  isToolResult,
  isToolUse,
  type ToolResultBlock,
  type ToolUseBlock,
  type RunProgress,
} from '@halting/core/adapters'
import {
  turnsBegun,
  boundsOfGrant,
  type GrantBounds,
  turnHash,
  waitThresholdMs,
  type RunLimits,
  type AssistantEntry,
  startOfRecord,
  lastTimeOf,
  type StepRecord,
} from '@halting/core/steps'
import {
  callIdOf,
  isAtWorst,
  recordedStep,
  recordedSteps,
  type RecordedCall,
  type RecordedRequest,
  type RecordedStep,
} from '../account/recorded-steps.ts'
import { PastWaitReader, type PastWait, type WaitAtEnd } from './past-waits.ts'
import { GoalRoundReader } from '../account/goal.ts'
import { limitsInForce } from '../account/limits.ts'

/** A call of a finished run. */
export interface PastCall {
  /** Name of the tool. */
  readonly tool: string
  /** Input of the call. */
  readonly input: unknown
  /** Whether it may have had an effect: it was not denied, its tool exists, and it was started. */
  readonly hasRun: boolean
  /** Whether a subagent made it. */
  readonly isOfAgent?: true
  /** Active milliseconds of the run when it had its result. */
  readonly endMs: number
}

/** One attempt at a model request in a finished run, and its cost. */
export interface PastPayment {
  /** The requested model; '' when the record does not say. */
  readonly model: string
  /** Active milliseconds of the run when it began. */
  readonly beganMs: number
  /** Active milliseconds of the run when it ended. */
  readonly endMs: number
  /** Input and output tokens. */
  readonly tokens: number
  /** Nano-dollars: 1e-9 US dollars. */
  readonly nanos: number
  /** Whether the usage was never reported, so that it is charged at worst case. */
  readonly isAtWorst: boolean
  /**
   * `run`: the request of the iteration; a budget that it exceeds ends the run. `part`: a request of a subagent, a compaction, a tool or a hook for
   * which the run waited. `beside`: a request in parallel to the run, which leaves room for the run's next request.
   */
  readonly of: 'run' | 'part' | 'beside'
  /** Tokens of the reply. */
  readonly outputTokens: number
  /** The least and the most that it may cost; null when the record does not say. */
  readonly bounds: GrantBounds | null
}

/** One iteration of a finished run: a request, and the calls of its reply. */
export interface PastTurn {
  /** Whether `maxTurns` counts it; recoveries and continuations do not count. */
  readonly countsAsTurn: boolean
  /** Whether the figures count it as a turn, as `num_turns` does: its model was asked, and it is not a further attempt of a turn. */
  readonly isTold: boolean
  /** Payments to models, including those of subagents and compactions, in the order in which they ended. */
  readonly payments: readonly PastPayment[]
  /** The calls of its reply, in order. */
  readonly calls: readonly PastCall[]
  /** Active milliseconds of the run when it ended. */
  readonly endMs: number
  /** Hash of calls and results for the guard against repetition, negative when the turn waited; null when no call had a result. */
  readonly hash: number | null
  /** Whether it began with a reminder that the run makes no progress. */
  readonly isReminded?: true
  /** Whether a person sent a message before it, so that no earlier turn counts as repetition. */
  readonly isFreshBefore?: true
  /** Whether a message came after it, so that no turn up to here counts as repetition. */
  readonly isFreshAfter: boolean
  /** The most turns that one subagent had begun by then. A limit on turns applies to each subagent, too. */
  readonly agentTurns: number
  /** For a turn that began because an answer was sent back: the number of tries for the current goals, including this one. */
  readonly tries?: number
  /** The most tries that one subagent with goals had made by then. The limit of the run applies to each subagent. */
  readonly agentTries?: number
  /** Waits for services during it, in the order in which they ended; absent for none. */
  readonly waits?: readonly PastWait[]
  /** Whether the goals of the run were checked in it: before or after its calls. */
  readonly checked?: 'before' | 'after'
  // Spec R-VERI-4.
  /** Whether it began because the model was asked to verify its last change. Until it calls a tool, the earlier answer remains that of the run. */
  readonly verifies?: true
}

/** What a run did, as far as it matters for limits. Computed from records of Halting or of another program. JSON. */
export interface Trajectory {
  /** The iterations, in order. */
  readonly turns: readonly PastTurn[]
  /** How it ended; null for one that has not ended, or whose ending is unknown. */
  readonly ending: PastEnding | null
  /** The limits of the run. */
  readonly limits: RunLimits
  /** Totals that were carried over from the run that it continues. Its limits include them. */
  readonly carried: {
    /** Turns. */
    readonly turns: number
    /** Input and output tokens. */
    readonly tokens: number
    /** Nano-dollars: 1e-9 US dollars. */
    readonly nanos: number
    /** Active milliseconds. */
    readonly ms: number
    /** Tool calls; absent for none. */
    readonly toolCalls?: number
  }
  /** Number of background agents, which share the limit on tool calls; absent for none. */
  readonly backgroundAgents?: number
  /** Whether its goals are checked by programs, which happens once more at a limit. */
  readonly checksAtLimit?: true
}

/** How a finished run ended. */
export interface PastEnding {
  /** The ending. */
  readonly reason: EndingReason
  /** The limit that its signal states. */
  readonly limit: number | null
  /** Whether the dollar limit of the run itself ended it. */
  readonly isOfRun?: true
  /** Whether the reason names a limit that was not reached, so that a higher limit changes nothing. */
  readonly isShortOfLimit?: true
  /** Whether a standing budget or the lease of a tenant ended it, so that spending of others counted, too. */
  readonly isOfStandingBudget?: true
  /** Set when the run ended because of a service that it could have waited for. */
  readonly serviceWait?: WaitAtEnd
  /** Whether its last reply was an answer: text without calls. */
  readonly hasAnswer: boolean
  /** Whether a limit or a failure ended it after a request to verify its answer: with a higher limit it might have continued. */
  readonly isCutAnswer?: true
}

/**
 * The trajectory of one run.
 * @throws ConfigurationError for records that are not those of one run.
 */
export function trajectoryOf(records: readonly StepRecord[]): Trajectory {
  const begin = startOfRecord(records)
  const carried = carriedInto(begin.start.spent)
  const background = new Set<string>()
  const turns: PastTurn[] = []
  const agents = new Map<string, number>()
  let agentTries = 0
  let triesNow: number | undefined
  let checked: PastTurn['checked']
  const rounds = new GoalRoundReader()
  const waits = new PastWaitReader(begin.at)
  let open: StepRecord[] = []
  let countsAsTurn = true
  let [verifies, isReminded] = [false, false]
  let progress: Pick<RunProgress, 'turns' | 'turnBegins' | 'goal'> = begin.start.spent
  const lost = lostRequests(records)
  const close = (closing: StepRecord | undefined, isFreshAfter: boolean, isCounted: boolean): void => {
    const agentTurns = Math.max(0, ...agents.values())
    const more = {
      ...(isReminded && { isReminded: true as const }),
      ...(triesNow !== undefined && { tries: triesNow }),
      ...(agentTries > 0 && { agentTries }),
      ...(checked !== undefined && { checked }),
      ...(verifies && { verifies: true as const }),
      ...waits.takeIteration(),
    }
    const turn = turnOf(open, closing, begin.at, lost)
    turns.push({ countsAsTurn, isTold: isCounted, ...turn, isFreshAfter, agentTurns, ...more })
    open = []
    checked = undefined
  }
  for (const record of records) {
    if (record.type === 'lap' && record.lap.scope === '') {
      const { transition, spent } = record.lap
      for (const { name } of spent.openAgents ?? []) background.add(name)
      // The run's own count decides: a granted request that was not made is no turn, and a final answer at a limit is one.
      close(record, startsAfresh(record.lap), spent.turns > progress.turns)
      progress = spent
      countsAsTurn = spendsTurn(transition)
      verifies = transition === 'unverified_change'
      isReminded = isReminder(transition)
      triesNow = transition === 'goal_unmet' ? triesIn(spent) : undefined
    } else if (record.type === 'end' && record.scope === '') {
      close(record, false, record.spent.turns > progress.turns)
      return {
        turns,
        ending: endingOf(record, records, waits),
        limits: limitsInForce(records),
        carried,
        ...agentsIn(background),
        ...goalsIn(record.spent),
      }
    } else {
      waits.read(record)
      open.push(record)
      const round = rounds.read(record)
      if (round?.scope === '') checked = round.place === 'baseline' ? 'before' : 'after'
      if (record.type !== 'lap') continue
      agents.set(record.lap.scope, turnsBegun(record.lap.spent.laps))
      agentTries = Math.max(agentTries, triesIn(record.lap.spent))
    }
  }
  // A turn that was cut off is not in the figures; it counts if its model was asked, as in the account of the run.
  if (open.some((record) => 'key' in record)) close(undefined, false, progress.turnBegins && open.some(isModelAsked))
  const limits = limitsInForce(records)
  return { turns, ending: null, limits, carried, ...agentsIn(background), ...goalsIn(progress) }
}

/** An iteration as a `lap` record contains it. */
type RecordedIteration = Extract<StepRecord, { readonly type: 'lap' }>['lap']

/** Whether the repetition count restarts after this iteration. */
function startsAfresh({ transition, added, spent }: RecordedIteration): boolean {
  // A reminder in place of an ending restarts the count, as every reminder of earlier versions did.
  const isRestart = isReminder(transition) && spent.recentTurns.length === 0
  return transition === 'user_input' || isRestart || isSteeredAfter(added)
}

function isReminder(transition: RecordedIteration['transition']): boolean {
  return transition === 'no_progress_nudge'
}

function carriedInto({
  laps,
  totalTokens: tokens,
  nanos,
  unknownNanos,
  now,
  startedAt,
  toolCalls,
}: RunProgress): Trajectory['carried'] {
  return {
    // The first turn of a run is not an iteration record, so it is already counted.
    turns: turnsBegun(laps) - 1,
    tokens,
    nanos: nanos + unknownNanos,
    ms: now - startedAt,
    ...(toolCalls !== undefined && toolCalls > 0 && { toolCalls }),
  }
}

function agentsIn(background: ReadonlySet<string>): Pick<Trajectory, 'backgroundAgents'> {
  return background.size === 0 ? {} : { backgroundAgents: background.size }
}

/** How often an answer was sent back for the current goals. */
function triesIn({ laps: { inRun, triesBefore = 0 } }: Pick<RunProgress, 'laps'>): number {
  return Math.max(0, (inRun.goal_unmet ?? 0) - triesBefore)
}

function goalsIn({ goal }: Pick<RunProgress, 'goal'>): Pick<Trajectory, 'checksAtLimit'> {
  const isChecked = goal !== undefined && goal.specs.every(({ judged }) => judged !== true)
  return isChecked ? { checksAtLimit: true } : {}
}

/** Whether the model was asked; false for a request that a limit refused. */
function isModelAsked(record: StepRecord): boolean {
  if (record.type !== 'result' && record.type !== 'intent') return false
  if (!/^[^/]*\/model:/.test(record.key)) return false
  return record.type === 'intent'
    ? isJsonObject(record.intent) && record.intent['granted'] === true
    : isJsonObject(record.value) && isJsonObject(record.value['charge'])
}

/** A run receives messages of people before its request. In records of other programs they come after the results. */
function isSteeredBefore(added: readonly TranscriptEntry[]): boolean {
  return added.slice(0, replyIn(added)).some(isSteered)
}

function isSteeredAfter(added: readonly TranscriptEntry[]): boolean {
  return added.slice(replyIn(added)).some(isSteered)
}

function replyIn(added: readonly TranscriptEntry[]): number {
  const at = added.findIndex(({ kind }) => kind === 'assistant')
  return at < 0 ? added.length : at
}

function isSteered(entry: TranscriptEntry): boolean {
  return entry.kind === 'user' && (entry.origin === 'steer' || entry.origin === 'follow_up')
}

/** `closing`: the iteration or ending after these records, which contains results of calls without a step of their own. */
function turnOf(
  records: readonly StepRecord[],
  closing: StepRecord | undefined,
  beganAt: number,
  lost: ReadonlySet<string>,
): Pick<PastTurn, 'payments' | 'calls' | 'endMs' | 'hash' | 'isFreshBefore'> {
  const { requests, calls, steps } = recordedSteps(closing === undefined ? records : [...records, closing])
  const endMs = Math.max(0, lastTimeOf(records) - beganAt)
  const hasWaited = calls.some(({ scope, durationMs }) => scope === '' && durationMs >= waitThresholdMs)
  const ofCalls = stepsOfCalls(steps)
  const paid = requests.filter((request) => !request.isOpen || lost.has(nameOf(request)))
  return {
    payments: paymentsOf(paid, beganAt),
    calls: calls.map((call) => {
      const step = ofCalls.get(`${call.scope}|${call.id}`)
      const hasRun = hadEffect(call, step !== undefined || steps.some(({ scope }) => isAgentOf(scope, call)))
      const isOver = step !== undefined && !step.isOpen
      const isOfAgent = call.scope !== ''
      const end = isOver ? endOf(step, beganAt) : endMs
      return { tool: call.name, input: call.input, hasRun, ...(isOfAgent && { isOfAgent }), endMs: end }
    }),
    endMs,
    hash: hashOf(addedIn(closing), hasWaited),
    ...(isSteeredBefore(addedIn(closing)) && { isFreshBefore: true as const }),
  }
}

/** The steps in which calls ended, by the scope and id of the calls. A call that asked a model ends in a second step, `/asked`. */
function stepsOfCalls(steps: readonly RecordedStep[]): ReadonlyMap<string, RecordedStep> {
  const names = new Set(steps.map(nameOf))
  const found = new Map<string, RecordedStep>()
  for (const step of steps) {
    if (!step.name.startsWith('tool:')) continue
    const begun = step.name.replace(/\/asked$/, '')
    // A model may choose a call id with this suffix.
    const isEnd = begun !== step.name && names.has(`${step.scope}|${begun}`)
    const call = `${step.scope}|${callIdOf(isEnd ? begun : step.name)}`
    if (isEnd || !found.has(call)) found.set(call, step)
  }
  return found
}

function addedIn(record: StepRecord | undefined): readonly TranscriptEntry[] {
  if (record?.type === 'lap') return record.lap.added
  return record?.type === 'end' ? record.added : []
}

/** Whether a call may have changed something. An interrupted call, or one with an unknown outcome, may have. */
function hadEffect({ status }: RecordedCall, wasBegun: boolean): boolean {
  switch (status) {
    case 'done':
    case 'failed':
    case 'interrupted':
    case 'unknown':
      return true
    case 'invalid':
    case 'denied':
    case 'not_run':
      return false
    case 'open':
      return wasBegun
  }
}

function isAgentOf(scope: string, call: RecordedCall): boolean {
  return scope.startsWith(`${call.scope}agent:`) && scope.includes(`:${call.id}/`)
}

function paymentsOf(requests: readonly RecordedRequest[], beganAt: number): readonly PastPayment[] {
  const own = requests.find((request) => request.scope === '' && request.phase === 'model')
  return requests.map((request): PastPayment => {
    const { at, tokens, nanos, grant, model } = request
    return {
      model,
      beganMs: at - beganAt,
      endMs: endOf(request, beganAt),
      tokens,
      nanos,
      isAtWorst: isAtWorst(request),
      of: payerOf(request, own),
      outputTokens: outputOf(request),
      bounds: (grant === null ? undefined : boundsOfGrant(grant)) ?? null,
    }
  })
}

/**
 * Open requests of an ended run, by scope and name: the process was killed and they were not repeated, but the run was charged for them. Empty for a
 * run that has not ended, because a resume may repeat them.
 */
function lostRequests(records: readonly StepRecord[]): ReadonlySet<string> {
  const open = new Set<string>()
  let hasEnded = false
  for (const record of records) {
    if (record.type === 'intent') open.add(record.key)
    else if (record.type === 'result') open.delete(record.key)
    else if (record.type === 'end' && record.scope === '') hasEnded = true
  }
  return hasEnded ? new Set([...open].map((key) => nameOf(recordedStep(key, 0, 0, true)))) : new Set()
}

function nameOf({ scope, name }: Pick<RecordedStep, 'scope' | 'name'>): string {
  return `${scope}|${name}`
}

function outputOf({ result: came }: RecordedRequest): number {
  const usage = isJsonObject(came?.['charge']) ? came['charge']['usage'] : undefined
  const tokens = isJsonObject(usage) ? usage['output_tokens'] : undefined
  return typeof tokens === 'number' ? tokens : 0
}

/** An agent of an earlier iteration is a background agent; a staged summary is made in parallel, too. */
function payerOf({ scope, phase, name }: RecordedRequest, own: RecordedRequest | undefined): PastPayment['of'] {
  if (scope === '') return phase === 'model' ? 'run' : name.startsWith('stage:') ? 'beside' : 'part'
  return own !== undefined && scope.startsWith(`agent:${own.request}:`) ? 'part' : 'beside'
}

function endingOf(
  { terminal: { reason, signal } }: Extract<StepRecord, { readonly type: 'end' }>,
  records: readonly StepRecord[],
  waits: PastWaitReader,
): PastEnding {
  const { limit, cause, of } = signal.context
  const isStanding = sharedBudgetOf(signal) !== undefined
  const serviceWait = reason === 'model_error' ? waits.atEnd : undefined
  const isShort = (endings[reason].limit === 'maxGoalTries' && cause !== 'tries') || isStanding
  return {
    reason,
    limit: typeof limit === 'number' ? limit : null,
    ...(of === 'run' && { isOfRun: true }),
    ...(isShort && { isShortOfLimit: true }),
    ...(isStanding && { isOfStandingBudget: true }),
    ...(serviceWait !== undefined && { serviceWait }),
    hasAnswer: lastIsAnswer(records),
    ...(signal.source === 'verification' && { isCutAnswer: true }),
  }
}

/** Whether a reply is an answer. One that was aborted, or that reports a failure, is not. */
function isAnswer({ message: { content }, error, aborted }: AssistantEntry): boolean {
  return error === undefined && aborted !== true && textOf(content).trim() !== '' && !content.some(isToolUse)
}

function lastIsAnswer(records: readonly StepRecord[]): boolean {
  for (const record of records.toReversed()) {
    if (record.type === 'lap' ? record.lap.scope !== '' : record.type !== 'end' || record.scope !== '') continue
    const last = addedIn(record).findLast((entry) => entry.kind === 'assistant')
    if (last !== undefined) return isAnswer(last)
  }
  return false
}

function endOf({ at, durationMs }: Pick<RecordedStep, 'at' | 'durationMs'>, beganAt: number): number {
  return at + durationMs - beganAt
}

/** The hash that the guard stores for the turn: of calls and results in call order. */
function hashOf(added: readonly TranscriptEntry[], hasWaited: boolean): number | null {
  const calls: ToolUseBlock[] = []
  const results = new Map<string, ToolResultBlock>()
  for (const entry of added) {
    if ((entry.kind !== 'user' && entry.kind !== 'assistant') || typeof entry.message.content === 'string') continue
    for (const block of entry.message.content) {
      if (isToolUse(block)) calls.push(block)
      else if (isToolResult(block)) results.set(block.tool_use_id, block)
    }
  }
  return hashOfTurn(calls, results, hasWaited)
}

/** The same for given calls and their results, by call id. */
export function hashOfTurn(
  calls: readonly ToolUseBlock[],
  results: ReadonlyMap<string, ToolResultBlock>,
  hasWaited: boolean,
): number | null {
  if (calls.length === 0 || results.size === 0) return null
  const empty = (id: string): ToolResultBlock => ({ type: 'tool_result', tool_use_id: id, content: '' })
  return turnHash(
    calls,
    calls.map(({ id }) => results.get(id) ?? empty(id)),
    hasWaited,
  )
}
