import { type Flags, wantsJson } from '../flags/flags.ts'
import { elapsed, oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { pricesFor, readNamedSession } from '../foreign/session-prices.ts'
import { findFile } from '../stored-sessions/find-session.ts'
import { replayLines, type ReplayLine } from '@halting/analysis/view'

/** `halting replay [SESSION|FILE]`: what happened in a session, a line for each step, from its record alone. */
export async function replaySession(flags: Flags, [given]: readonly string[], program: Program): Promise<number> {
  const { output } = program
  const { runs } = await readNamedSession(await findFile(given, 'replay', program), pricesFor(flags, program))
  for (const records of runs) {
    let beganAt = 0
    for (const record of records) {
      if (record.type === 'start' && record.scope === '') beganAt = record.at
      for (const { atMs, what, text } of replayLines(record, beganAt)) {
        if (wantsJson(flags)) output.out(`${JSON.stringify({ atMs, what, text })}\n`)
        else output.out(`${lineOf({ atMs, what, text }, output.width)}\n`)
      }
    }
  }
  return 0
}

function lineOf({ atMs, what, text }: ReplayLine, width: number): string {
  const moment = (atMs === null ? '' : elapsed(atMs)).padStart(10)
  return `${moment}  ${oneLine(`${what} ${text}`, width - moment.length - 2)}`
}
