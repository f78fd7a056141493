import type { PermissionUpdate } from '@halting/core/adapters'
import { absolutePath, bothEnds } from '../files/paths.ts'
import { type Behavior, parseRules } from './rule.ts'
import type { PermissionMode, RuleBook } from './rule-book.ts'

/** A permission update that adds, replaces or removes rules. */
export type RuleUpdate = Extract<
  PermissionUpdate,
  {
    readonly rules: unknown
  }
>

/** Rules as they are written in settings. */
export function ruleTexts({ rules }: Pick<RuleUpdate, 'rules'>): readonly string[] {
  return rules.map(({ toolName, ruleContent }) =>
    ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`,
  )
}

/** @throws PermissionRuleError for invalid rules: a rule that is not understood protects nothing. */
export function checkUpdates(updates: readonly PermissionUpdate[], cwd: string): void {
  const texts: { [behavior in Behavior]?: readonly string[] } = {}
  for (const update of updates)
    if ('rules' in update) texts[update.behavior] = [...(texts[update.behavior] ?? []), ...ruleTexts(update)]
  parseRules(texts, cwd)
}

/** Whether the update adds allow rules. */
export function addsAllowRules(update: PermissionUpdate): boolean {
  return (update.type === 'addRules' || update.type === 'replaceRules') && update.behavior === 'allow'
}

/**
 * Applies the updates of the session. Deny and ask rules that existed before remain: an answer can remove only allow rules and the rules of earlier
 * answers.
 * @param modes Modes of the session: updates from before a resume may name others.
 */
export function applyUpdates(
  book: RuleBook,
  updates: readonly PermissionUpdate[],
  modes: readonly PermissionMode[],
): RuleBook {
  const counting = book.hasFixedAllow ? updates.filter((update) => !addsAllowRules(update)) : updates
  const learned = remainingAdditions(counting)
  let removed: ReadonlySet<string> = new Set()
  let { directories, mode } = book
  for (const update of counting) {
    switch (update.type) {
      case 'addRules':
      case 'replaceRules':
        removed = withoutTexts(removed, ruleTexts(update))
        break
      case 'removeRules':
        if (update.behavior === 'allow') removed = new Set([...removed, ...ruleTexts(update)])
        break
      case 'setMode':
        mode = modes.find((known) => known === update.mode) ?? mode
        break
      case 'addDirectories':
        directories = [...directories, ...endsOf(update.directories, book)]
        break
      case 'removeDirectories': {
        const ends = endsOf(update.directories, book)
        const own = bothEnds(book.cwd)
        directories = directories.filter((directory) => own.includes(directory) || !ends.includes(directory))
      }
    }
  }
  const rules = (behavior: Behavior): RuleBook['allow'] =>
    parseRules(
      { [behavior]: learned.flatMap((update) => (update.behavior === behavior ? ruleTexts(update) : [])) },
      book.cwd,
    )[behavior]
  return {
    ...book,
    mode,
    directories,
    deny: [...book.deny, ...rules('deny')],
    ask: [...book.ask, ...rules('ask')],
    allow: [...book.allow.filter(({ source }) => !removed.has(source)), ...rules('allow')],
  }
}

/** An allow rule that a person withdrew after this many updates. */
export interface WithdrawnRule {
  readonly rule: string
  readonly after: number
}

const everyDestination = ['session', 'localSettings', 'userSettings', 'projectSettings'] as const

/** The updates with the withdrawals inserted in order: a rule that is added again later is valid. */
export function withWithdrawals(
  updates: readonly PermissionUpdate[],
  withdrawn: readonly WithdrawnRule[],
): readonly PermissionUpdate[] {
  const removals = (taken: readonly WithdrawnRule[]): readonly PermissionUpdate[] =>
    taken.flatMap(({ rule }) =>
      everyDestination.map((destination) => ({
        type: 'removeRules' as const,
        behavior: 'allow' as const,
        rules: [ruleValueOf(rule)],
        destination,
      })),
    )
  if (withdrawn.length === 0) return updates
  const late = withdrawn.filter(({ after }) => after >= updates.length)
  return [
    ...updates.flatMap((update, index) => [...removals(withdrawn.filter(({ after }) => after === index)), update]),
    ...removals(late),
  ]
}

/** The rules that the updates add and do not remove later, each with the destination that was chosen for it. */
export function learnedRules(updates: readonly PermissionUpdate[]): readonly {
  readonly behavior: Behavior
  readonly rule: string
  readonly destination: PermissionUpdate['destination']
}[] {
  return remainingAdditions(updates).flatMap(({ behavior, destination, ...update }) =>
    ruleTexts(update).map((rule) => ({ behavior, rule, destination })),
  )
}

/** The updates that add rules, without those that later ones removed. */
function remainingAdditions(updates: readonly PermissionUpdate[]): readonly RuleUpdate[] {
  let learned: readonly RuleUpdate[] = []
  for (const update of updates) {
    if (update.type === 'addRules') learned = [...learned, update]
    else if (update.type === 'replaceRules') learned = [...learned.filter((one) => !isOfOneList(one, update)), update]
    else if (update.type === 'removeRules') {
      const texts = new Set(ruleTexts(update))
      learned = learned.map((one) => (isOfOneList(one, update) ? withoutRules(one, texts) : one))
    }
  }
  return learned
}

function isOfOneList(one: RuleUpdate, other: RuleUpdate): boolean {
  return one.behavior === other.behavior && one.destination === other.destination
}

function withoutRules(update: RuleUpdate, texts: ReadonlySet<string>): RuleUpdate {
  return { ...update, rules: update.rules.filter((rule) => !texts.has(ruleTexts({ rules: [rule] })[0] ?? '')) }
}

function withoutTexts(removed: ReadonlySet<string>, texts: readonly string[]): ReadonlySet<string> {
  return new Set([...removed].filter((text) => !texts.includes(text)))
}

function endsOf(paths: readonly string[], { cwd }: RuleBook): readonly string[] {
  return paths.flatMap((path) => bothEnds(absolutePath(path, cwd)))
}

/** Rules as an update that a person is offered. */
export function suggestionOf(rules: readonly string[], destination: PermissionUpdate['destination']): PermissionUpdate {
  return {
    type: 'addRules',
    rules: rules.map(ruleValueOf),
    behavior: 'allow',
    destination,
  }
}

function ruleValueOf(rule: string): RuleUpdate['rules'][number] {
  const [, toolName = rule, ruleContent] = /^([^(]+)\((.*)\)$/s.exec(rule) ?? []
  return ruleContent === undefined ? { toolName } : { toolName, ruleContent }
}
