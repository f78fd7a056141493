import type { SessionRow } from '@halting/analysis/view'
import { rowWith } from './rows.ts'

const endings = [
  ['completed', 0],
  ['completed', 0],
  ['completed', 0],
  ['max_turns', 3],
  ['model_error', 1],
  ['user_requested', 130],
] as const

/** This number of sessions, the same each time, with varied figures, endings, models and folders. The first is the newest. */
export function manyRows(count: number): readonly SessionRow[] {
  return Array.from({ length: count }, (_, index) => {
    const [ending, exitCode] = endings[index % endings.length] ?? [null, null]
    return rowWith({
      key: `s${index}`,
      title: `Session number ${index}`,
      cwd: `/work/p${index % 7}`,
      changedAt: 1_790_000_000_000 - index * 60_000,
      ending,
      exitCode,
      models: [index % 3 === 0 ? 'claude-opus-5' : 'claude-sonnet-5'],
      turns: 1 + ((index * 31) % 60),
      tokens: 1_000 + ((index * 7_919) % 90_000),
      // Between a tenth of a cent and a hundred dollars.
      costUsd: Math.round(10 ** (((index * 7_919) % 1_000) / 200 - 3) * 1e6) / 1e6,
      activeMs: 1_000 + ((index * 104_729) % 4_000_000),
    })
  })
}
