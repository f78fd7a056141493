import { isJsonObject } from '@halting/core/adapters'
import type { ForeignPayment } from './foreign-run.ts'
import type { ReplyPart } from './runs-builder.ts'
import { momentIn, textIn, usageIn, type Fields } from './parse-values.ts'

/** A request of a subagent, and when it was made. */
export interface AgentRequest {
  payment: Omit<ForeignPayment, 'endedMs'>
  readonly at: number | undefined
  /** Lines of the session before it: its position when it has no timestamp. */
  readonly place: number
}

/** A subagent as reported by the result of its call. */
interface ReportedAgent extends AgentRequest {
  readonly agentId: string | undefined
}

// Spec R-FOR-4b.
/**
 * Requests of subagents of one session, each once, with its last figures. They come from lines of the session, from files of subagents, and from
 * progress lines. The result of a call counts only for an agent without any other trace.
 */
export class AgentRequests {
  readonly #requests = new Map<string, AgentRequest>()
  /** Keys of requests by message id: progress lines have no other key. */
  readonly #keys = new Map<string, string>()
  readonly #agents = new Set<string>()
  readonly #reported: ReportedAgent[] = []
  #hasUnnamed = false

  /** Adds a part of a reply, from a line of a subagent. */
  reply({ key, model, askedModel, usage }: ReplyPart, line: Fields, place: number = Infinity): void {
    this.#addAgent(textIn(line['agentId']))
    if (usage === undefined) return
    const { message } = line
    const messageId = isJsonObject(message) ? textIn(message['id']) : undefined
    const known = (messageId === undefined ? undefined : this.#keys.get(messageId)) ?? key
    if (messageId !== undefined) this.#keys.set(messageId, known)
    const payment = { model, ...(askedModel !== undefined && { askedModel }), usage }
    const before = this.#requests.get(known)
    if (before === undefined) this.#requests.set(known, { payment, at: momentIn(line['timestamp']), place })
    else before.payment = payment
  }

  #addAgent(agentId: string | undefined): void {
    if (agentId === undefined) this.#hasUnnamed = true
    else this.#agents.add(agentId)
  }

  /** Adds the result of a call, which may be that of a subagent. `model` is the caller's model. */
  result({ toolUseResult, timestamp }: Fields, model: string, place: number = Infinity): void {
    if (!isJsonObject(toolUseResult) || typeof toolUseResult['totalTokens'] !== 'number') return
    const usage = usageIn(toolUseResult['usage'])
    if (usage === undefined) return
    const payment = { model: textIn(toolUseResult['model']) ?? model, usage }
    this.#reported.push({ agentId: textIn(toolUseResult['agentId']), payment, at: momentIn(timestamp), place })
  }

  /** All requests: those with a timestamp by time, the others by position. */
  sorted(): { readonly timed: readonly AgentRequest[]; readonly placed: readonly AgentRequest[] } {
    // Lines of earlier versions do not contain the name of the agent.
    const isSeen = ({ agentId }: ReportedAgent): boolean =>
      agentId === undefined ? this.#hasUnnamed || this.#agents.size > 0 : this.#agents.has(agentId) || this.#hasUnnamed
    const alone = this.#reported.filter((each) => !isSeen(each))
    const all = [...this.#requests.values(), ...alone]
    return {
      timed: all.filter(({ at }) => at !== undefined).toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0)),
      placed: all.filter(({ at }) => at === undefined).toSorted((a, b) => (a.place < b.place ? -1 : 1)),
    }
  }
}

/** The line of a subagent inside a progress line. */
export function progressLine({ type, data, timestamp }: Fields): Fields | undefined {
  if (type !== 'progress' || !isJsonObject(data) || data['type'] !== 'agent_progress') return undefined
  const { message, agentId } = data
  return isJsonObject(message) ? { timestamp, agentId, ...message } : undefined
}
