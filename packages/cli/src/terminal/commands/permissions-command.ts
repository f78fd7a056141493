// Loaded when somebody opens the rules.
import { modeWords } from '../../frontends/mode-words.ts'
import { columnsOf } from '../../io/columns.ts'
import { oneLine } from '../../io/figures.ts'
import { revealHiddenInLine } from '../../io/reveal-hidden.ts'
import type { ListedRule } from '../../permissions/rule-list.ts'
import { UsageError } from '../../usage-error.ts'
import { nearest } from '../../flags/nearest.ts'
import type { AppContext, LocalSession } from '../app/context.ts'
import { hanging } from '../view/lines.ts'
import { linesAfter } from '../../io/rows.ts'
import { requireOpenSession } from './session-commands.ts'

/** `/permissions`, `/permissions COMMAND`, `/permissions remove [RULE]`. */
export async function runPermissions(app: AppContext, argument: string): Promise<void> {
  const { local: here } = requireOpenSession(app)
  if (here === undefined) return printLines(app, argument, ['The worker of the session sets its rules when it starts.'])
  if (/^remove(?:\s|$)/.test(argument)) return remove(app, here, argument.slice('remove'.length).trim())
  if (argument !== '') return printLines(app, argument, here.explainCommand(argument))
  const rules = await here.rules()
  const confinement = here.confinement?.()
  app.printLines((width) => [
    app.style.bold(oneLine(titleOf(app), width)),
    ...(confinement === undefined ? [] : linesAfter('  ', oneLine(confinement, 500), width)),
    ...(rules.length === 0 ? ['  No rules.'] : ruleLines(rules, width)),
    ...linesAfter('  ', '/permissions remove: remove a rule · /permissions COMMAND: check a command', width).map(
      app.style.dim,
    ),
  ])
}

function printLines(app: AppContext, argument: string, lines: readonly string[]): void {
  const title = argument === '' ? titleOf(app) : argument
  app.printLines((width) => [
    app.style.bold(revealHiddenInLine(title, width)),
    ...lines.flatMap((line) => linesAfter('  ', line, width)),
  ])
}

function titleOf(app: AppContext): string {
  return `Permissions: ${modeWords(requireOpenSession(app).session.snapshot.permissionMode).short}`
}

/** Rules are shown in full, on several lines if necessary (spec R-TERM-30b). */
function ruleLines(rules: readonly ListedRule[], width: number): readonly string[] {
  const texts = rules.map(({ rule }) => revealHiddenInLine(rule, Infinity))
  const column = Math.min(Math.max(...texts.map(columnsOf)), Math.floor(width / 2))
  return rules.flatMap((listed, index) => {
    const text = texts[index] ?? ''
    const blanks = ' '.repeat(Math.max(0, column - columnsOf(text)))
    return hanging(`  ${listed.behavior.padEnd(5)}  `, `${text}${blanks}  ${detailOf(listed)}`, width)
  })
}

function labelOf({ behavior, rule }: ListedRule): string {
  return `${behavior.padEnd(5)}  ${revealHiddenInLine(rule, 300)}`
}

function detailOf({ place, isInForce }: ListedRule): string {
  return isInForce ? place : `${place} (from the next session on)`
}

async function remove(app: AppContext, here: LocalSession, rule: string): Promise<void> {
  const rules = await here.rules()
  const found = rule === '' ? rules : rules.filter((listed) => listed.rule.trim() === rule)
  const [only] = found
  if (only === undefined) throw new UsageError(rule === '' ? 'There are no rules.' : unknownRuleText(rule, rules))
  const chosen =
    found.length === 1 && rule !== ''
      ? only
      : await app.ask({
          title: 'Remove a rule',
          hint: 'Enter remove · type to filter · Esc cancel',
          choices: found.map((listed) => ({ value: listed, label: labelOf(listed), detail: detailOf(listed) })),
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
