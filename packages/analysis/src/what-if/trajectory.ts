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
  waitMs,
  type RunLimits,
  type AssistantEntry,
  beginningOf,
  lastMomentOf,
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

/** A call of a run that is over. */
export interface PastCall {
  /** Name of the tool. */
  readonly tool: string
  /** Input of the call. */
  readonly input: unknown
  /** It may have had an effect: nobody denied it, there is such a tool, and it was begun. */
  readonly hasRun: boolean
  /** A subagent made it. */
  readonly isOfAgent?: true
  /** Active milliseconds of the run when it had its result. */
  readonly endMs: number
}

/** One attempt at a model of a run that is over, and what it came to. */
export interface PastPayment {
  /** The model that was asked; '' where the record does not say. */
  readonly model: string
  /** Active milliseconds of the run when it was asked, and when it was over. */
  readonly beganMs: number
  /** Active milliseconds of the run when it was over. */
  readonly endMs: number
  /** Input and output tokens. */
  readonly tokens: number
  /** Nano-dollars: 1e-9 US dollars. */
  readonly nanos: number
  /** Nobody told what it came to: it is charged at worst case. */
  readonly isAtWorst: boolean
  /**
   * `run`: it is the request of the lap, and a budget that has no room for it ends the run. `part`: a subagent, a compaction, a tool or a hook asked,
   * and the run waited. `beside`: the run went on meanwhile; such a request leaves room for the next one of the run.
   */
  readonly of: 'run' | 'part' | 'beside'
  /** Tokens of the reply. */
  readonly outputTokens: number
  /** What it can come to; null where the record does not say. */
  readonly bounds: GrantBounds | null
}

/** One lap of a run that is over: a request, and the calls that its reply asked for. */
export interface PastTurn {
  /** It was paid for by `maxTurns`; recoveries and continuations are not. */
  readonly countsAsTurn: boolean
  /** The figures count it, as `num_turns` does: it is no further attempt of a turn, and its model was asked. */
  readonly isTold: boolean
  /** What was paid to models in it, subagents and compactions too, in the order in which they were over. */
  readonly payments: readonly PastPayment[]
  /** The calls of its reply, in order. */
  readonly calls: readonly PastCall[]
  /** Active milliseconds of the run when it was over. */
  readonly endMs: number
  /** Of calls and their results, for the guard against going in circles, and below zero where the turn waited; null where no call had a result. */
  readonly hash: number | null
  /** It began with a reminder that the run makes no progress. */
  readonly isReminded?: true
  /** A person said something before it: it is the first turn that may begin a circle. */
  readonly isFreshBefore?: true
  /** Something new was said after it: whatever came before is no circle. */
  readonly isFreshAfter: boolean
  /** The most turns that one subagent had begun by then. A limit on turns holds for each of them, too. */
  readonly agentTurns: number
  /** Of a turn that began since an answer was sent back: how often one was for the goals in force, with this one. */
  readonly tries?: number
  /** The most tries that one subagent with goals had made by then. The limit of the run holds for each of them. */
  readonly agentTries?: number
  /** Waits for services in it, in the order in which they ended; absent for none. */
  readonly waits?: readonly PastWait[]
  /** The goals of the run were checked in it: before its calls, or after them. */
  readonly checked?: 'before' | 'after'
  // Spec R-VERI-4.
  /** It began since the model was asked to verify its last change: until it calls a tool, the answer before stays that of the run. */
  readonly verifies?: true
}

/** What a run did, as far as limits see it: made of our own records, or of what another program left. JSON. */
export interface Trajectory {
  /** The iterations, in order. */
  readonly turns: readonly PastTurn[]
  /** How it ended; null for one that did not, or of which it is not known. */
  readonly ending: PastEnding | null
  /** With which limits it ran. */
  readonly limits: RunLimits
  /** What it carried over from a run that it goes on from: its limits count that, too. */
  readonly carried: {
    /** Turns. */
    readonly turns: number
    /** Input and output tokens. */
    readonly tokens: number
    /** Nano-dollars: 1e-9 US dollars. */
    readonly nanos: number
    /** Active milliseconds. */
    readonly ms: number
    /** Calls of tools; absent for none. */
    readonly toolCalls?: number
  }
  /** Subagents that worked beside the run, whose calls share its limit on these; absent for none. */
  readonly backgroundAgents?: number
  /** It had goals that programs check: at a limit they are checked once more. */
  readonly checksAtLimit?: true
}

/** How a past run ended. */
export interface PastEnding {
  /** The ending. */
  readonly reason: EndingReason
  /** The limit that its signal tells. */
  readonly limit: number | null
  /** The dollar limit of the run alone ended it. */
  readonly isOfRun?: true
  /** The reason is that of a limit, which was not reached: more of it changes nothing. */
  readonly isShortOfLimit?: true
  /** A standing budget ended it, or what a tenant leased: what others spent counted, too. */
  readonly isOfStandingBudget?: true
  /** The service that ended it could have been waited for. */
  readonly serviceWait?: WaitAtEnd
  /** Its last reply was an answer: text, and no call. */
  readonly hasAnswer: boolean
  /** A limit, or a failure, ended it while the answer before a request to verify stood: with more of the limit it might have gone on. */
  readonly isCutAnswer?: true
}

