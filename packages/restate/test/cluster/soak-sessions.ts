import type { JsonObject } from '@halting/core'
import { isToolResult, type ToolResultBlock } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import type { SessionRequest } from '../../src/service/messages.ts'
import { entriesAddedBy } from '../../src/service/sessions-of-process.ts'
import type { SessionStatus } from '../../src/service/status.ts'
import { noteOf, promptOf, requestUsd, type CallKind, type Plan } from '../support/plan.ts'
import { endsOf } from '../support/play.ts'
import { problemsOf } from '../support/problems.ts'
import { randomOf } from '../support/random.ts'
import type { OutsideLog } from './outside.ts'
import { wait, type Cluster } from './server.ts'
import { SessionOnCluster } from './session-on-cluster.ts'
import type { Tenants } from './tenants.ts'

/** One session of the soak: its purpose, and how each of its runs ends. */
interface Kind {
  readonly name: string
  readonly plan: (turns: number) => Partial<Plan> & Pick<Plan, 'turns'>
  readonly ends: readonly string[]
  /** Its tenant has money for everything that it wants, or less than that together with three others. */
  readonly tenant?: 'rich' | 'poor'
  /** A client's action during the run; repeated until it is done. */
  readonly meanwhile?: 'answer' | 'answer early' | 'steer' | 'stop' | 'interrupt'
}

const repeated = (turns: number, ...kinds: readonly (readonly CallKind[])[]): readonly (readonly CallKind[])[] =>
  Array.from({ length: turns }, (_, turn) => kinds[turn % kinds.length] ?? [])

const plain = [['Pay', 'Look', 'Look', 'Pay'], ['Look', 'Look', 'Look'], ['Pay'], ['Fail', 'Pay']] as const
const endless = { turns: plain, isEndless: true } as const

const kinds: readonly Kind[] = [
  {
    name: 'parallel tools',
    plan: (turns) => ({ turns: repeated(turns, ...plain) }),
    ends: ['completed'],
    tenant: 'rich',
  },
  {
    name: 'approvals, late and twice',
    plan: (turns) => ({ turns: repeated(turns, ['Pay'], ['Look', 'Ask'], ['Look'], ['Pay', 'Look']) }),
    ends: ['completed'],
    tenant: 'rich',
    meanwhile: 'answer',
  },
  {
    name: 'a budget',
    plan: (turns) => ({ ...endless, maxBudgetUsd: requestUsd * (turns - 3) }),
    ends: ['max_budget_usd'],
  },
  { name: 'a limit of turns', plan: (turns) => ({ ...endless, maxTurns: turns - 2 }), ends: ['max_turns'] },
  {
    name: 'steering',
    plan: (turns) => ({ turns: repeated(turns, ...plain) }),
    ends: ['completed'],
    meanwhile: 'steer',
  },
  {
    name: 'subagents',
    plan: (turns) => ({ turns: repeated(turns, ['Task', 'Task', 'Look'], ['Pay'], ['Beside'], ['Look'], ['Task']) }),
    ends: ['completed'],
    tenant: 'rich',
  },
  { name: 'a stop', plan: () => endless, ends: ['user_requested'], meanwhile: 'stop' },
  {
    name: 'two prompts',
    plan: (turns) => ({ turns: repeated(Math.ceil(turns / 2), ...plain) }),
    ends: ['completed', 'completed'],
  },
  {
    name: 'an interruption',
    plan: () => endless,
    ends: ['aborted_tools|aborted_streaming|user_requested'],
    meanwhile: 'interrupt',
  },
  { name: 'a budget of a tenant', plan: () => endless, ends: ['max_budget_usd'], tenant: 'poor' },
  {
    name: 'a budget of a tenant, with subagents',
    plan: () => ({ turns: [['Task', 'Pay', 'Task'], ['Look']], isEndless: true }),
    ends: ['max_budget_usd'],
    tenant: 'poor',
  },
  {
    name: 'approvals before the question',
    plan: (turns) => ({ turns: repeated(turns, ['Look', 'Ask'], ['Pay'], ['Look']) }),
    ends: ['completed'],
    meanwhile: 'answer early',
  },
]

export interface SoakWorld {
  readonly cluster: Cluster
  readonly outside: OutsideLog
  readonly tenants: Tenants
  readonly turns: number
  readonly toolMs: number
  /** A session that has not ended by then counts as stuck: milliseconds of `Date.now`. */
  deadline: number
}

export interface SoakSession {
  readonly id: string
  readonly kind: string
  readonly records: number
  readonly turns: number
  /** Calls that were reported to the model as unknown. */
  readonly unknown: number
  /** It was set aside because several of its workers died, and an operator released it. */
  readonly wasSetAside: boolean
  readonly problems: readonly string[]
}

/** Plays one session to its end as a client does, and returns its problems. */
export async function playSoak(number: number, world: SoakWorld): Promise<SoakSession> {
  const kind = kinds[number % kinds.length]
  if (kind === undefined) throw new Error('There are no kinds.')
  const client = new SoakClient(`s${number}`, kind, world, number)
  try {
    return await client.play()
  } catch (error) {
    return {
      id: `s${number}`,
      kind: kind.name,
      records: 0,
      turns: 0,
      unknown: 0,
      wasSetAside: client.wasSetAside,
      problems: [String(error)],
    }
  }
}

