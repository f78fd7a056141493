import type { LimitsChange, Model, Prices, RunOptions, SettingsChange } from '@halting/core'
import { isBudgetable, usualMaxTurns } from '@halting/core/adapters'
import type { PromptOptions, Session } from '@halting/core/session'
import type { SessionAgents } from '../agents/session-agents.ts'
import type { Models } from './models.ts'
import type { SessionNotice } from './ports.ts'
import type { RunSettings } from './run-settings.ts'

/**
 * Turns of a run in place of a limit of dollars that nobody typed, where a model has no price: so many turns of a large model come to about the default of
 * ten dollars, at five cents each.
 */
export const turnsWithoutPrice = 200

/** The limits of dollars, by the names of choices and of a session. */
const dollarLimits = ['maxRunUsd', 'maxBudgetUsd'] as const
type DollarLimit = (typeof dollarLimits)[number]

/** What bounds the runs of a session in dollars and turns. */
type RunBounds = Pick<RunOptions, DollarLimit | 'maxTurns'>

type Run = Pick<RunSettings, 'choices' | 'limitSources' | 'runLimit'>
type SessionModels = Pick<Models, 'model' | 'fallbackModel' | 'smallModel' | 'compactModel' | 'prices'>

// Spec R-LIM-6.
/** Limits of dollars by default or by settings, which give way to turns where they cannot be kept. */
export class RunLimit {
  readonly #run: Run
  readonly #prices: Prices
  /** Of the models that stay when another one is chosen: those that cannot be bounded in dollars. */
  readonly #others: readonly string[]
  /** The limits that nobody typed, so that they give way. */
  readonly yielding: readonly DollarLimit[]
  /** Ids of the models that cannot be bounded in dollars, as the session begins. */
  readonly unpriced: readonly string[]

  constructor(run: Run, models: SessionModels, agents?: SessionAgents) {
    const { model, fallbackModel, smallModel, compactModel, prices } = models
    const { choices, limitSources = {} } = run
    this.#run = run
    this.#prices = prices
    // Only tools that start agents ask models of their own.
    const asked = agents !== undefined && 'models' in agents.tool ? (agents.tool.models ?? []) : []
    const others = [fallbackModel, smallModel, compactModel, ...asked.filter(({ id }) => id !== model.id)]
    this.#others = this.#unpricedOf(others.filter((other) => other !== undefined))
    this.unpriced = this.unpricedWith(model)
    this.yielding = dollarLimits.filter((name) => {
      const { [name]: source } = limitSources
      return (source === 'default' || source === 'settings') && (choices[name] ?? Infinity) !== Infinity
    })
  }

