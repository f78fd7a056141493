import { holderOf } from '@halting/agent'
import { accountOf } from '@halting/core/steps'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { findFile, readSession } from '../session/find-session.ts'
import { goOn } from './go-on.ts'
import { terminalOf } from './terminal-of.ts'
import { whyText } from './why-text.ts'

/** `halting why [SESSION|FILE]`: why a session stopped, and where turns, tokens, dollars and time went. Asks nobody, needs no key. */
export async function why(flags: Flags, [given]: readonly string[], program: Program): Promise<number> {
  const { output, cwd, env } = program
  const path = await findFile(given, program)
  const { sessionId, cwd: sessionCwd, runs } = await readSession(path)
  const newest = runs.at(-1)
  if (newest === undefined) throw new UsageError(`Nothing was run in the session ${sessionId} yet.`)
  const terminal = terminalOf(newest)
  const heldBy = terminal === undefined ? (await holderOf(`${path}.lock`))?.pid : undefined
  const next = heldBy === undefined ? goOn(terminal, { sessionId, sessionCwd, cwd }) : { says: '' }
  if (wantsJson(flags)) {
    const told = {
      sessionId,
      cwd: sessionCwd,
      file: path,
      runs: runs.map(accountOf),
      goOn: next,
      ...(heldBy !== undefined && { heldBy }),
    }
    output.out(`${JSON.stringify(told)}\n`)
    return 0
  }
  const before = runs
    .slice(0, -1)
    .map((records, index) => `run ${index + 1} ${terminalOf(records)?.reason ?? 'did not end'}`)
  const told = {
    sessionId,
    cwd: sessionCwd,
    account: accountOf(newest),
    goOn: next,
    before,
    ...(heldBy !== undefined && { heldBy }),
  }
  output.out(whyText(told, output.width, styleFor(output.isTerminal.stdout, env)))
  return 0
}
