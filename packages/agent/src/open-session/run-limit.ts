import type { LimitsChange, Model, Prices, RunOptions, SettingsChange } from '@halting/core'
import { isBudgetable, defaultMaxTurns } from '@halting/core/adapters'
import type { PromptOptions, Session } from '@halting/core/session'
import type { SessionAgents } from '../agents/session-agents.ts'
import type { Models } from './models.ts'
import type { SessionNotice } from './ports.ts'
import type { RunSettings } from './run-settings.ts'

/**
 * Turn limit that replaces a default cost limit if a model has no price: with a large model, this many turns cost
 * about the default of ten dollars, at five cents per turn.
 */
export const turnsWithoutPrice = 200

/** The cost limits, by their names in choices and sessions. */
const dollarLimits = ['maxRunUsd', 'maxBudgetUsd'] as const
type DollarLimit = (typeof dollarLimits)[number]

/** The limits of dollars and turns for the runs of a session. */
type RunBounds = Pick<RunOptions, DollarLimit | 'maxTurns'>

type Run = Pick<RunSettings, 'choices' | 'limitSources' | 'runLimit'>
type SessionModels = Pick<Models, 'model' | 'fallbackModel' | 'smallModel' | 'compactModel' | 'prices'>

// Spec R-LIM-6.
/** Default cost limits, and cost limits of settings. They are replaced by a turn limit if they cannot be enforced. */
export class RunLimit {
  readonly #run: Run
  readonly #prices: Prices
  /** Models other than the main one whose cost cannot be bounded. */
  readonly #others: readonly string[]
  /** The limits that no user typed, and that are therefore replaced. */
  readonly yielding: readonly DollarLimit[]
  /** Ids of the models whose cost cannot be bounded at the start of the session. */
  readonly unpriced: readonly string[]

  constructor(run: Run, models: SessionModels, agents?: SessionAgents) {
    const { model, fallbackModel, smallModel, compactModel, prices } = models
    const { choices, limitSources = {} } = run
    this.#run = run
    this.#prices = prices
    // Only tools that start agents use models of their own.
    const agentModels = agents !== undefined && 'models' in agents.tool ? (agents.tool.models ?? []) : []
    const others = [fallbackModel, smallModel, compactModel, ...agentModels.filter(({ id }) => id !== model.id)]
    this.#others = this.#unpricedOf(others.filter((other) => other !== undefined))
    this.unpriced = this.unpricedWith(model)
    this.yielding = dollarLimits.filter((name) => {
      const { [name]: source } = limitSources
      return (source === 'default' || source === 'settings') && (choices[name] ?? Infinity) !== Infinity
    })
  }

  /** Returns ids of the models whose cost cannot be bounded if this is the main model. */
  unpricedWith(model: Model): readonly string[] {
    return [...new Set([...this.#unpricedOf([model]), ...this.#others])]
  }

  #unpricedOf(models: readonly Model[]): readonly string[] {
    return models.filter((model) => !isBudgetable(model, this.#prices)).map(({ id }) => id)
  }

  /** The limits at the start of the session. */
  get bounds(): RunBounds {
    const { choices } = this.#run
    const givesWay = this.yielding.length > 0 && this.unpriced.length > 0
    const maxTurns = givesWay ? this.#turnsInPlace : choices.maxTurns
    const enforced = dollarLimits.filter((name) => !givesWay || !this.yielding.includes(name))
    return {
      ...Object.fromEntries(enforced.flatMap((name) => (choices[name] === undefined ? [] : [[name, choices[name]]]))),
      ...(maxTurns !== undefined && { maxTurns }),
    }
  }

  /** Scripted replies cost nothing, so turns stay unlimited. */
  get #turnsInPlace(): number | undefined {
    const { maxTurns, script } = this.#run.choices
    return maxTurns ?? (script === undefined ? turnsWithoutPrice : undefined)
  }

  /** Returns the change of these limits for another model. `areTurnsSet`: a user has set the turns. */
  changeFor(names: readonly DollarLimit[], isReplaced: boolean, areTurnsSet: boolean): LimitsChange {
    const { choices } = this.#run
    const turns = (isReplaced ? this.#turnsInPlace : choices.maxTurns) ?? defaultMaxTurns
    const dollars = names.map((name) => [name, isReplaced ? null : choices[name]])
    return { ...Object.fromEntries(dollars), ...(!areTurnsSet && { maxTurns: turns }) }
  }

  /** Returns the notice about limits that are replaced for these models; undefined if there are none. */
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
 * A session whose cost limits are replaced while its model has no price, and restored for a model with a price. Limits
 * that a user sets stay as set.
 */
export function followModels(session: Session, { limit, modelNamed, first, notify }: Following): Session {
  if (limit.yielding.length === 0) return session
  const [set, prompt] = [session.set.bind(session), session.prompt.bind(session)]
  let [stillYielding, areTurnsSet, isReplaced] = [limit.yielding, false, limit.unpriced.length > 0]
  const reported = new Set<string>(limit.unpriced)
  const unpricedFor = (name: string | null): readonly string[] => {
    try {
      return limit.unpricedWith(name === null ? first : modelNamed(name))
    } catch {
      // The session reports what is wrong with the change.
      return []
    }
  }
  const report = (models: readonly string[]): void => {
    const notice = models.every((model) => reported.has(model)) ? undefined : limit.noticeOf(models, stillYielding)
    for (const model of models) reported.add(model)
    if (notice !== undefined) notify([notice])
  }
  // A rejected change must not change anything in this wrapper.
  const setWith = (change: SettingsChange, unpriced?: readonly string[]): void => {
    const { limits = {} } = change
    const replaces = unpriced === undefined ? isReplaced : unpriced.length > 0
    const own =
      stillYielding.length > 0 && replaces !== isReplaced ? limit.changeFor(stillYielding, replaces, areTurnsSet) : {}
    const all = { ...own, ...limits }
    set(Object.keys(all).length === 0 ? change : { ...change, limits: all })
    isReplaced = replaces
    stillYielding = stillYielding.filter((name) => limits[name] === undefined)
    areTurnsSet ||= limits.maxTurns !== undefined
    report(unpriced ?? [])
  }
  // A message may set the model of its run only.
  const unpricedNow = (): readonly string[] => {
    const { model, queue } = session.snapshot
    const agentModels = [model, ...queue.flatMap((message) => message.model ?? [])]
    return [...new Set(agentModels.flatMap((name) => unpricedFor(name)))]
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
