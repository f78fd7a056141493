import type { TaskLeft } from '../verification/background.ts'
import { type MaybePromise, andThen } from '../values/maybe-promise.ts'
import { mutableCopyOf, isJsonObject, jsonOf } from '../values/json.ts'
import { agentFigures, type AgentEnd, type AgentResult } from '../state/agent-figures.ts'
import { HaltingError } from '../values/errors.ts'
import type { OpenAgent } from '../state/state.ts'
import { textOf } from '../model/messages.ts'
import { isAgentTool, type AgentInBackground, type ChildRun } from '../tools/tool.ts'
import { type RunBackgroundAgents, type Run, agentStepPrefix, toolStepName } from '../run/run.ts'
import { endOfAgent, startChild, lostAgent, type AgentCall } from './run-agent.ts'
import { childOf, type Child } from './child-run.ts'
import { tasksIn } from '../run/tasks.ts'
import { lostAgentEnd, agentStarted } from './call-texts.ts'
import { digestOf } from '../values/hash.ts'
import { headOf } from '../values/text.ts'
import { unknownOutcome, type ToolResult } from '../tools/tool-result.ts'
import type { AgentShare, CallRun, PreparedCall } from '../run/tool-phase.ts'

// Spec R-BACK-10.
/**
 * Subagents that run in parallel with the main loop, in this process. They do not write to the run: the outcome of an
 * agent is read in a poll or a side effect, and is recorded before it takes effect. B1: Each agent of
 * `RunProgress.openAgents` is in this object once the results of its message are entered. B2: The end of an agent is
 * returned until it is reported. B3: No agent is running after the run has ended.
 */
class AgentsOfRun implements RunBackgroundAgents {
  readonly #run: Run
  readonly #agents = new Map<string, BackgroundAgent>()
  readonly #listeners = new Set<() => void>()

  constructor(run: Run) {
    this.#run = run
  }

