import { fitted } from '../io/columns.ts'
import { counted, many, money, oneLine } from '../io/figures.ts'
import type { Style } from '../io/style.ts'
import type { RunAnswer } from '@halting/analysis'

/** Rows of a table; what is left out is counted, and all of it is in the JSON. */
const mostRows = 40

const names = { halting: 'halting', 'claude-code': 'claude', codex: 'codex' } as const

/** A line for each run: those that would have stopped come first, and of these what saves most. */
export function answerTable(answers: readonly RunAnswer[], columns: number, style: Style): readonly string[] {
  const rows = answers.toSorted((a, b) => weightOf(b) - weightOf(a))
  const more = rows.length - mostRows
  const line = (cells: readonly string[], says: string): string => {
    const [session = '', run = '', program = '', turns = '', cost = ''] = cells
    const head = `${session.padEnd(9)}${run.padEnd(7)}${program.padEnd(8)}${turns.padStart(6)}${cost.padStart(10)}  `
    return fitted(head + says, columns)
  }
  return [
    style.bold(line(['session', 'run', 'by', 'turns', 'cost'], 'with these limits')),
    ...rows.slice(0, mostRows).map(({ session, run, program, unpriced, answer }) => {
      const { kept, saved } = answer
      const cost = unpriced.length > 0 ? '?' : money(kept.costUsd + saved.costUsd)
      const turns = counted(kept.turns + saved.turns)
      return line([oneLine(session.slice(0, 8), 8), oneLine(run, 6), names[program], turns, cost], saysOf(answer))
    }),
    ...(more > 0 ? [`and ${many(more, 'more run')}; --json tells all`] : []),
  ]
}

function weightOf({ answer: { verdict, saved } }: RunAnswer): number {
  return verdict === 'stops' ? 1 + saved.costUsd * 1e6 + saved.tokens : verdict === 'same' ? 0 : -1
}

function saysOf({ verdict, reason, kept, saved, lost, isAtTheLatest }: RunAnswer['answer']): string {
  if (verdict !== 'stops') return verdict === 'same' ? `the same: ${reason}` : 'not known'
  const changes = Object.values(lost.changes).reduce((sum, count) => sum + count, 0)
  const losses = [...(changes > 0 ? [many(changes, 'change')] : []), ...(lost.answer ? ['the answer'] : [])]
  const gain = saved.costUsd > 0 ? money(saved.costUsd) : `${counted(saved.tokens)} tokens`
  const place = `${isAtTheLatest ? 'by turn' : 'after'} ${counted(kept.turns)}`
  return `${reason} ${place}, saves ${gain}${losses.length === 0 ? '' : `, loses ${losses.join(', ')}`}`
}
