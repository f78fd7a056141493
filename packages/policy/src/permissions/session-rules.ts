import { ConfigurationError, type PermissionRequest } from '@halting/core'
import type { PermissionUpdate } from '@halting/core/adapters'
import { learnedRules, applyUpdates, type WithdrawnRule, withWithdrawals } from './rule-updates.ts'
import type { PermissionMode, RuleBook } from './rule-book.ts'
import { type Behavior, parseRules, type RuleText } from './rule.ts'

/** A rule in force. */
export interface RuleInForce {
  /** Whether it allows, denies or asks. */
  readonly behavior: Behavior
  /** As it is written: `Bash(npm test *)`. */
  readonly rule: string
  /** The destination that the person chose when they added the rule by an answer; absent for an initial rule. */
  readonly destination?: PermissionUpdate['destination']
}

/** The rights of the caller, such as `ToolContext.rights`. Without them, the rights of the last judged call apply. */
export type Rights = Pick<PermissionRequest, 'learned'>

/** The rules of a session now: those it began with, and those that people added or withdrew since. */
export class SessionRules {
  #book: RuleBook
  readonly #modes: readonly PermissionMode[]
  readonly #withdrawn: WithdrawnRule[] = []
  /** For each list of answers: the rules that include it, and the rules from which they were made. */
  readonly #withAnswers = new WeakMap<
    NonNullable<Rights['learned']>,
    { readonly base: RuleBook; readonly merged: RuleBook }
  >()
  #lastLearned: Rights['learned']

  constructor(book: RuleBook, modes: readonly PermissionMode[]) {
    this.#book = book
    this.#modes = modes
  }

  /** The rules without the answers of the session. */
  get book(): RuleBook {
    return this.#book
  }

  get mode(): PermissionMode {
    return this.#book.mode
  }

  setMode(mode: PermissionMode): void {
    if (!this.#modes.includes(mode)) throw new ConfigurationError(`The mode ${mode} is not available in this session.`)
    this.#book = { ...this.#book, mode }
  }

  /** The rules for a request. The answers in the request become those of `last`. */
  forRequest(request: PermissionRequest): RuleBook {
    if (request.learned !== undefined) this.#lastLearned = request.learned
    return this.withLearned(request)
  }

  /** The rules with these answers of the session. Each list of answers is applied once. */
  withLearned({ learned }: Rights): RuleBook {
    if (learned === undefined) return this.#book
    const known = this.#withAnswers.get(learned)
    if (known?.base === this.#book) return known.merged
    const merged = applyUpdates(this.#book, withWithdrawals(learned, this.#withdrawn), this.#modes)
    this.#withAnswers.set(learned, { base: this.#book, merged })
    return merged
  }

  /** The rules for the last judged request, for callers without a request, such as a sandbox. */
  last(): RuleBook {
    return this.withLearned({ learned: this.#lastLearned })
  }

  add(behavior: Behavior, rules: readonly RuleText[]): void {
    const book = this.#book
    if (book.hasFixedAllow && behavior === 'allow') throw fixedAllow()
    this.#book = {
      ...book,
      [behavior]: [...book[behavior], ...parseRules({ [behavior]: rules }, book.cwd)[behavior]],
    }
  }

  withdrawAllow(rule: string, rights: Rights = {}): void {
    this.#withdrawn.push({ rule, after: (this.#lastLearned ?? rights.learned ?? []).length })
    this.#book = { ...this.#book, allow: this.#book.allow.filter(({ source }) => source !== rule) }
  }

  /** The rules in force, as they are written. */
  list(rights: Rights = {}): readonly RuleInForce[] {
    const updates = this.#lastLearned ?? rights.learned ?? []
    const learned = learnedRules(withWithdrawals(updates, this.#withdrawn))
    const isLearned = (behavior: Behavior, rule: string): boolean =>
      learned.some((one) => one.behavior === behavior && one.rule === rule)
    const present = this.withLearned({ learned: updates })
    const first = (['deny', 'ask', 'allow'] as const).flatMap((behavior) =>
      present[behavior].flatMap(({ source, isOtherReading }) =>
        isOtherReading === true ? [] : [{ behavior, rule: source }],
      ),
    )
    return [...first.filter(({ behavior, rule }) => !isLearned(behavior, rule)), ...learned]
  }
}

/** The error for adding an allow rule although only an administrator may allow calls. */
export function fixedAllow(): ConfigurationError {
  return new ConfigurationError(
    'allowManagedPermissionRulesOnly is set: only the rules of an administrator allow calls, and no other allow rule can be added.',
  )
}