class SoakClient {
  readonly #id: string
  readonly #session: SessionOnCluster
  readonly #kind: Kind
  readonly #world: SoakWorld
  readonly #plan: Plan
  readonly #tenant: string | undefined
  readonly #random: (below: number) => number
  readonly #answered = new Set<string>()
  #wasSaid = false
  wasSetAside = false
  #ends: readonly string[]
  #lookAt = 0

  constructor(id: string, kind: Kind, world: SoakWorld, seed: number) {
    this.#id = id
    this.#session = new SessionOnCluster(world.cluster, id)
    this.#kind = kind
    this.#ends = kind.ends
    this.#world = world
    this.#random = randomOf(seed)
    const { toolMs, turns } = world
    // Four sessions share a tenant with little money.
    this.#tenant = kind.tenant === 'poor' ? `poor-${Math.floor(seed / kinds.length / 2)}` : kind.tenant
    this.#plan = { isEndless: false, toolMs, maxTurns: null, maxBudgetUsd: null, ...kind.plan(turns) }
  }

  async play(): Promise<SoakSession> {
    let status: SessionStatus | undefined
    const { tenants, turns: turnsOfAll } = this.#world
    const limitUsd = this.#kind.tenant === 'poor' ? requestUsd * turnsOfAll * 3 : 100_000
    if (this.#tenant !== undefined) await tenants.join(this.#tenant, this.#id, limitUsd)
    const opening = { plan: this.#plan, ...(this.#tenant !== undefined && { tenant: this.#tenant }) }
    for (let run = 1; run <= this.#kind.ends.length; run++) {
      await this.#ask(`go-${run}`, { type: 'prompt', content: promptOf(run) }, opening)
      if (this.#kind.meanwhile === 'answer early') await this.#answerAll()
      status = await this.#ended(run)
    }
    if (this.#kind.meanwhile === 'steer' && this.#wasSaid && (await this.#beganRun())) {
      this.#ends = [...this.#ends, 'completed']
      status = await this.#ended(this.#ends.length)
    }
    const { name } = this.#kind
    const records = await this.#session.records()
    const problems = status === undefined ? ['It did not begin.'] : await this.#problems(records, status)
    const unknown = JSON.stringify(resultsIn(records)).split('is unknown').length - 1
    const [{ length }, turns, { wasSetAside }] = [records, status?.turns ?? 0, this]
    return { id: this.#id, kind: name, records: length, turns, unknown, wasSetAside, problems }
  }

  /** A client without an answer repeats its request, so any request may arrive twice. */
  async #ask(id: string, request: SessionRequest, opening?: JsonObject): Promise<void> {
    for (let times = this.#random(4) === 0 ? 2 : 1; times > 0; times--) await this.#session.ask(id, request, opening)
  }

  /** Whether the message for mid-run arrived after the run. */
  async #beganRun(): Promise<boolean> {
    while (Date.now() < this.#world.deadline) {
      const noteRecord = (await this.#session.records()).find((record) => countMentions(noteOf(this.#id), [record]) > 0)
      if (noteRecord !== undefined) return noteRecord.type === 'start'
      await wait(300)
    }
    return false
  }

  /** Waits until this many runs have ended, and does pending actions meanwhile. */
  async #ended(run: number): Promise<SessionStatus> {
    const { outside, deadline } = this.#world
    for (;;) {
      outside.read()
      const mayHaveEnded = outside.ends(this.#id) >= run
      if (mayHaveEnded || Date.now() >= this.#lookAt) {
        this.#lookAt = Date.now() + 5_000 + this.#random(5_000)
        const status = await this.#session.status()
        // A later run may have begun automatically with a message that arrived at the end of this one.
        const { state, records, runId = '' } = status
        await this.#answerShown(status)
        if (state === 'idle' && records > 0 && Number(runId.replace('run', '')) >= run) return status
        const { stalled } = status
        // A worker may die between pausing released work and resuming it: the status says so.
        if (stalled?.kind === 'set_aside' || (this.wasSetAside && stalled?.needsResume === true)) {
          this.wasSetAside = true
          await this.#session.release().catch(() => {
            // The node that was asked has died: the session is released at the next look.
          })
        }
        if (Date.now() > deadline) throw new Error(`It did not end: ${JSON.stringify(status)}`)
      }
      await this.#meanwhile()
      await wait(300 + this.#random(300))
    }
  }

  async #meanwhile(): Promise<void> {
    const { outside } = this.#world
    const { meanwhile } = this.#kind
    if (meanwhile === 'answer') {
      for (const callId of outside.asks(this.#id)) await this.#answer(callId)
    } else if (meanwhile !== undefined && !this.#wasSaid && outside.paid(this.#id).length >= 5) {
      this.#wasSaid = true
      if (meanwhile === 'steer') await this.#ask('note', { type: 'prompt', content: noteOf(this.#id) })
      if (meanwhile === 'stop') await this.#ask('stop', { type: 'stop', message: 'enough' })
      if (meanwhile === 'interrupt') await this.#ask('interrupt', { type: 'interrupt' })
    }
  }

  /** A lost process may have put a question on record without reporting it. The next process finds it at rest, and a client sees it in the status. */
  async #answerShown({ questions }: SessionStatus): Promise<void> {
    if (this.#kind.meanwhile !== 'answer') return
    for (const { callId } of questions) if (callId !== undefined) await this.#answer(callId)
  }

  async #answerAll(): Promise<void> {
    for (const [turn, calls] of this.#plan.turns.entries())
      for (const [index, call] of calls.entries()) if (call === 'Ask') await this.#answer(`1.${turn}.${index}`)
  }

  /** The first answer counts. */
  async #answer(callId: string): Promise<void> {
    if (this.#answered.has(callId)) return
    this.#answered.add(callId)
    if (this.#kind.meanwhile === 'answer') await wait(this.#random(1_500))
    const allow = { behavior: 'allow' } as const
    const deny = { behavior: 'deny', message: 'No.' } as const
    const isAllowed = allows(callId)
    await this.#ask(`a-${callId}`, { type: 'answer', callId, answer: isAllowed ? allow : deny })
    if (this.#random(2) === 0)
      await this.#ask(`b-${callId}`, { type: 'answer', callId, answer: isAllowed ? deny : allow })
  }

  async #problems(records: readonly StepRecord[], status: SessionStatus): Promise<readonly string[]> {
    const { outside } = this.#world
    outside.read()
    const problems = [...problemsOf({ records, effects: outside.paid(this.#id) })]
    const reasons = endsOf(records)
    const isRight =
      reasons.length === this.#ends.length &&
      this.#ends.every((end, index) => end.split('|').includes(reasons[index] ?? ''))
    if (!isRight) problems.push(`Its runs ended as ${reasons.join(', ')}.`)
    const last = records.findLast((record) => record.type === 'end' && record.scope === '')
    if (last?.type === 'end') {
      const { turns, nanos, unknownNanos, totalTokens: tokens } = last.spent
      const reported = { turns: status.turns, usd: status.usd, tokens: status.tokens, records: status.records }
      const found = { turns, usd: (nanos + unknownNanos) / 1e9, tokens, records: records.length }
      if (JSON.stringify(reported) !== JSON.stringify(found))
        problems.push(`Its status has ${JSON.stringify(reported)}, but its records have ${JSON.stringify(found)}.`)
    }
    problems.push(...this.#problemsOfMoney(records), ...this.#problemsOfWords(records))
    return problems
  }

  #problemsOfMoney(records: readonly StepRecord[]): readonly string[] {
    const chargedUsd =
      records.reduce(
        (sum, record) =>
          record.type === 'end' && record.scope === '' ? sum + record.spent.nanos + record.spent.unknownNanos : sum,
        0,
      ) / 1e9
    const billedUsd = this.#world.outside.billedUsd(this.#id)
    const { maxBudgetUsd } = this.#plan
    // Charges of a tenant's sessions stay within their leases.
    if (this.#tenant !== undefined && billedUsd > chargedUsd + 1e-9)
      return [`${chargedUsd} USD were charged to ${this.#tenant}, and ${billedUsd} billed.`]
    // Without a limit, a request is not on record before it is made (spec R-STEP-6): one whose process was killed may not be charged at all.
    if (maxBudgetUsd === null || (billedUsd <= chargedUsd + 1e-9 && chargedUsd <= maxBudgetUsd + 1e-9)) return []
    return [`Of ${maxBudgetUsd} USD ${chargedUsd} were charged, and ${billedUsd} billed.`]
  }

  #problemsOfWords(records: readonly StepRecord[]): readonly string[] {
    const problems: string[] = []
    const times = countMentions(noteOf(this.#id), records)
    if (this.#kind.meanwhile === 'steer' && this.#wasSaid && times !== 1)
      problems.push(`What was said in mid-run is there ${times} times.`)
    for (const { tool_use_id: id, content } of resultsIn(records)) {
      const contentJson = JSON.stringify(content)
      if (!this.#answered.has(id) || contentJson.includes('is unknown')) continue
      if (contentJson.includes(`paid by ${id}`) !== allows(id))
        problems.push(`To ${id} the first answer was not taken: ${contentJson}`)
    }
    return problems
  }
}

/** How often the transcript has a text of its own. */
function countMentions(text: string, records: readonly StepRecord[]): number {
  return JSON.stringify(records.flatMap(entriesAddedBy)).split(`"${text}"`).length - 1
}

function resultsIn(records: readonly StepRecord[]): readonly ToolResultBlock[] {
  return records.flatMap(entriesAddedBy).flatMap((entry) => {
    if (!('message' in entry) || typeof entry.message.content === 'string') return []
    return entry.message.content.filter(isToolResult)
  })
}

const allows = (callId: string): boolean => Number(callId.replaceAll(/\D/g, '')) % 3 !== 0
