// Loaded when somebody opens the rules.
import { modeWords } from '../../frontends/mode-words.ts'
import { oneLine } from '../../io/figures.ts'
import { revealHiddenInLine } from '../../io/reveal-hidden.ts'
import type { ListedRule } from '../../permissions/rule-list.ts'
import { UsageError } from '../../usage-error.ts'
import { nearest } from '../../flags/nearest.ts'
import type { AppContext, CommandExplanation, LocalSession } from '../app/context.ts'
import { indentedLines, tableLines } from '../../io/table.ts'
import { requireOpenSession } from './session-commands.ts'

/** `/permissions`, `/permissions COMMAND`, `/permissions remove [RULE]`. */
export async function runPermissions(app: AppContext, argument: string): Promise<void> {
  const { local: here } = requireOpenSession(app)
  if (here === undefined)
    return printExplanation(app, argument, {
      verdict: ['The worker of the session sets its rules when it starts.'],
      parts: [],
    })
  if (/^remove(?:\s|$)/.test(argument)) return remove(app, here, argument.slice('remove'.length).trim())
  if (argument !== '') return printExplanation(app, argument, here.explainCommand(argument))
  const rules = await here.rules()
  const confinement = here.confinement?.()
  app.printLines((width) => [
    app.style.bold(oneLine(titleOf(app), width)),
    ...(confinement === undefined ? [] : indentedLines(oneLine(confinement, 500), width)),
    ...(rules.length === 0 ? ['  No rules.'] : ruleLines(rules, width)),
    ...indentedLines('/permissions remove: remove a rule · /permissions COMMAND: check a command', width).map(
      app.style.dim,
    ),
  ])
}

function printExplanation(app: AppContext, argument: string, { verdict, parts }: CommandExplanation): void {
  const title = argument === '' ? titleOf(app) : argument
  app.printLines((width) => [
    app.style.bold(revealHiddenInLine(title, width)),
    ...verdict.flatMap((line) => indentedLines(line, width)),
    ...behaviorLines(parts, width),
  ])
}

function titleOf(app: AppContext): string {
  return `Permissions: ${modeWords(requireOpenSession(app).session.snapshot.permissionMode).short}`
}

/** Rules are shown in full, on several lines if necessary (spec R-TERM-30b). */
function ruleLines(rules: readonly ListedRule[], width: number): readonly string[] {
  return behaviorLines(
    rules.map((listed) => [listed.behavior, revealHiddenInLine(listed.rule, Infinity), detailOf(listed)]),
    width,
  )
}

/** A behavior, a rule or a part of a command, and details. Nothing is truncated. */
function behaviorLines(rows: readonly (readonly string[])[], width: number): readonly string[] {
  // On a narrow terminal, the details need more than a half.
  const text = { max: Math.max(1, Math.min(Math.floor(width / 2), width - 24)), wide: 'ownLines' } as const
  return tableLines(rows, { columns: [{ min: 5 }, text, { rest: 'fold' }], width })
}

function labelsOf(rules: readonly ListedRule[]): readonly string[] {
  const rows = rules.map(({ behavior, rule }) => [behavior, revealHiddenInLine(rule, 300)])
  return tableLines(rows, { columns: [{ min: 5 }, {}], indent: 0 })
}

function detailOf({ place, isInForce }: ListedRule): string {
  return isInForce ? place : `${place} (from the next session on)`
}

async function remove(app: AppContext, here: LocalSession, rule: string): Promise<void> {
  const rules = await here.rules()
  const found = rule === '' ? rules : rules.filter((listed) => listed.rule.trim() === rule)
  const [only] = found
  if (only === undefined) throw new UsageError(rule === '' ? 'There are no rules.' : unknownRuleText(rule, rules))
  const labels = labelsOf(found)
  const chosen =
    found.length === 1 && rule !== ''
      ? only
      : await app.ask({
          title: 'Remove a rule',
          hint: 'Enter remove · type to filter · Esc cancel',
          choices: found.map((listed, index) => ({
            value: listed,
            label: labels[index] ?? '',
            detail: detailOf(listed),
          })),
        })
  if (chosen !== undefined) app.note(await here.removeRule(chosen))
}

function unknownRuleText(rule: string, rules: readonly ListedRule[]): string {
  const suggestion = nearest(
    rule,
    rules.map((listed) => listed.rule),
  )
  const shown = revealHiddenInLine(rule, 200)
  return `Unknown rule ${shown}.${suggestion === undefined ? ' /permissions lists them.' : ` Did you mean ${revealHiddenInLine(suggestion, 200)}?`}`
}
