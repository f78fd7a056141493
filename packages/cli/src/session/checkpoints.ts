import { checkpointsFolder, FileCheckpoints, hiddenFromCheckpoints } from '@halting/agent'
import type { Flags } from '../flags/flags.ts'
import { told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import type { ChosenSession } from './kept-session.ts'
import { toolEnvironment } from './tool-environment.ts'
import { whose } from './whose.ts'

/** Who keeps what files were before they are changed; nobody where the person wants none, or nothing of the session is kept. */
export function checkpointsOf(
  { noFileCheckpoints }: Pick<Flags, 'noFileCheckpoints'>,
  { sessionId, kind }: ChosenSession,
  program: Program,
): FileCheckpoints | undefined {
  const { cwd, env, output } = program
  if (
    noFileCheckpoints === true ||
    kind === 'unkept' ||
    kind === 'elsewhere' ||
    env['CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING'] === '1'
  )
    return undefined
  const place = { ...whose(program), sessionId }
  return new FileCheckpoints({
    folder: checkpointsFolder(place),
    hidden: hiddenFromCheckpoints(place),
    cwd,
    // Git may run what a project configures.
    env: toolEnvironment(env),
    onProblem: (problem) =>
      output.err(told(`what files were is not kept any more, so halting undo cannot bring it back: ${problem}`)),
  })
}
