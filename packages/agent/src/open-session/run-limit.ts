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

/** What bounds the runs of a session in dollars and turns. */
type RunBounds = Pick<RunOptions, 'maxRunUsd' | 'maxTurns'>

type Run = Pick<RunSettings, 'choices' | 'limitSources' | 'runLimit'>
type SessionModels = Pick<Models, 'model' | 'fallbackModel' | 'smallModel' | 'compactModel' | 'prices'>

/** A limit of dollars per run by default or by settings, which gives way to turns where it cannot be kept (spec R-LIM-6). */
export class RunLimit {
  readonly #run: Run
  readonly #prices: Prices
  /** Of the models that stay when another one is chosen: those that cannot be bounded in dollars. */
  readonly #others: readonly string[]
  readonly #first: readonly string[]

  constructor(
    run: Run,
    { model, fallbackModel, smallModel, compactModel, prices }: SessionModels,
    agents?: SessionAgents,
  ) {
    this.#run = run
    this.#prices = prices
    // Only tools that start agents ask models of their own.
    const asked = agents !== undefined && 'models' in agents.tool ? (agents.tool.models ?? []) : []
    const others = [fallbackModel, smallModel, compactModel, ...asked.filter(({ id }) => id !== model.id)]
    this.#others = this.#unpriced(others.filter((other) => other !== undefined))
    this.#first = this.unpricedWith(model)
  }

  /** Nobody typed it, so that it gives way. */
  get isYielding(): boolean {
    const { choices, limitSources = {} } = this.#run
    const { maxRunUsd: source } = limitSources
    return (source === 'default' || source === 'settings') && choices.maxRunUsd !== Infinity
  }

  /** Ids of the models whose requests cannot be bounded in dollars, where the session asks this one. */
  unpricedWith(model: Model): readonly string[] {
    return [...new Set([...this.#unpriced([model]), ...this.#others])]
  }

  #unpriced(models: readonly Model[]): readonly string[] {
    return models.filter((model) => !isBudgetable(model, this.#prices)).map(({ id }) => id)
  }

  /** As the session begins. */
  get bounds(): RunBounds {
    const { maxRunUsd, maxTurns } = this.#run.choices
    if (this.isYielding && this.#first.length > 0) return this.inPlace
    return { ...(maxRunUsd !== undefined && { maxRunUsd }), ...(maxTurns !== undefined && { maxTurns }) }
  }

  get notice(): SessionNotice | undefined {
    return this.isYielding ? this.noticeOf(this.#first) : undefined
  }

  /** What bounds runs in place of dollars. What a script answers costs nothing. */
  get inPlace(): Pick<RunOptions, 'maxTurns'> {
    const { maxTurns = this.#run.choices.script === undefined ? turnsWithoutPrice : undefined } = this.#run.choices
    return maxTurns === undefined ? {} : { maxTurns }
  }

  /** The change of limits that another model makes of those in force. `areTurnsSet`: a person has set turns since. */
  changeFor(isReplaced: boolean, areTurnsSet: boolean): LimitsChange {
    const { maxRunUsd = Infinity, maxTurns = usualMaxTurns } = this.#run.choices
    const turns = isReplaced ? (this.inPlace.maxTurns ?? usualMaxTurns) : maxTurns
    return { maxRunUsd: isReplaced ? null : maxRunUsd, ...(!areTurnsSet && { maxTurns: turns }) }
  }

  get isReplacedAtFirst(): boolean {
    return this.#first.length > 0
  }

  /** Undefined where nothing has to be said. */
  noticeOf(models: readonly string[]): SessionNotice | undefined {
    const { choices, runLimit } = this.#run
    const { maxRunUsd, maxTurns, script } = choices
    if (models.length === 0 || maxRunUsd === undefined || script !== undefined) return undefined
    const from = runLimit?.from
    return {
      kind: 'no_price',
      models,
      maxRunUsd,
      maxTurns: maxTurns ?? turnsWithoutPrice,
      ...(from !== undefined && this.#run.limitSources?.maxRunUsd === 'default' && { from }),
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
 * The session whose limit of dollars gives way while it asks a model without a price, and comes back with one that has a price. What a person sets of it
 * stays as they set it.
 */
export function followModels(session: Session, following: Following): Session {
  const { limit, modelNamed, first, notify } = following
  if (!limit.isYielding) return session
  const [set, prompt] = [session.set.bind(session), session.prompt.bind(session)]
  let [isKept, areTurnsSet, isReplaced] = [true, false, limit.isReplacedAtFirst]
  const said = new Set<string>(limit.unpricedWith(first))
  const unpricedFor = (name: string | null): readonly string[] => {
    try {
      return limit.unpricedWith(name === null ? first : modelNamed(name))
    } catch {
      // The session says what is wrong with it.
      return []
    }
  }
  const tell = (models: readonly string[]): void => {
    const notice = models.every((model) => said.has(model)) ? undefined : limit.noticeOf(models)
    for (const model of models) said.add(model)
    if (notice !== undefined) notify([notice])
  }
  // A change that is refused changes nothing here.
  const setWith = (change: SettingsChange, unpriced?: readonly string[]): void => {
    const { limits = {} } = change
    const replaces = unpriced === undefined ? isReplaced : unpriced.length > 0
    const own = isKept && replaces !== isReplaced ? limit.changeFor(replaces, areTurnsSet) : {}
    const all = { ...own, ...limits }
    set(Object.keys(all).length === 0 ? change : { ...change, limits: all })
    isReplaced = replaces
    isKept &&= limits.maxRunUsd === undefined
    areTurnsSet ||= limits.maxTurns !== undefined
    if (isKept) tell(unpriced ?? [])
  }
  const unpricedNow = (): readonly string[] => unpricedFor(session.snapshot.model)
  // A message may be for another model, of its run alone.
  session.listen(({ type }) => {
    if (type === 'run_end' && isKept && unpricedNow().length > 0 !== isReplaced) setWith({}, unpricedNow())
  })
  return Object.assign(session, {
    set(change: SettingsChange): void {
      setWith(change, change.model === undefined ? undefined : unpricedFor(change.model))
    },
    prompt(content: Parameters<Session['prompt']>[0], options: PromptOptions = {}): string {
      const unpriced = options.model === undefined ? [] : unpricedFor(options.model)
      if (isKept && unpriced.length > 0) setWith({}, unpriced)
      return prompt(content, options)
    },
  })
}