  /** Ids of the models whose requests cannot be bounded in dollars, where the session asks this one. */
  unpricedWith(model: Model): readonly string[] {
    return [...new Set([...this.#unpricedOf([model]), ...this.#others])]
  }

  #unpricedOf(models: readonly Model[]): readonly string[] {
    return models.filter((model) => !isBudgetable(model, this.#prices)).map(({ id }) => id)
  }

  /** As the session begins. */
  get bounds(): RunBounds {
    const { choices } = this.#run
    const givesWay = this.yielding.length > 0 && this.unpriced.length > 0
    const maxTurns = givesWay ? this.#turnsInPlace : choices.maxTurns
    const kept = dollarLimits.filter((name) => !givesWay || !this.yielding.includes(name))
    return {
      ...Object.fromEntries(kept.flatMap((name) => (choices[name] === undefined ? [] : [[name, choices[name]]]))),
      ...(maxTurns !== undefined && { maxTurns }),
    }
  }

  /** What a script answers costs nothing: as many turns as ever. */
  get #turnsInPlace(): number | undefined {
    const { maxTurns, script } = this.#run.choices
    return maxTurns ?? (script === undefined ? turnsWithoutPrice : undefined)
  }

  /** The change of the limits of these names that another model makes. `areTurnsSet`: a person has set turns since. */
  changeFor(names: readonly DollarLimit[], isReplaced: boolean, areTurnsSet: boolean): LimitsChange {
    const { choices } = this.#run
    const turns = (isReplaced ? this.#turnsInPlace : choices.maxTurns) ?? usualMaxTurns
    const dollars = names.map((name) => [name, isReplaced ? null : choices[name]])
    return { ...Object.fromEntries(dollars), ...(!areTurnsSet && { maxTurns: turns }) }
  }

  /** What a person should know of limits that give way for these models; undefined where there is nothing. */
  noticeOf(models: readonly string[], names: readonly DollarLimit[] = this.yielding): SessionNotice | undefined {
    const { choices, runLimit, limitSources } = this.#run
    if (models.length === 0 || names.length === 0 || choices.script !== undefined) return undefined
    const { maxRunUsd, maxBudgetUsd, maxTurns = turnsWithoutPrice } = choices
    const isDefault = limitSources?.maxRunUsd === 'default' && runLimit !== undefined
    return {
      kind: 'no_price',
      models,
      ...(names.includes('maxRunUsd') && maxRunUsd !== undefined && { maxRunUsd }),
      ...(names.includes('maxBudgetUsd') && maxBudgetUsd !== undefined && { maxBudgetUsd }),
      maxTurns,
      ...(isDefault && { from: runLimit.from }),
    }
  }
}

interface Following {
  readonly limit: RunLimit
  readonly modelNamed: (name: string) => Model
  readonly first: Model
  readonly notify: (notices: readonly SessionNotice[]) => void
}

/**
 * The session whose limits of dollars give way while it asks a model without a price, and come back with one that has a price. What a person sets of them
 * stays as they set it.
 */
export function followModels(session: Session, { limit, modelNamed, first, notify }: Following): Session {
  if (limit.yielding.length === 0) return session
  const [set, prompt] = [session.set.bind(session), session.prompt.bind(session)]
  let [kept, areTurnsSet, isReplaced] = [limit.yielding, false, limit.unpriced.length > 0]
  const said = new Set<string>(limit.unpriced)
  const unpricedFor = (name: string | null): readonly string[] => {
    try {
      return limit.unpricedWith(name === null ? first : modelNamed(name))
    } catch {
      // The session says what is wrong with it.
      return []
    }
  }
  const tell = (models: readonly string[]): void => {
    const notice = models.every((model) => said.has(model)) ? undefined : limit.noticeOf(models, kept)
    for (const model of models) said.add(model)
    if (notice !== undefined) notify([notice])
  }
  // A change that is refused changes nothing here.
  const setWith = (change: SettingsChange, unpriced?: readonly string[]): void => {
    const { limits = {} } = change
    const replaces = unpriced === undefined ? isReplaced : unpriced.length > 0
    const own = kept.length > 0 && replaces !== isReplaced ? limit.changeFor(kept, replaces, areTurnsSet) : {}
    const all = { ...own, ...limits }
    set(Object.keys(all).length === 0 ? change : { ...change, limits: all })
    isReplaced = replaces
    kept = kept.filter((name) => limits[name] === undefined)
    areTurnsSet ||= limits.maxTurns !== undefined
    tell(unpriced ?? [])
  }
  // A message may be for another model, of its run alone.
  const unpricedNow = (): readonly string[] => {
    const { model, queue } = session.snapshot
    const asked = [model, ...queue.flatMap((message) => message.model ?? [])]
    return [...new Set(asked.flatMap((name) => unpricedFor(name)))]
  }
  session.listen(({ type }) => {
    if (type === 'run_end' && unpricedNow().length > 0 !== isReplaced) setWith({}, unpricedNow())
  })
  return Object.assign(session, {
    set(change: SettingsChange): void {
      setWith(change, change.model === undefined ? undefined : unpricedFor(change.model))
    },
    prompt(content: Parameters<Session['prompt']>[0], options: PromptOptions = {}): string {
      const unpriced = options.model === undefined ? [] : unpricedFor(options.model)
      if (unpriced.length > 0) setWith({}, unpriced)
      return prompt(content, options)
    },
  })
}
