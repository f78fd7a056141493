import type { PermissionUpdate } from '@halting/core/adapters'
import { absolutePath, bothEnds } from '../paths.ts'
import { type Behavior, parseRules } from './rule.ts'
import type { PermissionMode, RuleBook } from './rule-book.ts'

type RuleUpdate = Extract<PermissionUpdate, { readonly rules: unknown }>

/** Rules as they stand in settings. */
export function ruleTexts({ rules }: Pick<RuleUpdate, 'rules'>): readonly string[] {
  return rules.map(({ toolName, ruleContent }) =>
    ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`,
  )
}

/** @throws PermissionRuleError for rules that cannot be read: what is not understood protects nothing. */
export function checkUpdates(updates: readonly PermissionUpdate[], cwd: string): void {
  const texts: { [behavior in Behavior]?: readonly string[] } = {}
  for (const update of updates)
    if ('rules' in update) texts[update.behavior] = [...(texts[update.behavior] ?? []), ...ruleTexts(update)]
  parseRules(texts, cwd)
}

/** Whether it adds allow rules. */
export function allowsMore(update: PermissionUpdate): boolean {
  return (update.type === 'addRules' || update.type === 'replaceRules') && update.behavior === 'allow'
}

/**
 * The rules with what persons said since. Deny and ask rules that were there before stay: an answer to a question takes
 * back what answers brought, and allow rules.
 * @param modes Those of the session: what was said before a resume may name another.
 */
export function withLearned(
  book: RuleBook,
  updates: readonly PermissionUpdate[],
  modes: readonly PermissionMode[],
): RuleBook {
  let learned: readonly RuleUpdate[] = []
  let removed: ReadonlySet<string> = new Set()
  let { directories, mode } = book
  for (const update of updates) {
    if (book.hasFixedAllow && allowsMore(update)) continue
    switch (update.type) {
      case 'addRules':
        learned = [...learned, update]
        removed = without(removed, ruleTexts(update))
        break
      case 'replaceRules':
        learned = [...learned.filter((one) => !isOfOneList(one, update)), update]
        removed = without(removed, ruleTexts(update))
        break
      case 'removeRules': {
        const texts = new Set(ruleTexts(update))
        learned = learned.map((one) => (isOfOneList(one, update) ? withoutRules(one, texts) : one))
        if (update.behavior === 'allow') removed = new Set([...removed, ...texts])
        break
      }
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

function isOfOneList(one: RuleUpdate, other: RuleUpdate): boolean {
  return one.behavior === other.behavior && one.destination === other.destination
}

function withoutRules(update: RuleUpdate, texts: ReadonlySet<string>): RuleUpdate {
  return { ...update, rules: update.rules.filter((rule) => !texts.has(ruleTexts({ rules: [rule] })[0] ?? '')) }
}

function without(removed: ReadonlySet<string>, texts: readonly string[]): ReadonlySet<string> {
  return new Set([...removed].filter((text) => !texts.includes(text)))
}

function endsOf(paths: readonly string[], { cwd }: RuleBook): readonly string[] {
  return paths.flatMap((path) => bothEnds(absolutePath(path, cwd)))
}

/** Rules as changes that a person is offered. */
export function suggestionOf(rules: readonly string[], destination: PermissionUpdate['destination']): PermissionUpdate {
  return {
    type: 'addRules',
    rules: rules.map((rule) => {
      const [, toolName = rule, ruleContent] = /^([^(]+)\((.*)\)$/s.exec(rule) ?? []
      return ruleContent === undefined ? { toolName } : { toolName, ruleContent }
    }),
    behavior: 'allow',
    destination,
  }
}
