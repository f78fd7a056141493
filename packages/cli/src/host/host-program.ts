import { checkFlagConflicts, flagWarnings } from '../flags/flag-conflicts.ts'
import type { Flags } from '../flags/flags.ts'
import { parseFlags } from '../flags/parse.ts'
import { oneLine, programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'

/** The program as a host started it: its flags, and how to serve the host. */
export interface HostProgram {
  readonly flags: Flags
  /** Serves the host until it closes its input. Returns the exit code. */
  readonly serve: (program: Program) => Promise<number>
}

/**
 * Parses the arguments that a host passes. Unknown flags are reported and ignored (spec R-HOST-1).
 * @throws UsageError for an invalid value, and for flags that exclude each other.
 */
export function readHostProgram({ argv: originalArgv }: Pick<Program, 'argv'>): HostProgram {
  const warnings: string[] = []
  const argv = withKnownMode(originalArgv, warnings)
  const { flags, words } = parseFlags(argv, {
    onUnknown: (flag) => warnings.push(`ignored the unknown flag ${oneLine(flag, 100)}.`),
  })
  const serve = async (program: Program): Promise<number> => {
    for (const line of [...warnings, ...flagWarnings(flags)]) program.output.err(programMessage(line))
    const { serveHost } = await import('./host.ts')
    if (flags.cluster === undefined) return serveHost(flags, program)
    const { openClusterSessionForHost } = await import('../cluster/host-session.ts')
    return serveHost(flags, program, openClusterSessionForHost)
  }
  if (flags.help === true || flags.version === true) return { flags, serve }
  checkFlagConflicts(flags)
  if (words.length > 0)
    throw new UsageError('With --input-format stream-json, send prompts on stdin, one JSON message per line.')
  return { flags, serve }
}

/** The mode in which a model judges calls. This mode is not supported; the mode that asks is the closest one. */
const autoMode = 'auto'

function withKnownMode(argv: readonly string[], warnings: string[]): readonly string[] {
  return argv.map((argument, at) => {
    const isAutoMode =
      argument === `--permission-mode=${autoMode}` || (argument === autoMode && argv[at - 1] === '--permission-mode')
    if (!isAutoMode) return argument
    warnings.push(`--permission-mode ${autoMode} is not supported. Using the mode default, which asks.`)
    return argument.replace(/auto$/, 'default')
  })
}
