import { checkFlagConflicts, flagWarnings } from '../flags/flag-conflicts.ts'
import type { Flags } from '../flags/flags.ts'
import { parseFlags } from '../flags/parse.ts'
import { oneLine, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'

/** A program that a host has started: what its arguments say, and how it goes on from there. */
export interface Hosted {
  readonly flags: Flags
  /** Serves the host until it has said all; gives the exit code. */
  readonly serve: (program: Program) => Promise<number>
}

/**
 * Reads the arguments of a host. Hosts know flags that we do not: those are told and passed over (spec R-HOST-1).
 * @throws UsageError for a value that cannot be read, and for flags that do not go together.
 */
export function hosted({ argv: given }: Pick<Program, 'argv'>): Hosted {
  const warnings: string[] = []
  const argv = withKnownMode(given, warnings)
  const { flags, words } = parseFlags(argv, {
    onUnknown: (flag) => warnings.push(`ignored the unknown flag ${oneLine(flag, 100)}.`),
  })
  const serve = async (program: Program): Promise<number> => {
    for (const line of [...warnings, ...flagWarnings(flags)]) program.output.err(told(line))
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

/** The mode in which a model judges calls. There is none here: asking is what comes nearest to it. */
const judged = 'auto'

function withKnownMode(argv: readonly string[], warnings: string[]): readonly string[] {
  return argv.map((argument, at) => {
    const isJudged =
      argument === `--permission-mode=${judged}` || (argument === judged && argv[at - 1] === '--permission-mode')
    if (!isJudged) return argument
    warnings.push(`--permission-mode ${judged} is not supported. Using the mode default, which asks.`)
    return argument.replace(/auto$/, 'default')
  })
}
