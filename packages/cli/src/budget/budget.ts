import { dirname, join } from 'node:path'
import {
  type BudgetReport,
  correctBudget,
  type CorrectableReport,
  type LedgerReport,
  reportBudgets,
} from '@halting/agent/budgets'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { many, money, oneLine, programMessage } from '../io/figures.ts'
import { settingsFor } from '../flags/session-ports.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'

/** `halting budget`: shows standing budgets; `halting budget settle ID --usd X` corrects the cost of an entry in their ledger. */
export async function budget(
  flags: Flags,
  [subcommand, ...words]: readonly string[],
  { ...program }: Program,
): Promise<number> {
  if (subcommand !== undefined && subcommand !== 'settle')
    throw new UsageError(
      `halting budget ${oneLine(subcommand, 40)} is not a command. halting budget shows standing budgets; halting budget settle ID --usd X corrects an entry.`,
    )
  const run = await settingsFor(flags, program)
  const owner = { cwd: program.cwd, env: run.env }
  if (subcommand === 'settle') return settleEntry(flags, words, { owner, program })
  if (flags.usd !== undefined) throw new UsageError('--usd belongs to halting budget settle ID.')
  for (const warning of run.warnings) program.output.err(programMessage(oneLine(warning, 500)))
  const report = await reportBudgets(owner, run.settings.budgets ?? [])
  const { output } = program
  if (wantsJson(flags)) output.out(`${JSON.stringify(report)}\n`)
  else output.out(`${ledgerLines(report).join('\n')}\n`)
  return 0
}

interface SettleContext {
  readonly owner: Parameters<typeof correctBudget>[0]
  readonly program: Program
}

async function settleEntry(flags: Flags, words: readonly string[], { owner, program }: SettleContext): Promise<number> {
  const [id, ...more] = words
  const { usd } = flags
  if (id === undefined || more.length > 0 || usd === undefined)
    throw new UsageError('Usage: halting budget settle ID --usd X. halting budget lists the IDs.')
  const corrected = await correctBudget(owner, { id, usd })
  const { output } = program
  if (wantsJson(flags)) output.out(`${JSON.stringify(corrected)}\n`)
  else output.out(`${oneLine(id, 100)}: ${money(corrected.usd)} instead of ${money(corrected.beforeUsd)}\n`)
  return 0
}

function ledgerLines({ ledger, budgets, correctable }: LedgerReport): readonly string[] {
  // The ledger is in a folder next to the user's settings.
  const settings = oneLine(join(dirname(dirname(ledger)), 'settings.json'), 500)
  const none = `No standing budgets are set. Set one in ${settings}, such as {"budgets": [{"per": "day", "usd": 20}]}.`
  const open = correctable.filter(({ why }) => why !== 'corrected')
  const done = correctable.length - open.length
  return [
    ...(budgets.length === 0 ? [none] : budgets.flatMap(budgetLines)),
    ...(open.length === 0
      ? []
      : [
          '',
          'Charges with unknown cost. Correct them with halting budget settle ID --usd X:',
          ...open.map(chargeLine),
        ]),
    ...(done === 0 ? [] : ['', `${done === 1 ? '1 entry was' : `${done} entries were`} corrected; --json lists them.`]),
    ...(budgets.length === 0 && correctable.length === 0 ? [] : ['', `Ledger: ${oneLine(ledger, 500)}`]),
  ]
}

function budgetLines(budget: BudgetReport): readonly string[] {
  const { name, period, settledUsd, unknownUsd, reservedUsd, holders, leftUsd, resetsAt } = budget
  const unknown = unknownUsd > 0 ? ` (including ${money(unknownUsd)} at worst case)` : ''
  const by = holders === 0 ? '' : ` by ${many(holders, 'request')}`
  return [
    `${oneLine(name, 200)}: ${money(leftUsd)} left in ${period}, resets ${resetsAt}`,
    `  settled ${money(settledUsd)}${unknown}, reserved ${money(reservedUsd)}${by}`,
  ]
}

const reasons: { readonly [why in CorrectableReport['why']]: string } = {
  'process ended': 'its process ended',
  'not reported': 'its cost was not reported',
  'later period': 'in a future period (wrong clock?)',
  corrected: 'corrected',
}

function chargeLine({ id, why, usd, at, model, session }: CorrectableReport): string {
  const about = [model, session]
    .filter((text) => text !== undefined && text !== '')
    .map((text) => oneLine(text ?? '', 60))
  return `  ${oneLine(id, 60)}  ${money(usd)}  ${[reasons[why], ...about, at].join(', ')}`
}
