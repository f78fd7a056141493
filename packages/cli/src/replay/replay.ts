import { type Flags, wantsJson } from '../flags/flags.ts'
import { recordedIterationText } from '../frontends/iteration-text.ts'
import { elapsed, oneLine, programMessage } from '../io/figures.ts'
import { tableLines } from '../io/table.ts'
import type { Program } from '../program.ts'
import { pricesFor, readNamedSession } from '../foreign/session-prices.ts'
import { findSessionFile } from '../stored-sessions/find-session.ts'
import type { AnySession } from '@halting/analysis/sessions'
import { replayLines, type ReplayLine } from '@halting/analysis/view'

/** `halting replay [SESSION|FILE]`: lists the steps of a session, one line each, from its records. */
export async function replaySession(flags: Flags, [session]: readonly string[], program: Program): Promise<number> {
  const { output } = program
  const { runs, sessionId } = await sessionToReplay(flags, session, program)
  if (runs.length === 0) output.err(programMessage(`session ${sessionId} has no runs yet.`))
  for (const records of runs) {
    let beganAt = 0
    for (const record of records) {
      if (record.type === 'start' && record.scope === '') beganAt = record.at
      const steps = replayLines(record, beganAt)
      const lines = wantsJson(flags)
        ? steps.map(({ atMs, what, text }) => JSON.stringify({ atMs, what, text }))
        : tableLines(steps.map(cellsOf), {
            columns: [{ align: 'right', min: 10 }, { rest: 'cut' }],
            width: output.width,
            indent: 0,
          })
      for (const line of lines) output.out(`${line}\n`)
    }
  }
  return 0
}

async function sessionToReplay(flags: Flags, session: string | undefined, program: Program): Promise<AnySession> {
  if (flags.cluster === undefined)
    return readNamedSession(await findSessionFile(session, 'replay', program), pricesFor(flags, program))
  const { readClusterSession } = await import('../cluster/cluster-client.ts')
  return readClusterSession(flags, session, program)
}

/** Display names of record types; other steps keep their names. */
const stepNames: Readonly<Record<string, string>> = {
  start: 'run',
  said: 'text:',
  asks: 'call:',
  lap: 'iteration:',
  control: 'external input:',
  goal: 'goal:',
  wait: 'wait:',
  notice: 'notice:',
  stage: 'after the run:',
  rewind: 'rewound',
  end: 'ended:',
}

function cellsOf({ atMs, what, text }: ReplayLine): readonly string[] {
  const step = Object.hasOwn(stepNames, what) ? stepNames[what] : `${what}:`
  const description = what === 'lap' ? iterationLine(text) : text
  return [atMs === null ? '' : elapsed(atMs), oneLine(`${step} ${description}`, Infinity)]
}

/** Describes an iteration such as `next_turn (agent:1)`. */
function iterationLine(text: string): string {
  const [transition = '', ...scope] = text.split(' ')
  const reminder = transition === 'no_progress_nudge' ? ' (last reminder)' : ''
  return [`${recordedIterationText(transition)}${reminder}`, ...scope].join(' ')
}