  get ids(): readonly string[] {
    return [...this.#agents.keys()]
  }

  find(id: string): AgentInBackground | undefined {
    return this.#agents.get(id)
  }

  begin(open: OpenAgent): void {
    if (this.#agents.has(open.id)) return
    const agent: BackgroundAgent = new BackgroundAgent(open, () => {
      // An agent that was entered before a kill is answered from its record. Nothing waits for this agent.
      if (this.#unreported().includes(agent)) for (const listener of this.#listeners) listener()
    })
    this.#agents.set(open.id, agent)
    agent.begin(this.#run)
  }

  get isAnyWorking(): boolean {
    return this.#unreported().some(({ isWorking }) => isWorking)
  }

  get hasEnded(): boolean {
    return this.#unreported().some(({ isWorking }) => !isWorking)
  }

  #unreported(): readonly BackgroundAgent[] {
    const { openAgents = [] } = this.#run.spent
    return openAgents.flatMap(({ id }) => this.#agents.get(id) ?? [])
  }

  /** Agents that ended and are not entered yet. @throws the error that broke one of them, which breaks the run. */
  ended(): readonly AgentResult[] {
    return this.#unreported().flatMap((agent) => agent.end() ?? [])
  }

  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Stops the agents that are still running, and waits for them to end. */
  stopAll(): MaybePromise<undefined> {
    const working = [...this.#agents.values()].filter(({ isWorking }) => isWorking)
    if (working.length === 0) return undefined
    return Promise.all(working.map((agent) => agent.stop())).then(() => undefined)
  }

  /** The records for agents that are not entered when the run ends. */
  leftOver(): readonly { readonly leftOver: TaskLeft; readonly end: AgentEnd }[] {
    const { openAgents = [] } = this.#run.spent
    return openAgents.map(({ id, description }) => {
      const outcome = this.#agents.get(id)?.result
      const how = outcome === undefined || outcome.task.status === 'stopped' ? 'stopped' : 'ended'
      const result = outcome?.task.result
      const hasFailed = how === 'ended' && outcome?.task.status === 'failed'
      const fields = { type: 'left', id, how, description, ...(hasFailed && { status: 'failed' as const }) } as const
      const leftTask = { ...fields, ...(result !== undefined && { result }) } as const
      return { leftOver: leftTask, end: outcome?.end ?? { id, spent: null } }
    })
  }
}

/** Starts the agents that were recorded as started but are not running in this process yet. */
export function beginAgents(run: Run): void {
  const { openAgents = [] } = run.spent
  if (openAgents.length === 0) return
  const agents = run.agents ?? new AgentsOfRun(run)
  if (run.agents === undefined) run.ports.onAgents(agents)
  run.agents = agents
  for (const open of openAgents) agents.begin(open)
}

/** The child run of an open agent. @throws if its tool no longer exists, or can no longer start it. */
function childOfOpen(run: Run, { tool: name, input, agents, toolCalls = Infinity, settings }: OpenAgent): Child {
  const context = run.contextUnder(settings)
  const tool = context.tools.get(name)
  if (tool === undefined || !isAgentTool(tool)) throw new TypeError(`There is no tool ${name} that starts agents.`)
  // The input is the one that this tool's own check returned when the call was made.
  const { identity } = run
  return childOf({ context, identity }, tool, mutableCopyOf(input), { agents, toolCalls })
}

/** Maximum number of the newest characters of its output that are stored for inspection. */
const maxTextLength = 8_000

class BackgroundAgent implements AgentInBackground {
  readonly id: string
  readonly description: string
  readonly #open: OpenAgent
  readonly #onEnd: () => void
  readonly #listeners = new Set<() => void>()
  #newestText = ''
  #stop: () => void = () => {}
  #settled: Promise<void> = Promise.resolve()
  result: AgentResult | undefined
  #broken: { readonly error: unknown } | undefined

  constructor(open: OpenAgent, onEnd: () => void) {
    this.id = open.id
    this.description = open.description
    this.#open = open
    this.#onEnd = onEnd
  }

  begin(run: Run): void {
    const { id, description, name, callId, tool, startedAt: at } = this.#open
    // Its recorded end is final: the agent is answered from the record and does not run further (spec R-BACK-15b).
    const recorded = run.ports.endedAgents.get(id)
    const isOver =
      recorded && new HaltingError('step_mismatch', `The end of ${description} is on record: it cannot continue.`)
    let child: Child
    try {
      child = childOfOpen(run, this.#open)
    } catch {
      const { spent } = lostAgent(run, name)
      const summary = lostAgentEnd(description)
      const task = { type: 'ended', id, status: 'unknown', summary } as const
      this.result = recorded ?? { task, end: { id, spent: spent && agentFigures(spent) } }
      return
    }
    const place = { name, callId, tool, at, inBackground: true, ...(isOver !== undefined && { isOver }) } as const
    const { abort, ended } = startChild(run, child, place, (event) => {
      if (event.type !== 'message' || event.entry.kind !== 'assistant') return
      const text = textOf(event.entry.message.content).trim()
      if (text !== '') this.#newestText = text.slice(-maxTextLength)
    })
    this.#stop = () => abort.abort('parent')
    this.#settled = ended.then(
      (outcome) => {
        if (recorded !== undefined) return this.#settle(recorded)
        const task = { type: 'ended', id, ...endOfAgent(outcome, child, description) } as const
        const { transcript, startLength, spent } = outcome.state
        const tasks = tasksIn(transcript.since(startLength))
        this.#settle({ task, end: { id, spent: agentFigures(spent), ...(tasks.length > 0 && { tasks }) } })
      },
      (error: unknown) => {
        if (recorded !== undefined && error === isOver) return this.#settle(recorded)
        this.#broken = { error }
        this.#settle(undefined)
      },
    )
  }

  #settle(outcome: AgentResult | undefined): void {
    this.result = outcome
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
    this.#onEnd()
  }

  get isWorking(): boolean {
    return this.result === undefined && this.#broken === undefined
  }

  get output(): string {
    return this.result === undefined ? this.#newestText : (this.result.task.result ?? this.result.task.summary)
  }

  /** @throws the error that broke it. */
  end(): AgentResult | undefined {
    if (this.#broken !== undefined) throw this.#broken.error
    return this.result
  }

  onEnd(listener: () => void): () => void {
    if (this.isWorking) this.#listeners.add(listener)
    else listener()
    return () => this.#listeners.delete(listener)
  }

  stop(): Promise<void> {
    this.#stop()
    return this.#settled
  }
}

type RunningCall = Extract<PreparedCall, { readonly kind: 'run' }>

/** Whether the agent runs in the background. An agent started by another agent does not: its parent waits for it. */
export function isForBackground({ identity }: Run, child: Child): boolean {
  return identity.depth === 0 && child.run.background === true
}

/**
 * Returns a result for the call at once. The agent begins when the results of the message are entered (`beginAgents`).
 * The step stores what a resume needs to continue the agent, and runs nothing.
 */
export function startAgent(
  run: Run,
  prepared: RunningCall,
  call: AgentCall,
  child: Child,
  { share, digest }: { readonly share: AgentShare; readonly digest: () => string },
): MaybePromise<CallRun> {
  const place = { id: call.call.id, index: call.index }
  const start = (): ToolResult => startedAgent(run, call, child.run, share)
  const step = run.stepConcurrently<ToolResult>(toolStepName(run, place), start, {
    digest,
    intent: () => ({ starts: 'agent' }),
    onUnfinished: (intent) => (isJsonObject(intent) && intent['starts'] === 'agent' ? start() : unknownOutcome),
    sync: 'none',
  })
  return andThen(step, ({ value, at, durationMs }) => ({ call: prepared, result: value, at, durationMs }))
}

const longestDescription = 200

function startedAgent(
  run: Run,
  { call, index, tool, validatedInput: taken }: AgentCall,
  child: ChildRun,
  { agents, toolCalls }: AgentShare,
): ToolResult {
  const name = agentStepPrefix(run, { id: call.id, index })
  const { agentType = tool.name, description = '', note = '' } = child
  const text = description === '' ? '' : ` (${headOf(description.replaceAll(/\s+/g, ' '), longestDescription)})`
  const id = `agent_${digestOf(run.key(name)).slice(0, 8)}`
  const agent = {
    id,
    description: `The agent ${agentType}${text}`,
    callId: call.id,
    name,
    tool: tool.name,
    input: jsonOf(taken),
    agents,
    ...(toolCalls !== Infinity && { toolCalls }),
    startedAt: run.spent.now,
    settings: run.spent.settings,
  }
  const content = agentStarted(id, (run.context.background?.atEnd ?? 'wait') === 'wait' ? 'wait' : 'stop')
  return {
    status: 'done',
    content: note === '' ? content : `${content} ${note}`,
    isError: false,
    details: { task_id: id },
    tasks: [{ type: 'started', id, description: agent.description }],
    agent,
  }
}
