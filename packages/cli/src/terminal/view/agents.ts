import { serviceWaitText, serviceWaitOf, waitText } from '../../frontends/wait-text.ts'
import type { RunEvent, EndingReason } from '@halting/core'
import { goalNames } from '../../frontends/goal-words.ts'
import { stopwatch } from '../../io/figures.ts'
import type { Style } from '../../io/style.ts'
import { dollars } from '../../io/dollars.ts'
import { displayLine } from './lines.ts'
import { toolTitle } from './tool-title.ts'

/** Working subagents, one line each (spec R-TERM-22). */
export interface Agents {
  /** Returns how a background agent ended; undefined if it did not, or is unknown. */
  onEvent(event: AgentEvent): EndedAgent | undefined
  /** Called when the call of an agent has its result; background agents continue. */
  onResult(callId: string): void
  /** One line for each working agent. */
  lines(width: number, style: Style): readonly string[]
}

type AgentEvent = Extract<RunEvent, { readonly type: 'agent' }>

export interface EndedAgent {
  readonly name: string
  readonly reason: EndingReason
  readonly message: string
}

interface Agent {
  readonly name: string
  readonly depth: number
  readonly since: number
  readonly isBeside: boolean
  turn: number
  usd: number
  /** The running calls of the agent. */
  readonly calls: Map<string, string>
  waits: string
}

/** What an agent waits for after an event, '' for nothing; undefined if the event does not change it. */
function waitAfter(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'retry':
      return `retry ${event.attempt}/${event.maxRetries}`
    case 'budget_wait':
      return event.isWaiting ? waitText(event) : ''
    case 'service_wait':
      return event.isWaiting ? serviceWaitText(serviceWaitOf(event), Date.now()) : ''
    case 'goal_start':
      return `checking ${goalNames(event.goals)}`
    case 'goal_end':
    case 'model_end':
      return ''
    default:
      return undefined
  }
}

export function followAgents(now: () => number, cwd: string): Agents {
  return new WorkingAgents(now, cwd)
}

class WorkingAgents implements Agents {
  readonly #now: () => number
  readonly #cwd: string
  readonly #agents = new Map<string, Agent>()

  constructor(now: () => number, cwd: string) {
    this.#now = now
    this.#cwd = cwd
  }

  onEvent(event: AgentEvent): EndedAgent | undefined {
    this.#onEvent(event, '', 0)
    return endedBy(event)
  }

  onResult(callId: string): void {
    const own = `/${callId}`
    if (this.#agents.get(own)?.isBeside === true) return
    for (const key of this.#agents.keys()) if (key === own || key.startsWith(`${own}/`)) this.#agents.delete(key)
  }

  lines(width: number, style: Style): readonly string[] {
    return [...this.#agents.values()].map(({ name, depth, since, turn, usd, calls, waits }) => {
      const doing = waits !== '' ? waits : ([...calls.values()].at(-1) ?? 'thinking')
      const parts = [
        ...(turn > 0 ? [`turn ${turn}`] : []),
        doing,
        ...(usd > 0 ? [dollars(usd)] : []),
        stopwatch(this.#now() - since),
        name,
      ]
      const text = `${'  '.repeat(depth)}  ◦ ${parts.join(' · ')}`
      return style.dim(`  ${displayLine(text, width - 2)}`)
    })
  }

  #agentOf({ agentType, description = '', inBackground }: AgentEvent, key: string, depth: number): Agent {
    const known = this.#agents.get(key)
    if (known !== undefined) return known
    const name = description === '' ? agentType : `${agentType}: ${description}`
    const created = {
      name,
      depth,
      since: this.#now(),
      isBeside: inBackground === true,
      turn: 0,
      usd: 0,
      calls: new Map<string, string>(),
      waits: '',
    }
    this.#agents.set(key, created)
    return created
  }

  #onEvent(agentEvent: AgentEvent, path: string, depth: number): void {
    const key = `${path}/${agentEvent.callId}`
    const agent = this.#agentOf(agentEvent, key, depth)
    const { event } = agentEvent
    agent.waits = waitAfter(event) ?? agent.waits
    switch (event.type) {
      case 'agent':
        return this.#onEvent(event, key, depth + 1)
      case 'turn_start':
        agent.turn = event.turn
        return
      case 'model_end':
        agent.usd += event.costUsd
        return
      case 'tool_start': {
        const { name, about } = toolTitle(event.name, event.input, this.#cwd)
        agent.calls.set(event.callId, `${name} ${about}`.trimEnd())
        return
      }
      case 'tool_end':
        agent.calls.delete(event.callId)
        return
      case 'run_end':
        this.#agents.delete(key)
        return
      default:
    }
  }
}

function endedBy({ agentType, description = '', inBackground, event }: AgentEvent): EndedAgent | undefined {
  if (inBackground !== true || event.type !== 'run_end') return undefined
  const { reason, signal } = event.terminal
  return { name: description === '' ? agentType : `${agentType}: ${description}`, reason, message: signal.message }
}