/** The trajectory of one run. @throws ConfigurationError for what is no record of one run. */
export function trajectoryOf(records: readonly StepRecord[]): Trajectory {
  const begin = beginningOf(records)
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
  let told: Pick<RunProgress, 'turns' | 'turnBegins' | 'goal'> = begin.start.spent
  const lost = lostRequests(records)
  const close = (closing: StepRecord | undefined, isFreshAfter: boolean, isTold: boolean): void => {
    const agentTurns = Math.max(0, ...agents.values())
    const more = {
      ...(isReminded && { isReminded: true as const }),
      ...(triesNow !== undefined && { tries: triesNow }),
      ...(agentTries > 0 && { agentTries }),
      ...(checked !== undefined && { checked }),
      ...(verifies && { verifies: true as const }),
      ...waits.takeLap(),
    }
    turns.push({ countsAsTurn, isTold, ...turnOf(open, closing, begin.at, lost), isFreshAfter, agentTurns, ...more })
    open = []
    checked = undefined
  }
  for (const record of records) {
    if (record.type === 'lap' && record.lap.scope === '') {
      const { transition, added, spent } = record.lap
      for (const { name } of spent.openAgents ?? []) background.add(name)
      const isReminder = transition === 'no_progress_nudge'
      // A reminder in place of an ending has the count start anew, as every one of an earlier version did.
      const isAnew = isReminder && spent.recentTurns.length === 0
      const isFresh = transition === 'user_input' || isAnew || isSteeredAfter(added)
      // The run counted for itself: what it was granted and never asked is no turn, and its last answer at a limit is one.
      close(record, isFresh, spent.turns > told.turns)
      told = spent
      countsAsTurn = spendsTurn(transition)
      verifies = transition === 'unverified_change'
      isReminded = isReminder
      triesNow = transition === 'goal_unmet' ? triesIn(spent) : undefined
    } else if (record.type === 'end' && record.scope === '') {
      close(record, false, record.spent.turns > told.turns)
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
  // No figures tell of a turn that was cut off; it is one where its model was asked, as in the account of the run.
  if (open.some((record) => 'key' in record)) close(undefined, false, told.turnBegins && open.some(isAsked))
  const limits = limitsInForce(records)
  return { turns, ending: null, limits, carried, ...agentsIn(background), ...goalsIn(told) }
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
    // The first turn of a run is not a lap, so it is in the count already.
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

/** How often an answer was sent back for the goals that are in force. */
function triesIn({ laps: { inRun, triesBefore = 0 } }: Pick<RunProgress, 'laps'>): number {
  return Math.max(0, (inRun.goal_unmet ?? 0) - triesBefore)
}

function goalsIn({ goal }: Pick<RunProgress, 'goal'>): Pick<Trajectory, 'checksAtLimit'> {
  const isChecked = goal !== undefined && goal.specs.every(({ judged }) => judged !== true)
  return isChecked ? { checksAtLimit: true } : {}
}

/** A request that the limits refused was not asked. */
function isAsked(record: StepRecord): boolean {
  if (record.type !== 'result' && record.type !== 'intent') return false
  if (!/^[^/]*\/model:/.test(record.key)) return false
  return record.type === 'intent'
    ? isJsonObject(record.intent) && record.intent['granted'] === true
    : isJsonObject(record.value) && isJsonObject(record.value['charge'])
}

/** A run takes what a person says before it asks the model; what is made of the files of other programs has it behind the results. */
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

/** `closing`: the lap or the end behind them. It tells what calls came to that have no step of their own. */
function turnOf(
  records: readonly StepRecord[],
  closing: StepRecord | undefined,
  beganAt: number,
  lost: ReadonlySet<string>,
): Pick<PastTurn, 'payments' | 'calls' | 'endMs' | 'hash' | 'isFreshBefore'> {
  const { requests, calls, steps } = recordedSteps(closing === undefined ? records : [...records, closing])
  const endMs = Math.max(0, lastMomentOf(records) - beganAt)
  const hasWaited = calls.some(({ scope, durationMs }) => scope === '' && durationMs >= waitMs)
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

/** The steps in which tools ended, by the scope and the id of their calls. A call that asked a model ends in another step than it began in, `/asked`. */
function stepsOfCalls(steps: readonly RecordedStep[]): ReadonlyMap<string, RecordedStep> {
  const names = new Set(steps.map(nameOf))
  const found = new Map<string, RecordedStep>()
  for (const step of steps) {
    if (!step.name.startsWith('tool:')) continue
    const begun = step.name.replace(/\/asked$/, '')
    // A model may name a call so.
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

/** Whether a call may have changed something. Of one that was interrupted, or whose outcome is not known, nobody knows. */
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
      of: whoseIs(request, own),
      outputTokens: outputOf(request),
      bounds: (grant === null ? undefined : boundsOfGrant(grant)) ?? null,
    }
  })
}

/**
 * Requests of a run that ended whose replies are not on record: its process was killed meanwhile, and what asked did not ask again. The run was charged
 * for them. By scope and name. None of a run that did not end: a resume may ask them again.
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

function outputOf({ came }: RecordedRequest): number {
  const usage = isJsonObject(came?.['charge']) ? came['charge']['usage'] : undefined
  const tokens = isJsonObject(usage) ? usage['output_tokens'] : undefined
  return typeof tokens === 'number' ? tokens : 0
}

/** An agent of an earlier lap works in the background; so does a summary that is made for later. */
function whoseIs({ scope, phase, name }: RecordedRequest, own: RecordedRequest | undefined): PastPayment['of'] {
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

/** What was cut by an abort is none, nor is what was written to tell of a failure. */
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

/** As the guard remembers the turn: calls and results in call order. */
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

/** The same for calls and their results, by the ids of the calls. */
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
