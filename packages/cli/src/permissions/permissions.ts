import { randomUUID } from 'node:crypto'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { revealHiddenInLine } from '../io/reveal-hidden.ts'
import { styleFor } from '../io/style.ts'
import { tableLines } from '../io/table.ts'
import type { Program } from '../program.ts'
import { commandConfinement } from '../frontends/confinement-words.ts'
import { verdictText } from '../frontends/permission-verdict.ts'
import { sessionPorts, settingsFor } from '../flags/session-ports.ts'
import { confineCommands, openToolbox } from '@halting/agent/open-session'
import { UsageError } from '../usage-error.ts'

const maxPartColumns = 60
const maxTextLength = 200

/**
 * `halting permissions COMMAND`: prints whether a Bash command would be allowed, part by part. Runs nothing and needs no
 * key. The exit code is 0 if it would run without asking, otherwise 1.
 */
export async function explainPermissions(
  flags: Flags,
  [command]: readonly string[],
  program: Program,
): Promise<number> {
  const { output } = program
  if (command === undefined)
    throw new UsageError('halting permissions takes a Bash command in quotes: halting permissions "npm test".')
  const run = await settingsFor(flags, program)
  const { env } = run
  const ports = sessionPorts({ ...program, env }, flags)
  const toolbox = openToolbox(run, ports, { sessionId: randomUUID(), readableFolders: [], confinesEdits: true })
  const { permissions, workspace } = toolbox
  await confineCommands(run, toolbox, ports)
  const { behavior, message, mode, parts } = permissions.explain(command)
  const { kind, text: confined } = commandConfinement(command, permissions, workspace.wall)
  await workspace.dispose()
  const status = behavior === 'allow' ? 0 : 1
  if (wantsJson(flags)) {
    output.out(`${JSON.stringify({ command, behavior, message: message ?? null, mode, parts, confinement: kind })}\n`)
    return status
  }
  const style = styleFor(output.isTerminal.stdout, env)
  const colours = { allow: style.green, ask: style.yellow, deny: style.red }
  const rows = tableLines(
    parts.map(({ part, behavior: own, because, wouldAllow }) => {
      const hint = wouldAllow === undefined ? '' : `; allow it with ${revealHiddenInLine(wouldAllow, maxTextLength)}`
      return [
        { text: own, style: colours[own] },
        revealHiddenInLine(part, maxPartColumns),
        `${revealHiddenInLine(because, maxTextLength)}${hint}`,
      ]
    }),
    { columns: [{ min: 5 }, {}, {}] },
  )
  output.out(
    [
      `${colours[behavior](verdictText({ behavior, message, mode }))} ${message === undefined ? '' : revealHiddenInLine(message, maxTextLength * 2)}`.trimEnd(),
      ...(confined === undefined ? [] : [confined]),
      '',
      ...parts.flatMap(({ runsAnything }, index) => [
        rows[index] ?? '',
        ...(runsAnything === undefined
          ? []
          : [`         ${style.yellow(revealHiddenInLine(runsAnything, maxTextLength))}`]),
      ]),
      '',
    ].join('\n'),
  )
  return status
}
